"""Twenty hostile texts as captions, classes, names of modalities, files, runs and studies and in links: no
page contains one of them unescaped where Streamlit interprets Markdown."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from app_pages import SECONDS, make_page
from hostile_texts import MARKDOWN, MODALITIES, TEXTS, hostile_upload
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Element

from smfh.datasets import Planted
from smfh.experiments.tuning import Range, Studies, StudyPlan, tune
from smfh.hashing import SMFH, SMFHPlus
from smfh.runs import RunStore, ensure_saved
from smfh.ui.plain import plain
from smfh.ui.sidebar import key_of

pytestmark = pytest.mark.slow

QUICK = {"method": "smfh-plus", "bits": "8", "iterations": "2", "rounds": "1", "anchors": "20"}
# elements, and fields of elements, that do not interpret Markdown
PLAIN = ("text", "image", "imgs", "plotly_chart", "arrow_data_frame", "code", "bidi_component")
PLAIN_FIELDS = {"options", "default", "value", "raw_value", "raw_values", "set_value", "placeholder"}
PLAIN_FIELDS |= {"id", "key", "url", "query_string"}


def words_read(message: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text of an element with the name of its field, except fields without Markdown."""
    for about, value in message.ListFields():
        if about.name in PLAIN_FIELDS and message.DESCRIPTOR.name not in ("ButtonGroup", "Option"):
            continue
        for one in value if about.is_repeated else [value]:
            if about.type == about.TYPE_STRING:
                yield f"{path}{about.name}", one
            elif about.type == about.TYPE_MESSAGE and hasattr(one, "ListFields"):
                yield from words_read(one, f"{path}{about.name}.")


def read_as_markdown(page: AppTest) -> list[tuple[str, str, str]]:
    """Hostile texts in fields with Markdown: kind of element, field, text."""
    found = []
    for element in [*page.main, *page.sidebar]:
        proto = getattr(element, "proto", None)
        if proto is None or element.type in PLAIN:
            continue
        found += [(element.type, name, text) for name, text in words_read(proto) if MARKDOWN.search(text)]
    return found


def test_escaped_texts_read_as_before():
    for text in (*TEXTS, *MODALITIES, "- a", "12. b", "3) c", "+ d"):
        made = plain(text)
        assert not MARKDOWN.search(made)
        assert MARKDOWN.search(text) or text not in (*TEXTS[:11], *MODALITIES)
        shown = made.replace("\u2060", "").replace("\\\\", "\0").replace("\\", "").replace("\0", "\\")
        assert shown == " ".join("".join(c if c >= " " else " " for c in text).split())
    assert plain("α of “cat”: it's 1.5, got 'x'.") == "α of “cat”: it's 1.5, got 'x'."


def open_page(name: str, before: AppTest | None = None, **query: str) -> AppTest:
    """Open a page for the same visitor as before."""
    visitor = "" if before is None else before.session_state["visitor"]
    return make_page(f"pages/{name}.py" if name else "streamlit_app.py", visitor, **QUICK | query)


def look(page: AppTest | Element) -> AppTest:
    """Run a page, or an element of it, and check that no hostile text is read as Markdown."""
    page = page.run()
    assert not page.exception
    assert read_as_markdown(page) == []
    return page


def look_until(page: AppTest | Element, reached: Callable[[AppTest], object]) -> AppTest:
    """Run and check a page until a condition holds."""
    end, page = time.monotonic() + SECONDS, look(page)
    while not reached(page):
        assert time.monotonic() < end
        page = look(page)
    return page


def is_trained(page: AppTest) -> bool:
    return "shown" in page.session_state and page.session_state["shown"].job.over


def charts(page: AppTest) -> int:
    return len(page.get("plotly_chart"))


@pytest.fixture(scope="module")
def visitor() -> AppTest:
    """A visitor who has uploaded hostile data."""
    page = look(open_page("8_Data", data="planted"))
    look(page.file_uploader[0].set_value((*hostile_upload(), "application/octet-stream")))
    look(page.button(key="own_use").click())
    return page


def test_own_data_on_explore(visitor):
    page = look(look_until(open_page("", visitor, data="own"), is_trained))
    look(page.button(key="pin_run").click())
    look_until(page.select_slider(key=key_of("bits", "smfh-plus")).set_value(16), lambda page: charts(page) > 1)
    page = look(look_until(page.button(key="train").click(), is_trained))
    assert "Queries whose AP changed most" in str([caption.value for caption in page.caption])


def test_own_data_on_search(visitor):
    query = {"search.row": "57", "search.why": "3", "search.flips": "1"}
    page = look_until(open_page("2_Search", visitor, data="own", **query), is_trained)
    assert any("away" in text.value for text in look(page).text)


@pytest.mark.parametrize("tab", ["Classes and bits", "Map of codes", "Worst and best queries"])
def test_own_data_on_bits(tab, visitor):
    page = open_page("3_Bits", visitor, data="own")
    page.session_state["bits_tab"] = tab
    assert charts(look(look_until(page, is_trained))) > 1


@pytest.mark.parametrize("tab", ["Browse pairs", "Upload"])
def test_own_data_on_data(tab, visitor):
    page = open_page("8_Data", visitor, data="own")
    page.session_state["data_tab"] = tab
    assert any("<b>bold" in text.value for text in look(page).text)


def test_own_data_on_compare(visitor):
    query = {"compare.methods": "cvh,smfh", "compare.bits": "8", "compare.seeds": "1"}
    page = look(open_page("5_Compare", visitor, data="own", **query))
    look_until(page.button(key="compare_run").click(), lambda page: charts(page) >= 9)
    look_until(page, lambda page: not any(one.key == "compare_cancel" for one in page.button))


def test_titles_of_runs_are_text():
    source, store = Planted(items=60), RunStore()
    method = SMFHPlus(bits=8, iterations=2, rounds=1, anchors=20)
    record = ensure_saved(store, source, method, *source.load())
    for text in TEXTS:
        store.rename(record.id, text[:80])
        page = open_page("6_Runs", data="planted")
        page.session_state["runs_chosen"] = record.id
        look(page)
    store.rename(record.id, "")


def test_names_of_studies_are_text():
    alpha, method = Range("graph_weight", 0.1, 10, "log", points=2), SMFH(bits=8, iterations=2)
    plan = StudyPlan("one", (Planted(items=60),), method, (alpha,), "sweep")
    names = [text[:80] for text in TEXTS if text[:80].strip().isprintable()]
    assert len(names) > 15
    studies = Studies()
    for name in names:
        studies.create(replace(plan, name=name))
    tune(studies.open(names[4]))
    for name in (names[4], names[8], names[9]):
        page = look(open_page("4_Tune", data="planted", **{"tune.study": name}))
        assert name in [text.value for text in page.text]
    for name in names:
        studies.delete(name)


KEYS = ["data.classes", "method", "bits", "seed", "hide", "start", "data.items", "search.words"]
KEYS += ["search.source", "search.row", "bits.bit", "tune.study", "tune.ranges", "tune.tuned"]
KEYS += ["compare.direction", "compare.methods", "learn.entry", "learn.lesson", "paper.methods", "paper.data"]


@pytest.mark.parametrize("turn", [0, 10])
@pytest.mark.parametrize("name", ["", "2_Search", "3_Bits", "4_Tune", "5_Compare", "7_Paper", "9_Learn"])
def test_a_link_is_text(name, turn):
    page = open_page(name, **dict(zip(KEYS, TEXTS[turn:] + TEXTS[:turn], strict=True)), data="planted")
    look(page)
    page = open_page(name, **dict.fromkeys(TEXTS[turn : turn + 5], TEXTS[turn]), data="planted")
    look(page)
    assert page.warning

"""The Paper page in AppTest: every data set, each run twice; numbers as the command gives them."""

import json
import threading
import time
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
import pytest
from app_pages import make_page, until
from streamlit.testing.v1 import AppTest

from smfh.__main__ import main
from smfh.ceiling import Ceiling
from smfh.datasets import DATASETS, DatasetSource, Planted
from smfh.hashing import make_method
from smfh.memory import Memory
from smfh.metrics import AP_DEFINITIONS
from smfh.paper import BENCHMARKS, COLUMNS, ERRATA, STAND_IN, TASKS, runnable
from smfh.paper.leaderboard import usual_load
from smfh.runs import ceiling_key, find_or_keep
from smfh.types import InputError
from smfh.ui import server
from smfh.ui.paper import choice, leaderboard, part
from smfh.ui.paper.choice import Choice, paper_part
from smfh.ui.paper.usual import usual_loads

pytestmark = pytest.mark.slow


@pytest.fixture
def own_runs(tmp_path, monkeypatch):
    """A folder of runs that nobody else has written to."""
    monkeypatch.setattr("smfh.runs.store.cache_folder", lambda: tmp_path)
    fresh, data = Memory(32), server.data_queue()
    fresh.get("data_queue", lambda: data)
    monkeypatch.setattr(server, "_shared", fresh)


@pytest.fixture
def planted_stands_in(monkeypatch):
    """The smallest set in place of Emoji, which takes its time to be drawn."""
    for module in (part, choice):
        monkeypatch.setattr(module, "STAND_IN", "planted")


def open_page(tab: str = "Tables", **query: str) -> AppTest:
    told = {f"paper.{key}": value for key, value in query.items()}
    page = make_page("pages/7_Paper.py", data="planted", **told)
    page.session_state["paper_tab"] = tab
    return page.run()


def until_there(page: AppTest, part: str) -> AppTest:
    """Look again as the page does by itself, until all trainings of the part are there."""
    return until(page, lambda: label(page, part).startswith("All"))


def label(page: AppTest, part: str) -> str:
    """What the button of a table or figure says."""
    return next((button.label for button in page.button if button.key == f"{part}_run"), "")


def words(page: AppTest) -> str:
    shown = [*page.text, *page.markdown, *page.caption, *page.info, *page.warning]
    return "\n".join(element.value for element in shown)


def shown_cells(page: AppTest) -> list[str]:
    """Every cell of Table 1, task by task, method by method."""
    return [text for table in page.table[: len(TASKS)] for row in table.value.to_numpy() for text in row]


@pytest.mark.parametrize("dataset", BENCHMARKS)
def test_published_numbers_are_there_at_once_with_or_without_the_files(dataset, own_runs):
    page = open_page(data=dataset).run()
    assert not page.exception
    assert all(line in words(page) for line in runnable(dataset))
    printed = "0.604" if dataset == "wiki" else "0.546" if dataset == "nus-wide" else "350.73"
    assert any(printed in text for table in page.table for text in table.value.to_numpy().ravel())
    assert bool(label(page, "table-1")) == (not runnable(dataset))
    page.session_state["paper_tab"] = "Figures"
    page.run()
    assert not page.exception
    assert bool(page.get("plotly_chart")) == (not runnable(dataset))


def test_data_that_the_paper_has_not_is_said_to_be_such(own_runs, planted_stands_in):
    page = open_page(data="planted")
    assert "The paper has no" in page.info[0].value
    assert "the time is not known" in words(page)


def test_what_is_measured_appears_and_is_what_the_command_prints(own_runs, planted_stands_in, capsys):
    page = open_page(data="planted", methods="cvh,smh", seeds="2")
    assert label(page, "table-1") == "Measure 12 trainings"
    assert set(shown_cells(page)) == {"–"}
    page.button(key="table-1_run").click().run()
    until_there(page, "table-1")
    order = ["paper", "--datasets", "planted", "--methods", "smh", "cvh", "--seeds", "2", "--json"]
    assert main(order) == 0
    kept_rows = json.loads(capsys.readouterr().out)
    assert main([*order, "--fresh"]) == 0
    fresh_rows = json.loads(capsys.readouterr().out)
    for rows in (kept_rows, fresh_rows):
        expected = [
            f"**{row['mean']:.3f}**\u00a0±\u00a0{row['std']:.3f}"
            for direction in TASKS
            for row in rows
            if row["direction"] == direction
        ]
        assert shown_cells(page) == expected
    seconds = [f"**{row['mean']:,.2f}\u00a0s**" for row in kept_rows if row["measure"] == "seconds"]
    assert [text for row in page.table[2].value.to_numpy() for text in row] == seconds
    measures = page.dataframe[0].value["measure"]
    assert set(measures) == {"mAP@100", "mAP (whole ranking)", "P@100"}
    assert label(page, "table-2") == "All 8 trainings are there"  # they are among those of Table 1
    page.session_state["paper_tab"] = "Figures"
    page.run()
    assert label(page, "figure-2").startswith("Measure 4 trainings · about")
    assert "12 of 16 are there already" in words(page)


def test_wiki_stands_beside_the_paper(wiki_folder, own_runs, capsys):
    page = open_page(data="wiki", methods="cvh", seeds="1")
    page.button(key="table-1_run").click().run()
    until_there(page, "table-1")
    assert main(["paper", "--datasets", "wiki", "--methods", "cvh", "--seeds", "1", "--json"]) == 0
    rows = [row for row in json.loads(capsys.readouterr().out) if row["measure"] != "seconds"]
    cells = shown_cells(page)
    assert len(cells) == len(rows) == len(TASKS) * len(COLUMNS)
    for text, row in zip(cells, rows, strict=True):
        printed, measured, difference = text.split("  \n")
        assert (printed, measured) == (f"{row['published']:.3f}", f"**{row['mean']:.3f}**")
        sign = "≈" if abs(row["difference"]) <= 0.03 else "▲" if row["difference"] > 0 else "▼"
        assert difference == f"{sign}\u00a0{row['difference']:+.3f}".replace("-", "−")
    assert "of 10 measured cells lie within 0.03" in words(page)


def test_the_choice_is_in_the_link_and_survives_another_page(own_runs, planted_stands_in):
    page = open_page(data="planted", methods="cvh", seeds="3")
    page.multiselect(key="paper_methods").set_value(["cvh", "smfh"]).run()
    assert page.query_params["paper.methods"] in ("smfh,cvh", ["smfh,cvh"])
    page.switch_page("pages/8_Data.py").run()
    page.switch_page("pages/7_Paper.py").run()
    assert page.multiselect(key="paper_methods").value == ["smfh", "cvh"]
    assert label(page, "table-1") == "Measure 18 trainings"
    page.multiselect(key="paper_methods").set_value([]).run()
    assert "Choose at least one method" in page.info[-1].value


def test_a_wrong_link_falls_back_to_the_usual():
    usual, _ = paper_part().read({})
    assert usual.methods == ("smfh-plus", "smfh", "smfh-program", "cmfh", "smh", "cvh", "pdh")
    assert usual.seeds == 5
    assert usual.data in (*BENCHMARKS, STAND_IN)
    wrong = {"paper.data": "<b>", "paper.methods": "md5,,", "paper.seeds": "99"}
    assert (paper_part().read(wrong)[0], len(paper_part().read(wrong)[1])) == (usual, 3)
    asked = {"paper.data": "nus-wide", "paper.methods": "smh", "paper.seeds": "1"}
    assert paper_part().read(asked) == (Choice("nus-wide", ("smh",), 1), [])


def test_every_erratum_is_shown_with_both_formulas(own_runs, planted_stands_in):
    page = open_page("Errata", data="planted")
    formulas = [element.value for element in page.latex]
    assert len(formulas) == 2 * len(ERRATA)
    for erratum in ERRATA:
        assert any(erratum.right in formula for formula in formulas)
        assert erratum.why in words(page)


def test_a_stand_in_is_chosen_only_where_no_benchmark_is_ready(monkeypatch):
    monkeypatch.delenv("SMFH_DATA", raising=False)
    assert paper_part().read({})[0].data == STAND_IN
    assert not DATASETS[STAND_IN]().missing()


def test_the_leaderboard_has_runs_and_published_numbers_and_filters_them(own_runs, planted_stands_in):
    data, split = DATASETS["planted"]().load()
    store = server.run_store()
    find_or_keep(store, DATASETS["planted"](), make_method("cvh", bits=8), data, split)
    page = open_page("Leaderboard", data="planted")
    assert not page.exception
    table = page.dataframe[0].value
    assert set(table["measure"]) == {"mAP@100"}
    assert set(table["equal distances"]) == {"database order"}
    own = table[table["data"] == "Planted"]
    assert sorted(own["direction"]) == ["image → text", "text → image"]
    assert own["again"].str.contains("data=planted&method=cvh&bits=8&seed=0", regex=False).all()
    assert own["definition"].str.contains("database order").all()
    assert (table["published"].notna() == (table["data"] != "Planted")).all()
    page.selectbox("leaderboard_measure").select("all")
    page.selectbox("leaderboard_data").select("planted").run()
    table = page.dataframe[0].value
    assert set(table["data"]) == {"Planted"}
    assert len(set(table["measure"])) == 3
    page.run()
    assert not page.exception


def board(page: AppTest) -> pd.DataFrame:
    """The rows of Planted, as soon as its usual split is known."""
    until(page, lambda: "Still being looked up" not in words(page) and page.dataframe)
    table = page.dataframe[0].value
    return table[table["data"] == "Planted"]


def test_a_run_of_another_split_says_so_and_has_no_link(own_runs, planted_stands_in):
    source = DATASETS["planted"]()
    for split, seed in (("default", 0), ("random", 3)):
        find_or_keep(server.run_store(), source, make_method("cvh", bits=8), *source.load(split, seed))
    own = board(open_page("Leaderboard", data="planted"))
    assert sorted(own["setting"]) == ["as it comes"] * 2 + ["other split"] * 2
    assert (own["again"].notna() == (own["setting"] == "as it comes")).all()


def test_what_the_features_allow_appears_when_it_is_measured(own_runs, planted_stands_in):
    source, store = DATASETS["planted"](), server.run_store()
    data, split = source.load()
    find_or_keep(store, source, make_method("cvh", bits=8), data, split)
    page = open_page("Leaderboard", data="planted")
    assert board(page)["features allow"].isna().all()
    assert "press “Measure what the features allow” in Compare" in words(page)
    allowed = dict.fromkeys(AP_DEFINITIONS, 0.9)
    searches = {(*ends, "training"): allowed for ends in (("text", "image"), ("image", "text"))}
    store.save_ceiling(ceiling_key(data, split), Ceiling(searches, ("told",)))
    assert (board(page.run())["features allow"] == 0.9).all()


def test_links_of_the_leaderboard_go_below_the_path_of_the_server(monkeypatch):
    assert leaderboard.first_page() == "/"
    for base in ("hashing/lab", "/hashing/lab/"):
        monkeypatch.setattr("streamlit.get_option", {"server.baseUrlPath": base}.get)
        assert leaderboard.first_page() == "/hashing/lab/"


@dataclass(frozen=True)
class Heavy(DatasetSource):
    """A data set that takes its time, counted; one that cannot be loaded, where it is damaged."""

    name: ClassVar[str] = "heavy"
    is_light: ClassVar[bool] = True  # so that it is loaded here, where it can be held up
    card: ClassVar = Planted.card
    number: int = 0
    is_damaged: bool = False

    def load(self, split="default", seed=0, on_progress=None):
        LOADS.append(self)
        assert GATE.wait(60)
        if self.is_damaged:
            raise InputError("A file is damaged.")
        return Planted(items=20).load()


LOADS: list[Heavy] = []
GATE = threading.Event()


def test_the_usual_split_of_a_heavy_set_is_looked_up_once_and_no_page_waits_for_it():
    GATE.clear()
    LOADS.clear()
    whole, damaged = Heavy(time.monotonic_ns()), Heavy(time.monotonic_ns(), True)
    for _ in range(3):
        assert usual_loads([whole, damaged, whole], patience=0.01) == ({}, [whole, damaged])
    GATE.set()
    assert usual_loads([whole, damaged], patience=60.0) == ({whole: usual_load(Planted(items=20))}, [])
    assert usual_loads([damaged, whole], patience=0.0)[1] == []
    assert LOADS == [whole, damaged]


def test_of_a_set_whose_files_are_not_here_nothing_is_looked_up(monkeypatch):
    monkeypatch.delenv("SMFH_DATA", raising=False)
    monkeypatch.setattr("smfh.ui.paper.usual.peek_source", lambda source: None)
    assert usual_loads([DATASETS["wiki"]()]) == ({}, [])


def test_what_is_in_memory_is_not_loaded_again(monkeypatch):
    loaded = Planted(items=20).load()
    monkeypatch.setattr("smfh.ui.paper.usual.peek_source", lambda source: loaded)
    monkeypatch.setattr("smfh.ui.paper.usual._looking", None)
    source = DATASETS["nus-wide"]()
    assert usual_loads([source]) == ({source: usual_load(Planted(items=20))}, [])

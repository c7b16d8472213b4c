"""One codec for every value in a link, and one rule: when the address applies, and when the session."""

from dataclasses import dataclass, fields
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from smfh.datasets import DATASETS
from smfh.hashing import METHODS, make_method
from smfh.ui.address import (
    MAX_NOTES,
    MAX_TEXT_CHARACTERS,
    NOTE_CHARACTERS,
    any_text,
    decode,
    encode,
    link_field,
    one_of,
    readers_of,
    several,
    switch,
    whole,
)

NAMES = ("smfh", "cvh", "scm")
LENGTHS = (8, 16, 32)


@dataclass(frozen=True)
class View:
    """A field of each kind that a page has."""

    methods: tuple[str, ...] = link_field(NAMES, several(one_of(NAMES), least=1))
    bits: tuple[int, ...] = link_field((32,), several(whole(8, 64)))
    seeds: int = link_field(5, whole(1, 10))
    shift: int = link_field(0, whole(-9, 9))
    own: bool = link_field(False, switch)
    database: str = link_field("training", one_of({"training": 1, "unseen": 2}))
    words: str | None = link_field(None, any_text(500))
    aside: int = 0  # not in a link


views = some.builds(
    View,
    some.lists(some.sampled_from(NAMES), min_size=1, unique=True).map(tuple),
    some.lists(some.sampled_from(LENGTHS), unique=True).map(tuple),
    some.integers(1, 10),
    some.integers(-9, 9),
    some.booleans(),
    some.sampled_from(["training", "unseen"]),
    some.none() | some.text(some.characters(codec="utf-8"), max_size=500),
)


@given(views, some.sampled_from(["", "compare.", "a.b."]), some.booleans())
def test_a_link_is_read_back(value, prefix, everything):
    always = [f.name for f in fields(View)] if everything else []
    query = dict(parse_qsl(urlencode(encode(value, View(), prefix, always)), keep_blank_values=True))
    assert decode(query, View(), prefix) == (value, [])


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("methods", "smfh,atlantis", "Unknown methods 'atlantis'; choose from smfh, cvh, scm."),
        ("methods", ",,", "methods must name at least 1; got 0."),
        ("bits", "8,65", "bits must be a whole number from 8 to 64; got '65'."),
        ("seeds", "0", "seeds must be a whole number from 1 to 10; got '0'."),
        ("seeds", "٣", "seeds must be a whole number from 1 to 10; got '٣'."),
        ("shift", "--3", "shift must be a whole number from -9 to 9; got '--3'."),
        ("own", "perhaps", "own must be true or false, such as False; got 'perhaps'."),
        ("database", "<b>", "Unknown database '<b>'; choose from training, unseen."),
        ("aside", "1", "Unknown link parameter 'x.aside'; choose from x.methods, x.bits, x.seeds,"),
        ("words", "a" * 100_000, "words must have at most 4,000 characters; got 100,000."),
        ("seeds", "9" * MAX_TEXT_CHARACTERS, f"seeds must be a whole number from 1 to 10; got '{'9' * 40}'."),
    ],
)
def test_a_wrong_parameter_has_a_note_and_the_others_stay(name, text, note):
    value, notes = decode({f"x.{name}": text, "x.radius.seeds": "7", "seeds": "8", "x.shift ": ""}, View(), "x.")
    assert value == View()
    assert len(notes) == 2
    assert notes[0].startswith(note)
    again, _ = decode({"x.database": "unseen", f"x.{name}": text}, View(), "x.")
    assert again.database == ("training" if name == "database" else "unseen")


@given(some.dictionaries(some.sampled_from([f.name for f in fields(View)]) | some.text(), some.text()))
def test_any_link_is_read_with_few_notes(query):
    value, notes = decode(query, View())
    assert decode(encode(value, View()), View()) == (value, [])
    assert len(notes) <= MAX_NOTES + 1
    assert all(len(note) <= NOTE_CHARACTERS + 2 for note in notes)


@pytest.mark.parametrize("configuration", [*METHODS, *DATASETS])
@settings(deadline=None, max_examples=30)
@given(
    text=some.text() | some.sampled_from(["nan", "-inf", "1e999", "9" * MAX_TEXT_CHARACTERS, "true", ",", "0.5,x", "1"])
)
def test_every_method_and_data_set_can_be_in_a_link(configuration, text):
    default = make_method(configuration) if configuration in METHODS else DATASETS[configuration]()
    for name in readers_of(default):
        value, notes = decode({f"data.{name}": text}, default, "data.")
        assert value == default or not notes
        assert decode(encode(value, default, "data."), default, "data.") == (value, [])
        everything = encode(default, default, "data.", list(readers_of(default)))
        assert decode(everything, default, "data.") == (default, [])


@dataclass(frozen=True)
class Sidebar:
    bits: int = link_field(32, whole(8, 64))


@dataclass(frozen=True)
class SearchState:
    words: str = link_field("", any_text(20))
    row: int = 0


def little_app(default: "Sidebar", nothing: "SearchState") -> None:
    """A slider of the settings and a text of the page in one address; the data may change."""
    from dataclasses import replace

    import streamlit as st

    from smfh.ui import address

    def changed() -> None:
        address.keep(page, replace(nothing, words=st.session_state["search_words"]))

    shared = address.Part(
        address.SHARED,
        lambda query: address.decode(query, default),
        lambda value: address.encode(value, default, "", ["bits"]),
    )
    rows = st.session_state.get("rows", 10)
    page = address.part_of(nothing, "search.", about=str(rows), row=address.whole(0, rows - 1))
    sidebar, _ = address.current(shared, "control_")
    st.session_state.setdefault("control_bits", sidebar.bits)
    address.keep(shared, replace(sidebar, bits=st.slider("Length", 8, 64, key="control_bits")))
    sidebar, notes = address.current(shared, "control_")
    state, more = address.current(page, "search_")
    address.draw_notes([*notes, *more])
    address.keep(page, state)
    st.session_state["search_words"] = state.words
    st.text_input("Words", key="search_words", on_change=changed)
    st.session_state["now"] = (sidebar.bits, state.words, state.row)


def opened(**query: str) -> AppTest:
    page = AppTest.from_function(little_app, args=(Sidebar(), SearchState()), default_timeout=60)
    for key, text in query.items():
        page.query_params[key] = text
    return page.run()


def address_of(page: AppTest) -> dict[str, str]:
    """The parameters of the address."""
    return {key: text if isinstance(text, str) else text[-1] for key, text in page.query_params.items()}


def test_an_empty_address_stays_empty_until_a_change():
    page = opened()
    assert (page.session_state["now"], address_of(page)) == ((32, "", 0), {})
    page.text_input[0].set_value("flag").run()
    assert (page.session_state["now"], address_of(page)) == ((32, "flag", 0), {"search.words": "flag"})
    page.slider[0].set_value(40).run()
    assert page.session_state["now"] == (40, "flag", 0)
    assert address_of(page) == {"search.words": "flag", "bits": "40"}


def test_a_link_applies_first_and_then_the_controls():
    page = opened(**{"bits": "16", "search.words": "horse", "compare.bits": "8"})
    assert page.session_state["now"] == (16, "horse", 0)
    assert (page.slider[0].value, page.text_input[0].value) == (16, "horse")
    page.slider[0].set_value(24).run()
    assert page.session_state["now"] == (24, "horse", 0)
    page.text_input[0].set_value("flag").run()
    assert address_of(page) == {"bits": "24", "search.words": "flag"}, "without the part of another page"


def test_a_link_is_read_again_for_other_data():
    page = opened(**{"search.row": "7", "search.words": "flag"})
    assert page.session_state["now"] == (32, "flag", 7)
    page.session_state["rows"] = 20
    assert page.run().session_state["now"] == (32, "flag", 7)
    page.session_state["rows"] = 5
    assert page.run().session_state["now"] == (32, "flag", 0)
    assert page.text[0].value == "row must be a whole number from 0 to 4; got '7'."

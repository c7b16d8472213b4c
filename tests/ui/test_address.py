"""One codec for every value in a link, and one rule for who wins: the address or the visit."""

from dataclasses import dataclass, fields, replace
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from streamlit.testing.v1 import AppTest

from smfh.datasets import DATASETS
from smfh.hashing import METHODS, make_method
from smfh.types import InputError
from smfh.ui.address import (
    LONGEST,
    MOST_NOTES,
    NOTE,
    any_text,
    decode,
    encode,
    one_of,
    own_keys,
    readers_of,
    several,
    switch,
    told,
    whole,
)

NAMES = ("smfh", "cvh", "scm")
LENGTHS = (8, 16, 32)


@dataclass(frozen=True)
class Looked:
    """A field of each kind that a page has."""

    methods: tuple[str, ...] = told(NAMES, several(one_of(NAMES), least=1))
    bits: tuple[int, ...] = told((32,), several(whole(8, 64)))
    seeds: int = told(5, whole(1, 10))
    shift: int = told(0, whole(-9, 9))
    own: bool = told(False, switch)
    database: str = told("training", one_of({"training": 1, "unseen": 2}))
    words: str | None = told(None, any_text(500))
    aside: int = 0  # not in a link


looked = some.builds(
    Looked,
    some.lists(some.sampled_from(NAMES), min_size=1, unique=True).map(tuple),
    some.lists(some.sampled_from(LENGTHS), unique=True).map(tuple),
    some.integers(1, 10),
    some.integers(-9, 9),
    some.booleans(),
    some.sampled_from(["training", "unseen"]),
    some.none() | some.text(some.characters(codec="utf-8"), max_size=500),
)


@given(looked, some.sampled_from(["", "compare.", "a.b."]), some.booleans())
def test_a_link_brings_back_what_it_was_made_of(value, prefix, everything):
    always = [f.name for f in fields(Looked)] if everything else []
    query = dict(parse_qsl(urlencode(encode(value, Looked(), prefix, always)), keep_blank_values=True))
    assert decode(query, Looked(), prefix) == (value, [])


def test_what_is_usual_is_left_out():
    assert encode(Looked(), Looked(), "compare.") == {}
    assert encode(Looked(seeds=3, words=""), Looked(), "compare.") == {
        "compare.seeds": "3",
        "compare.words": "",
    }
    assert encode(Looked(), Looked(), "", ["seeds", "words"]) == {"seeds": "5"}


def test_what_is_usual_may_depend_on_the_data():
    usual = Looked(database="unseen")
    assert encode(Looked(), usual) == {"database": "training"}
    assert decode({}, usual) == (usual, [])


def test_a_reader_may_depend_on_the_data():
    reader = {"aside": whole(0, 3)}
    assert encode(Looked(aside=2), Looked(), "", (), **reader) == {"aside": "2"}
    assert decode({"aside": "2"}, Looked(), "", **reader) == (Looked(aside=2), [])
    value, notes = decode({"aside": "4"}, Looked(), "", **reader)
    assert (value, notes) == (Looked(), ["aside must be a whole number from 0 to 3; got '4'."])


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("methods", "smfh,atlantis", "Unknown methods 'atlantis'; there are smfh, cvh, scm."),
        ("methods", ",,", "methods must name at least 1; got 0."),
        ("bits", "8,65", "bits must be a whole number from 8 to 64; got '65'."),
        ("seeds", "0", "seeds must be a whole number from 1 to 10; got '0'."),
        ("seeds", "٣", "seeds must be a whole number from 1 to 10; got '٣'."),
        ("seeds", "1e0", "seeds must be a whole number from 1 to 10; got '1e0'."),
        ("shift", "--3", "shift must be a whole number from -9 to 9; got '--3'."),
        ("own", "perhaps", "own must be true or false, such as False; got 'perhaps'."),
        ("database", "<b>", "Unknown database '<b>'; there are training, unseen."),
        ("aside", "1", "Unknown part of a link 'x.aside'; there are x.methods, x.bits, x.seeds,"),
        ("words", "a" * 100_000, "words must have at most 4,000 characters; got 100,000."),
        ("seeds", "9" * 4_400, "seeds must have at most 4,000 characters; got 4,400."),
        ("seeds", "9" * LONGEST, f"seeds must be a whole number from 1 to 10; got '{'9' * 40}'."),
    ],
)
def test_what_is_wrong_falls_back_with_a_note_and_the_rest_stays(name, text, note):
    value, notes = decode(
        {f"x.{name}": text, "x.radius.seeds": "7", "seeds": "8", "x.shift ": ""}, Looked(), "x."
    )
    assert value == Looked()
    assert len(notes) == 2
    assert notes[0].startswith(note)
    again, _ = decode({"x.database": "unseen", f"x.{name}": text}, Looked(), "x.")
    assert again.database == ("training" if name == "database" else "unseen")


@given(some.dictionaries(some.sampled_from([f.name for f in fields(Looked)]) | some.text(), some.text()))
def test_no_link_does_more_harm_than_notes(query):
    value, notes = decode(query, Looked())
    assert decode(encode(value, Looked()), Looked()) == (value, [])
    assert len(notes) <= MOST_NOTES + 1
    assert all(len(note) <= NOTE + 2 for note in notes)


def test_a_thousand_wrong_parts_make_a_few_notes():
    _, notes = decode({f"part{number}": "x" for number in range(1_000)}, Looked())
    assert len(notes) == MOST_NOTES + 1
    assert notes[-1] == "990 more parts of the link cannot be used."


@pytest.mark.parametrize("configuration", [*METHODS, *DATASETS])
@settings(deadline=None, max_examples=30)
@given(
    text=some.text() | some.sampled_from(["nan", "-inf", "1e999", "9" * LONGEST, "true", ",", "0.5,x", "1"])
)
def test_whatever_describes_itself_can_be_in_a_link(configuration, text):
    usual = make_method(configuration) if configuration in METHODS else DATASETS[configuration]()
    for name in readers_of(usual):
        value, notes = decode({f"data.{name}": text}, usual, "data.")
        assert value == usual or not notes
        assert decode(encode(value, usual, "data."), usual, "data.") == (value, [])
        everything = encode(usual, usual, "data.", list(readers_of(usual)))
        assert decode(everything, usual, "data.") == (usual, [])


def test_a_check_of_the_value_itself_is_a_note():
    @dataclass(frozen=True)
    class Even:
        number: int = told(2, whole(0, 9))

        def __post_init__(self) -> None:
            if self.number % 2:
                raise InputError(f"number must be even; got {self.number}.")

    assert decode({"number": "3"}, Even()) == (Even(), ["number must be even; got 3."])
    assert decode({"number": "4"}, Even()) == (replace(Even(), number=4), [])


def test_a_key_up_to_its_last_dot_tells_whose_it_is():
    query = {"bits": "1", "data.items": "2", "bits.bit": "3", "a.b.c": "4", ".": "5"}
    assert own_keys(query, ("", "data.")) == {"bits": "1", "data.items": "2"}
    assert own_keys(query, ("bits.",)) == {"bits.bit": "3"}


@dataclass(frozen=True)
class Sidebar:
    bits: int = told(32, whole(8, 64))


@dataclass(frozen=True)
class Asked:
    words: str = told("", any_text(20))
    row: int = 0


def little_app(usual: "Sidebar", nothing: "Asked") -> None:
    """A slider of the settings and a text of the page, on one address; the data may change."""
    from dataclasses import replace

    import streamlit as st

    from smfh.ui import address

    def ask() -> None:
        address.keep(page, replace(nothing, words=st.session_state["search_words"]))

    shared = address.Part(
        address.SHARED,
        lambda query: address.decode(query, usual),
        lambda value: address.encode(value, usual, "", ["bits"]),
    )
    rows = st.session_state.get("rows", 10)
    page = address.part_of(nothing, "search.", about=str(rows), row=address.whole(0, rows - 1))
    address.draw_history(["search.words"])
    sidebar, _ = address.current(shared, "control_")
    st.session_state.setdefault("control_bits", sidebar.bits)
    address.keep(shared, replace(sidebar, bits=st.slider("Length", 8, 64, key="control_bits")))
    sidebar, notes = address.current(shared, "control_")
    asked, more = address.current(page, "search_")
    address.draw_notes([*notes, *more])
    address.keep(page, asked)
    st.session_state["search_words"] = asked.words
    st.text_input("Words", key="search_words", on_change=ask)
    st.session_state["now"] = (sidebar.bits, asked.words, asked.row)


def opened(**query: str) -> AppTest:
    page = AppTest.from_function(little_app, args=(Sidebar(), Asked()))
    for key, text in query.items():
        page.query_params[key] = text
    return page.run()


def said(page: AppTest) -> dict[str, str]:
    """The address, as the app has left it."""
    return {key: text if isinstance(text, str) else text[-1] for key, text in page.query_params.items()}


def test_a_bare_address_stays_bare_until_something_is_changed():
    page = opened()
    assert (page.session_state["now"], said(page)) == ((32, "", 0), {})
    page.text_input[0].set_value("flag").run()
    assert (page.session_state["now"], said(page)) == ((32, "flag", 0), {"search.words": "flag"})
    page.slider[0].set_value(40).run()
    assert page.session_state["now"] == (40, "flag", 0)
    assert said(page) == {"search.words": "flag", "bits": "40"}


def test_a_link_is_followed_and_then_the_controls_win():
    page = opened(**{"bits": "16", "search.words": "horse", "compare.bits": "8"})
    assert page.session_state["now"] == (16, "horse", 0)
    assert (page.slider[0].value, page.text_input[0].value) == (16, "horse")
    page.slider[0].set_value(24).run()
    assert page.session_state["now"] == (24, "horse", 0)
    page.text_input[0].set_value("flag").run()
    assert said(page) == {"bits": "24", "search.words": "flag"}, "not the other page's part"


def test_an_address_that_lags_behind_changes_nothing():
    page = opened(bits="16")
    page.slider[0].set_value(24).run()
    page.query_params["bits"] = "16"  # as the browser sends it before it has heard of 24
    page.slider[0].set_value(40).run()
    assert (page.session_state["now"], said(page)) == ((40, "", 0), {"bits": "40"})


def test_notes_stay_until_something_else_is_chosen_and_are_plain_text():
    page = opened(bits="<b>7</b>")
    assert page.session_state["now"] == (32, "", 0)
    assert page.text[0].value == "bits must be a whole number from 8 to 64; got '<b>7</b>'."
    page.run()
    assert page.warning
    page.slider[0].set_value(40).run()
    assert not page.warning
    assert not page.exception


def test_of_other_data_what_was_told_is_read_again():
    page = opened(**{"search.row": "7", "search.words": "flag"})
    assert page.session_state["now"] == (32, "flag", 7)
    page.session_state["rows"] = 20
    assert page.run().session_state["now"] == (32, "flag", 7)
    page.session_state["rows"] = 5
    assert page.run().session_state["now"] == (32, "flag", 0)
    assert page.text[0].value == "row must be a whole number from 0 to 4; got '7'."

"""Links carry settings, and wrong ones fall back with a note."""

import io
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from smfh.datasets import DATASETS, Planted
from smfh.datasets.own import OwnData
from smfh.hashing import METHODS, make_method
from smfh.types import InputError, parameters
from smfh.ui.controls import read_typed, round_values
from smfh.ui.settings import (
    Settings,
    default_settings,
    differences,
    read_settings,
    to_link,
    unusual_in_words,
    write_settings,
)
from smfh.ui.sharing import qr_code


@st.composite
def methods(draw):
    """Any method with any of its numbers changed within their range."""
    method = make_method(draw(st.sampled_from(list(METHODS))))
    for name, about in parameters(method).items():
        value = getattr(method, name)
        if draw(st.booleans()) and not isinstance(value, tuple):
            if isinstance(value, bool):
                values = st.booleans()
            else:
                values = (st.integers if isinstance(value, int) else st.floats)(about.low, about.high)
            method = replace(method, **{name: draw(values)})
    return method


@settings(deadline=None)
@given(methods(), st.integers(10, 10_000), st.booleans(), st.booleans())
def test_a_link_brings_back_what_it_was_made_of(method, items, paused, present):
    chosen = Settings(Planted(items=items), method, frozenset({"bits", "method"}), paused, present)
    again, notes = read_settings(write_settings(chosen))
    assert again == chosen
    assert notes == []


def test_an_empty_link_is_the_usual():
    assert read_settings({}) == (default_settings(), [])


def test_shares_and_words_come_back_too():
    query = {
        "data": "emoji",
        "data.labels": "subgroup",
        "data.languages": "es,ja",
        "modality_weights": "0.7,0.3",
    }
    chosen, notes = read_settings(query)
    assert notes == []
    assert chosen.method.modality_weights == (0.7, 0.3)
    assert (chosen.source.labels, chosen.source.languages) == ("subgroup", ("es", "ja"))
    assert read_settings(write_settings(chosen))[0] == chosen


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ({"data": "atlantis"}, "Unknown data set 'atlantis'"),
        ({"data": "../../etc/passwd"}, "Unknown data set"),
        ({"method": "md5"}, "Unknown method 'md5'"),
        ({"bits": "9999"}, "bits (r) must be a whole number from 1 to 1,024; got 9999"),
        ({"bits": "<script>"}, "bits must be a whole number"),
        ({"bits": "1e999"}, "bits must be a whole number"),
        ({"graph_weight": "nan"}, "graph_weight"),
        ({"modality_weights": "1,1"}, "must sum to 1"),
        ({"start": "now"}, "Unknown start 'now'"),
        ({"colour": "red"}, "Unknown part of a link 'colour'"),
        ({"data.content": "x"}, "Unknown part of a link"),
        ({"data": "emoji", "data.labels": "species"}, "Unknown labels 'species'"),
    ],
)
def test_what_is_wrong_falls_back_with_a_note(query, note):
    chosen, notes = read_settings(query)
    assert len(notes) == 1
    assert note in notes[0]
    assert chosen.method == make_method("smfh-plus")
    assert chosen.source in (default_settings().source, DATASETS["emoji"]())


def test_a_link_tells_that_own_data_is_wanted_and_nothing_of_it():
    own = Settings(OwnData(b"image:1,text:1\n", "mine.csv"), make_method("smfh", bits=16))
    query = write_settings(own)
    assert query == {"data": "own", "method": "smfh", "bits": "16", "seed": "0"}
    assert read_settings(query) == (replace(own, source=OwnData()), [])


def test_a_teacher_hides_only_what_there_is():
    chosen, notes = read_settings({"hide": "bits,seed,nonsense"})
    assert chosen.hidden == {"bits", "seed"}
    assert notes == []
    assert "hide=bits,seed" in to_link(chosen)


def test_a_whole_link_names_the_host_the_page_and_what_the_page_tells():
    chosen, _ = read_settings({"data": "emoji", "start": "paused", "present": "true", "bits": "32"})
    link = to_link(chosen, "https://hash.example:8501/Search", {"search.words": "smiling cat"})
    assert link.startswith("https://hash.example:8501/Search?data=emoji&method=smfh-plus&")
    assert {"start=paused", "present=true", "bits=32", "search.words=smiling+cat"} <= set(
        link.split("?")[1].split("&")
    )


@pytest.mark.parametrize(
    "text", ["https://hash.example/?data=emoji", "https://hash.example/?" + "ab=ö&" * 150]
)
def test_a_link_of_any_usual_length_is_a_square_picture(text):
    picture = Image.open(io.BytesIO(qr_code(text)))
    assert picture.format == "PNG"
    assert picture.width == picture.height


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("bits", " 37 ", 37),
        ("graph_sample", "All", 0),
        ("graph_sample", "1,500", 1500),
        ("graph_weight", "2e1", 20.0),
        ("projection_weight", "7", 7.0),
    ],
)
def test_a_typed_number_is_the_value(name, text, value):
    typed = read_typed(make_method("smfh-plus"), name, text)
    assert typed == value
    assert type(typed) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("bits", "many", "bits must be a whole number, such as 64; got 'many'."),
        ("bits", "2000", "bits (r) must be a whole number from 1 to 1,024; got 2000."),
        ("bits", "6.5", "bits must be a whole number"),
        ("graph_weight", "nan", "graph_weight (α) must be a number from 0 to 1e+06; got nan."),
        ("graph_weight", "-1", "graph_weight (α) must be"),
        ("graph_sample", "", "graph_sample must be a whole number"),
    ],
)
def test_a_typed_text_that_is_no_such_number_is_told_why(name, text, why):
    with pytest.raises(InputError) as error:
        read_typed(make_method("smfh-plus"), name, text)
    assert error.value.problems[0].startswith(why)


def test_all_items_stand_behind_any_number_of_them():
    method = make_method("smfh-plus")
    values = round_values("graph_sample", parameters(method)["graph_sample"], 0)
    assert values[0] == 20
    assert values[-2:] == [20_000, 0]
    assert 0 in round_values("graph_weight", parameters(method)["graph_weight"], 35.0)[:1]


def test_differences_are_told_by_symbol():
    method = make_method("smfh")
    assert differences(method, replace(method, graph_weight=5.0, bits=32)) == ["r 64 → 32", "α 2 → 5"]
    assert differences(method, make_method("smfh-plus")) == ["SMFH → SMFH+"]
    plus = make_method("smfh-plus")
    assert differences(plus, replace(plus, graph_sample=50)) == ["m all → 50"]


def test_what_is_not_as_usual_is_told_by_symbol():
    method = make_method("smfh", graph_weight=3.0, modality_weights=(0.7, 0.3))
    assert unusual_in_words(method) == "α 3, λ 0.7/0.3"
    assert unusual_in_words(make_method("smfh", bits=3, seed=4)) == ""

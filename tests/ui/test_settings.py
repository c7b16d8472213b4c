"""Links carry settings, and wrong ones fall back with a note."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.datasets import DATASETS, Planted
from smfh.datasets.own import OwnData
from smfh.hashing import METHODS, make_method
from smfh.types import parameters
from smfh.ui.settings import (
    Settings,
    default_settings,
    differences,
    read_settings,
    to_link,
    unusual_in_words,
    write_settings,
)


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
@given(methods(), st.integers(10, 10_000))
def test_a_link_brings_back_what_it_was_made_of(method, items):
    chosen = Settings(Planted(items=items), method, frozenset({"bits", "method"}))
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


def test_differences_are_told_by_symbol():
    method = make_method("smfh")
    assert differences(method, replace(method, graph_weight=5.0, bits=32)) == ["r 64 → 32", "α 2.0 → 5.0"]
    assert differences(method, make_method("smfh-plus")) == ["SMFH → SMFH+"]


def test_what_is_not_as_usual_is_told_by_symbol():
    method = make_method("smfh", graph_weight=3.0, modality_weights=(0.7, 0.3))
    assert unusual_in_words(method) == "α 3, λ 0.7/0.3"
    assert unusual_in_words(make_method("smfh", bits=3, seed=4)) == ""

"""Links contain settings; wrong parameters are replaced by defaults, with a note."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.datasets import DATASETS, Planted
from smfh.datasets.user_data import UserDataset
from smfh.hashing import METHODS, make_method
from smfh.types import InputError, parameters
from smfh.ui.settings import Settings, default_settings, read_settings, to_link, write_settings
from smfh.ui.sidebar import read_typed, round_values


@st.composite
def methods(draw):
    """Any method with any of its parameters changed within range."""
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
def test_a_link_is_read_back(method, items, paused, present):
    chosen = Settings(Planted(items=items), method, frozenset({"bits", "method"}), paused, present)
    again, notes = read_settings(write_settings(chosen))
    assert again == chosen
    assert notes == []


def test_weights_and_choices_are_read_back():
    query = {"data": "emoji", "data.labels": "group", "data.languages": "es,ja"}
    chosen, notes = read_settings(query | {"modality_weights": "0.7,0.3"})
    assert notes == []
    assert chosen.method.modality_weights == (0.7, 0.3)
    assert (chosen.source.labels, chosen.source.languages) == ("group", ("es", "ja"))
    assert read_settings(write_settings(chosen))[0] == chosen


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ({"data": "../../etc/passwd"}, "Unknown data set"),
        ({"method": "md5"}, "Unknown method 'md5'"),
        ({"bits": "9999"}, "bits (r) must be a whole number from 1 to 1,024; got 9999"),
        ({"bits": "1e999"}, "bits must be a whole number"),
        ({"modality_weights": "1,1"}, "must sum to 1"),
        ({"start": "now"}, "Unknown start 'now'"),
        ({"colour": "red"}, "Unknown link parameter 'colour'"),
        ({"data.content": "x"}, "Unknown link parameter"),
    ],
)
def test_a_wrong_parameter_has_a_note(query, note):
    chosen, notes = read_settings(query)
    assert len(notes) == 1
    assert note in notes[0]
    assert chosen.method == make_method("smfh-plus")
    assert chosen.source in (default_settings().source, DATASETS["emoji"]())


def test_a_link_names_uploaded_data_without_its_content():
    own = Settings(UserDataset(b"image:1,text:1\n", "mine.csv"), make_method("smfh", bits=16))
    query = write_settings(own)
    assert query == {"data": "own", "method": "smfh", "bits": "16", "seed": "0"}
    assert read_settings(query) == (replace(own, source=UserDataset()), [])


def test_a_whole_link_has_host_page_settings_and_page_parameters():
    chosen, _ = read_settings({"data": "emoji", "start": "paused", "present": "true", "bits": "32"})
    link = to_link(chosen, "https://hash.example:8501/Search", {"search.words": "smiling cat"})
    assert link.startswith("https://hash.example:8501/Search?data=emoji&method=smfh-plus&")
    assert {"start=paused", "present=true", "bits=32", "search.words=smiling+cat"} <= set(link.split("?")[1].split("&"))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("bits", " 37 ", 37),
        ("graph_sample", "All", 0),
        ("graph_sample", "1,500", 1500),
        ("graph_weight", "2e1", 20.0),
        ("bits", "2000", "bits (r) must be a whole number from 1 to 1,024; got 2000."),
        ("graph_weight", "nan", "graph_weight (α) must be a number from 0 to 1e+06; got nan."),
    ],
)
def test_a_typed_number_is_read_or_explained(name, text, value):
    if isinstance(value, str):
        with pytest.raises(InputError) as error:
            read_typed(make_method("smfh-plus"), name, text)
        assert list(error.value.problems) == [value]
    else:
        typed = read_typed(make_method("smfh-plus"), name, text)
        assert (typed, type(typed)) == (value, type(value))


@pytest.mark.parametrize("name", [*METHODS, *DATASETS])
def test_every_value_on_a_slider_is_allowed(name):
    chosen = METHODS[name]() if name in METHODS else DATASETS[name]()
    for parameter, about in parameters(chosen).items():
        value = getattr(chosen, parameter)
        if not isinstance(value, tuple | bool):
            for offered in round_values(parameter, about, value):
                replace(chosen, **{parameter: offered})

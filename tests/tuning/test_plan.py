"""Plans: written down and read again, and all that is wrong with them told at once."""

import json

import pytest

from smfh.datasets import Emoji, Planted
from smfh.datasets.own import OwnData
from smfh.hashing import SMFHPlus
from smfh.tuning import Goal, Range, read_plan, usual_range
from smfh.types import InputError


def test_a_plan_is_read_as_it_was_written(make_plan):
    method = SMFHPlus(bits=32, seed=3, modality_weights=(0.25, 0.75))
    for plan in (
        make_plan(),
        make_plan(
            sources=(Emoji(), Planted(items=50, data_seed=2)),
            method=method,
            ranges=(usual_range(method, "anchors"), usual_range(method, "bits")),
            way="sweep",
            goal=Goal("full", "seconds"),
            protocols=("training", "unseen"),
        ),
        make_plan(trials=0, minutes=1.5, lengths=(8, 16)),
    ):
        assert read_plan(plan.name, plan.to_json()) == plan


def test_own_data_is_not_written_down(make_plan):
    own = OwnData(content=b"secret,1\n", file_name="private.csv")
    plan = make_plan(sources=(own,))
    assert "secret" not in plan.to_json()
    assert "private" not in plan.to_json()
    assert read_plan("small", plan.to_json(), own) == plan


@pytest.mark.parametrize(
    "path", [("method", "name"), ("ranges",), ("goal", "over"), ("sources",), ("folds",)]
)
@pytest.mark.parametrize("value", [None, "?", [], {}, -1, [[]], {"name": "?"}])
def test_a_plan_that_was_changed_is_refused_in_words(make_plan, path, value):
    said = json.loads(make_plan().to_json())
    at = said
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(InputError):
        read_plan("small", json.dumps(said))


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "[" * 100_000])
def test_what_is_no_plan_is_refused_in_words(text):
    with pytest.raises(InputError):
        read_plan("small", text)


def test_the_start_comes_first_and_no_point_twice(make_plan):
    sweep = make_plan(way="sweep", ranges=(Range("graph_weight", 0.5, 8, "log", points=5),))
    assert [point["graph_weight"] for point in sweep.points] == [2.0, 0.5, 1.0, 4.0, 8.0]
    pairs = make_plan(way="sweep")
    assert len(pairs.points) == 1 + 3 * 2
    assert pairs.points[0] == {"graph_weight": 2.0, "ridge": 1e-3}
    assert make_plan(trials=3).points == [pairs.points[0], {}, {}]
    assert len(make_plan(trials=0, minutes=1).points) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "name has from 1 to 80"),
        ({"name": "x" * 81}, "name has from 1 to 80"),
        ({"name": "two\nlines"}, "characters that can be read"),
        ({"name": "\x00"}, "characters that can be read"),
        ({"ranges": ()}, "Something must be tuned"),
        ({"sources": ()}, "needs a data set"),
        ({"way": "guess"}, "Unknown way to tune 'guess'; there are sweep, search"),
        ({"folds": 0}, "from 1 to 20 validation parts; got 0"),
        ({"trials": 0}, "say one of them"),
        ({"minutes": 3.0}, "say one of them"),
        ({"trials": -1}, "at most 500 trials"),
        ({"trials": 10**6}, "at most 500 trials"),
        ({"trials": 0, "minutes": float("nan")}, "at most 500 trials"),
        ({"lengths": (0,)}, "bits"),
        ({"protocols": ("queries",)}, "Unknown protocol 'queries'"),
        ({"protocols": ()}, "Unknown protocol ''"),
        (
            {
                "way": "sweep",
                "ranges": tuple(Range(n, 1, 2) for n in ("ridge", "smoothness", "graph_weight")),
            },
            "one or two parameters; got 3",
        ),
        (
            {"way": "sweep", "ranges": tuple(Range(n, 1, 2, points=60) for n in ("ridge", "smoothness"))},
            "points are too many; a sweep has at most 500",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(make_plan, fields, message):
    with pytest.raises(InputError, match=message):
        make_plan(**fields)

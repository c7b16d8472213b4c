"""Goals, ranges and plans: what they compute, what they refuse, and plans as JSON."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.datasets import Emoji, Planted
from smfh.datasets.user_data import UserDataset
from smfh.experiments.folds import combine_measures
from smfh.experiments.tuning import (
    BASE_MEASURES,
    SCOPES,
    FoldScores,
    Goal,
    Range,
    default_range,
    default_ranges,
    read_plan,
    tunable,
)
from smfh.experiments.tuning.plan import range_problems
from smfh.hashing import METHODS, SMFH, SMFHPlus, make_method
from smfh.types import InputError, parameters

HONEST = {"found": 0.708, "full": 0.742, "precision": 0.699}
GAMED = {"found": 0.867, "full": 0.742, "precision": 0.171}


@pytest.mark.parametrize("measure", BASE_MEASURES)
def test_balanced_score_does_not_reward_trading_one_measure_for_another(measure):
    better = {name: value * (1.2 if name == measure else 1) for name, value in HONEST.items()}
    assert combine_measures("balanced", better) > combine_measures("balanced", HONEST)
    for other in set(BASE_MEASURES) - {measure}:
        traded = better | {other: better[other] / 1.2}
        assert combine_measures("balanced", traded) == pytest.approx(combine_measures("balanced", HONEST))


def test_values_of_every_goal_by_hand():
    def fold(first, second, number, seconds):
        return FoldScores("planted", number, 8, seconds, {"text → image": first, "image → text": second})

    folds = [fold(HONEST, GAMED, 0, 2.0), fold(GAMED, GAMED, 1, 4.0)]
    first, second = (0.699 + 0.171) / 2, 0.171
    mean = (first + second) / 2
    expected = {"mean": (mean,), "first": (first,), "second": (second,)}
    expected |= {"directions": (first, second), "seconds": (mean, 3.0)}
    for scope in SCOPES:
        goal = Goal("precision", scope)
        assert goal.values(folds) == pytest.approx(expected[scope])
        assert len(goal.values(folds)) == len(goal.directions) == len(goal.titles) == 1 + goal.has_front
    assert Goal("precision", "seconds").directions == ("maximize", "minimize")
    assert Goal("precision", "directions").worth((0.2, 0.4)) == pytest.approx(0.3)
    assert Goal("precision", "seconds").worth((0.2, 0.4)) == 0.2


@given(st.floats(1e-6, 1e3), st.floats(1.001, 1e6), st.sampled_from(["linear", "log"]), st.integers(2, 64))
def test_a_sweep_includes_both_ends_and_stays_inside(low, factor, scale, points):
    one = Range("ridge", low, low * factor, scale, points=points)
    values = one.values
    assert values[0] == one.low
    assert values[-1] == one.high
    assert list(values) == sorted(set(values))
    assert all(value in one for value in values)


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ((2, 1), "needs a range from low to high; got 2 to 1"),
        ((math.nan, 1), "needs a range from low to high; got nan to 1"),
        ((0, 1, "log"), "must begin above 0; got 0"),
        ((1, 2, "cubic"), "linear or log; got 'cubic'"),
        ((1, 2.5, "linear", True), "takes whole numbers; got 1 to 2.5"),
        ((1, 2, "linear", False, 10**9), "2 to 64 values"),
    ],
)
def test_invalid_ranges_are_refused(ends, message):
    with pytest.raises(InputError, match=message):
        Range("ridge", *ends)


def test_all_problems_of_ranges_are_listed_at_once():
    ranges = [Range("graph_weight", -1, 2), Range("anchors", 1, 5, whole=True), Range("seed", 0, 3, whole=True)]
    ranges += [Range("bits", 8, 16), Range("ridge", 0.1, 1), Range("ridge", 0.1, 2)]
    twice, graph_weight, anchors, seed, bits = range_problems(SMFH(), ranges)
    assert "ridge is listed twice" in twice
    assert "its range has -1" in graph_weight
    assert "no tunable parameter 'anchors'" in anchors
    assert "no tunable parameter 'seed'" in seed
    assert "whole numbers" in bits


@pytest.mark.parametrize("name", METHODS)
def test_every_method_can_be_tuned_over_its_declared_ranges(name):
    method = make_method(name)
    assert range_problems(method, [default_range(method, one) for one in tunable(method)]) == []
    assert default_ranges(method)
    assert set(tunable(method)) <= set(parameters(method)) - {"seed"}


def test_plans_are_read_as_they_were_written(make_plan):
    method = SMFHPlus(bits=32, seed=3, modality_weights=(0.25, 0.75))
    for plan in (
        make_plan(),
        make_plan(
            sources=(Emoji(), Planted(items=50, data_seed=2)),
            method=method,
            ranges=(default_range(method, "anchors"), default_range(method, "bits")),
            way="sweep",
            goal=Goal("full", "seconds"),
            protocols=("training", "unseen"),
        ),
        make_plan(trials=0, minutes=1.5, lengths=(8, 16), distance="asymmetric"),
    ):
        assert read_plan(plan.name, plan.to_json()) == plan
    assert "distance" not in make_plan().to_json()  # so that the names of earlier studies are the same


def test_plans_do_not_contain_uploaded_data(make_plan):
    upload = UserDataset(content=b"secret,1\n", file_name="private.csv")
    plan = make_plan(sources=(upload,))
    assert "secret" not in plan.to_json()
    assert "private" not in plan.to_json()
    assert read_plan("small", plan.to_json(), upload) == plan


@pytest.mark.parametrize("path", [("method", "name"), ("ranges",), ("goal", "over"), ("sources",), ("folds",)])
@pytest.mark.parametrize("value", [None, "?", [], {}, -1, [[]], {"name": "?"}])
def test_forged_plans_are_refused(make_plan, path, value):
    content = json.loads(make_plan().to_json())
    at = content
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    with pytest.raises(InputError):
        read_plan("small", json.dumps(content))


def test_points_begin_with_the_start_and_have_no_duplicates(make_plan):
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
        ({"name": ""}, "name needs 1 to 80"),
        ({"name": "two\nlines"}, "printable characters"),
        ({"ranges": ()}, "Choose at least one parameter"),
        ({"sources": ()}, "needs a data set"),
        ({"way": "guess"}, "Unknown way to tune 'guess'; choose from sweep, search"),
        ({"folds": 0}, "1 to 20 validation folds; got 0"),
        ({"trials": 0}, "set one of them"),
        ({"minutes": 3.0}, "set one of them"),
        ({"trials": 0, "minutes": float("nan")}, "at most 500 trials"),
        ({"lengths": (0,)}, "bits"),
        ({"protocols": ("queries",)}, "Unknown protocol 'queries'"),
        ({"distance": "cosine"}, "Unknown distance 'cosine'"),
        ({"way": "sweep", "ranges": [Range(n, 1, 2) for n in ("ridge", "smoothness", "graph_weight")]}, "got 3"),
        (
            {"way": "sweep", "ranges": [Range(n, 1, 2, points=60) for n in ("ridge", "smoothness")]},
            "points are too many; a sweep has at most 500",
        ),
    ],
)
def test_invalid_plans_are_refused(make_plan, fields, message):
    with pytest.raises(InputError, match=message):
        make_plan(**fields)

"""Goals: one number that no ranking can game, or two."""

import numpy as np
import pytest

from smfh.evaluation import score_codes
from smfh.hamming import pack
from smfh.tuning import FIGURES, MEASURES, OVER, Goal, PartScores
from smfh.tuning.goals import figures_of, measured
from smfh.types import InputError

HONEST = {"found": 0.708, "full": 0.742, "precision": 0.699}
GAMED = {"found": 0.867, "full": 0.742, "precision": 0.171}


def part(first=HONEST, second=HONEST, fold=0, seconds=2.0):
    return PartScores("planted", fold, 8, seconds, {"text → image": first, "image → text": second})


def test_the_numbers_of_its_docstring():
    assert measured("balanced", HONEST) == pytest.approx(0.716, abs=5e-4)
    assert measured("balanced", GAMED) == pytest.approx(0.479, abs=5e-4)
    assert measured("balanced", {"found": 1.0, "full": 0.5, "precision": 0.25}) == pytest.approx(0.5)


def ranked(relevant):
    """The figures of one query whose database, nearest first, is relevant where this says so."""
    items, bits = len(relevant), 400
    database = np.tri(items, bits, -1, dtype=bool)  # item k differs from the query in k bits
    labels = np.stack([relevant, ~relevant], axis=1)
    asked = np.zeros((1, bits), dtype=bool), np.array([[True, False]])
    return figures_of([score_codes(pack(asked[0]), pack(database), asked[1], labels, bits)])


def test_one_hit_and_then_none_wins_by_the_first_hundred_and_loses_when_balanced():
    items, positions = 400, np.arange(400)
    mixed = (positions == 0) | (positions >= items - 99)  # one relevant, all others at the end
    honest = (positions < 125) & (positions % 5 != 0)  # four in five, from the top
    assert mixed.sum() == honest.sum() == 100
    gamed, fair = ranked(mixed), ranked(honest)
    assert gamed["found"] == 1 > fair["found"]
    assert gamed["precision"] == 0.01
    assert fair["precision"] == 0.8
    assert measured("balanced", gamed) < 0.5 * measured("balanced", fair)


@pytest.mark.parametrize("figure", FIGURES)
def test_no_figure_makes_up_for_the_fall_of_another_by_the_same_factor(figure):
    better = {name: value * (1.2 if name == figure else 1) for name, value in HONEST.items()}
    assert measured("balanced", better) > measured("balanced", HONEST)
    for other in set(FIGURES) - {figure}:
        bought = better | {other: better[other] / 1.2}
        assert measured("balanced", bought) == pytest.approx(measured("balanced", HONEST))


def test_the_values_of_every_goal_by_hand():
    parts = [part(HONEST, GAMED, 0, 2.0), part(GAMED, GAMED, 1, 4.0)]
    p = {"first": (0.699 + 0.171) / 2, "second": 0.171}
    mean = (p["first"] + p["second"]) / 2
    expected = {
        "mean": (mean,),
        "first": (p["first"],),
        "second": (p["second"],),
        "directions": (p["first"], p["second"]),
        "seconds": (mean, 3.0),
    }
    for over in OVER:
        goal = Goal("precision", over)
        assert goal.values(parts) == pytest.approx(expected[over])
        assert len(goal.values(parts)) == len(goal.directions) == len(goal.titles) == 1 + goal.has_front
    assert Goal("precision", "seconds").directions == ("maximize", "minimize")
    assert Goal("precision", "directions").worth((0.2, 0.4)) == pytest.approx(0.3)
    assert Goal("precision", "seconds").worth((0.2, 0.4)) == 0.2


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_has_a_title_and_words(measure):
    goal = Goal(measure)
    assert goal.titles[0]
    assert MEASURES[measure] in goal.words


def test_unknown_goals_name_those_there_are():
    with pytest.raises(InputError, match="Unknown measure 'luck'; there are balanced, found"):
        Goal("luck")
    with pytest.raises(InputError, match="Unknown goal 'both'; there are mean"):
        Goal(over="both")

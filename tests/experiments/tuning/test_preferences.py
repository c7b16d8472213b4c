"""Tuning by eye: the Bradley–Terry model, the next pair, the suggested trial, and what is stored."""

from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from scipy.interpolate import RegularGridInterpolator
from scipy.optimize import brentq

from smfh.experiments.tuning import (
    Comparison,
    EyeChoice,
    FoldScores,
    Goal,
    Range,
    Trial,
    add_suggested,
    describe_knee,
    knee_of,
    next_comparison,
    pareto_front,
    ranks_by_eye,
    read_choices,
    save_choice,
    trial_rows,
    tune,
)
from smfh.experiments.tuning.preferences import (
    RIDGE,
    examples_of,
    fit_strengths,
    scale_settings,
    setting_at,
    suggest_setting,
)
from smfh.types import InputError

ALPHA, MU = Range("graph_weight", 0.01, 100, "log"), Range("projection_weight", 0, 50)
MEASURED = {"a → b": {"found": 0.5, "full": 0.5, "precision": 0.5}}


def make_trial(number, parameters, examples=None):
    """A complete trial; by default its results for query 7 are like no other trial's."""
    found = {7: (number, 1000 + number)} if examples is None else examples
    fold = FoldScores("planted", 0, 8, 1.0, MEASURED, found)
    return Trial(number, "complete", parameters, (0.5,), (fold,), None, None)


def choice(winner, loser, query=7):
    return EyeChoice(Comparison(*sorted((winner, loser)), query), winner)


def test_one_choice_by_hand():
    """With s_winner = s and s_loser = −s the derivative is −1 / (1 + exp(2s)) + λs = 0."""
    s = brentq(lambda s: RIDGE * s - 1 / (1 + np.exp(2 * s)), 0, 9)
    assert fit_strengths([choice(4, 2)]) == pytest.approx({2: -s, 4: s}, abs=1e-4)
    assert fit_strengths([choice(4, 2, 7), choice(2, 4, 8)]) == pytest.approx({2: 0, 4: 0}, abs=1e-4)
    assert fit_strengths([EyeChoice(Comparison(1, 2, 7), None)]) == {}


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_order_is_recovered(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(8).tolist()
    place = {number: k for k, number in enumerate(order)}
    pairs = [(a, b) for a in range(8) for b in range(a)]
    choices = [choice(*sorted(pair, key=place.__getitem__)) for pair in pairs]
    assert list(ranks_by_eye(choices)) == order
    strengths = fit_strengths(choices)
    assert sum(strengths.values()) == pytest.approx(0, abs=1e-4)


def choose_by_eye(plan, trials, likes, count):
    """Answer the pairs that are offered, by a planted taste."""
    by_number, choices = {trial.number: trial for trial in trials}, []
    for _ in range(count):
        pair = next_comparison(plan, trials, choices)
        numbers = (pair.first, pair.second)
        winner = max(numbers, key=lambda number: likes(by_number[number].parameters))
        choices.append(EyeChoice(pair, winner))
    return choices


@pytest.mark.parametrize("liked", [0.15, 0.5, 0.85])
def test_the_suggestion_moves_towards_the_preferred_region(make_plan, liked):
    plan = make_plan(ranges=(ALPHA, MU))
    points = np.random.default_rng(0).random((12, 2))
    trials = [make_trial(k, setting_at(plan.ranges, point)) for k, point in enumerate(points)]

    def miss(setting):
        return float(np.linalg.norm(scale_settings(plan.ranges, [setting])[0] - liked))

    choices = choose_by_eye(plan, trials, lambda setting: -miss(setting), 15)
    assert len({one.pair for one in choices}) == 15  # no pair is offered twice
    setting = suggest_setting(plan, trials, choices)
    assert setting not in [trial.parameters for trial in trials]
    assert all(setting[one.name] in one for one in plan.ranges)
    assert miss(setting) < np.median([miss(trial.parameters) for trial in trials])
    assert suggest_setting(plan, trials, choices) == setting


def simulate_user(plan, utility, noise, seed, way):
    """Return the utility of the trial that a simulated user has at the end, of 16 trials, by one of three ways.

    "by eye" and "random" begin with 6 random trials; the user compares two trials three times before each further
    one, preferring the one that looks better: utility and noise. "scores" is Optuna's TPE on scores with the noise.
    """
    rng = np.random.default_rng(seed)

    def look(setting):
        return utility(scale_settings(plan.ranges, [setting])[0]) + rng.normal(0, noise)

    if way == "scores":
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        for _ in range(16):
            trial = study.ask({one.name: FloatDistribution(0, 1) for one in plan.ranges})
            study.tell(trial, utility(np.array(list(trial.params.values()))) + rng.normal(0, noise))
        return utility(np.array(list(study.best_params.values())))
    trials = [make_trial(k, setting_at(plan.ranges, rng.random(2))) for k in range(6)]
    choices = []
    while len(trials) < 16:
        for _ in range(3):
            pair = next_comparison(plan, trials, choices)
            numbers = (pair.first, pair.second)
            choices.append(EyeChoice(pair, max(numbers, key=lambda number: look(trials[number].parameters))))
        suggested = way == "by eye" and suggest_setting(plan, trials, choices)
        trials.append(make_trial(len(trials), suggested or setting_at(plan.ranges, rng.random(2))))
    ranks = ranks_by_eye(choices)
    return utility(scale_settings(plan.ranges, [trials[min(ranks, key=ranks.__getitem__)].parameters])[0])


@pytest.mark.slow
def test_a_simulated_user_gets_further_by_eye_than_by_chance(studies, make_plan):
    """The true utility is the validation score of a map of α and μ, interpolated."""
    ranges = tuple(replace(one, points=5) for one in (ALPHA, Range("projection_weight", 0.1, 1000, "log")))
    study = studies.create(make_plan(ranges=ranges, way="sweep", folds=1))
    tune(study)
    grid = np.array([trial.values[0] for trial in study.trials[1:]]).reshape(5, 5)
    axis = np.linspace(0, 1, 5)
    utility = RegularGridInterpolator((axis, axis), (grid - grid.min()) / np.ptp(grid))
    reached = {
        way: [simulate_user(study.plan, lambda x: float(utility(x)[0]), 0.1, seed, way) for seed in range(12)]
        for way in ("by eye", "random", "scores")
    }
    means = {way: float(np.mean(values)) for way, values in reached.items()}
    print(means)  # the figures in the guide; 1: the best setting of the map, 0: the worst
    assert means["by eye"] > means["random"]


def test_settings_are_scaled_and_back():
    ranges = (ALPHA, MU, Range("bits", 8, 128, "log", whole=True))
    setting = {"graph_weight": 1.0, "projection_weight": 12.5, "bits": 32}
    (point,) = scale_settings(ranges, [setting])
    assert point == pytest.approx([0.5, 0.25, 0.5])
    assert setting_at(ranges, point) == setting
    outside = {"graph_weight": 0.0, "projection_weight": 99, "bits": 8}  # a start may lie outside
    assert scale_settings(ranges, [outside])[0].tolist() == [0, 1, 0]


def test_the_most_uncertain_pair_is_next_and_equal_results_are_not_compared(make_plan):
    plan = make_plan(ranges=(MU,))
    trials = [make_trial(k, {"projection_weight": x}) for k, x in enumerate((0.0, 25.0, 50.0))]
    assert next_comparison(plan, trials, []) == Comparison(0, 2, 7)  # they differ most
    decided = [choice(2, 0), choice(2, 1)]
    assert next_comparison(plan, trials, decided) == Comparison(0, 1, 7)
    skipped = EyeChoice(Comparison(0, 1, 7), None)
    assert next_comparison(plan, trials, [*decided, skipped]) is None
    same = [make_trial(k, {"projection_weight": k}, {7: (1, 2)}) for k in range(3)]
    assert next_comparison(plan, same, []) is None
    assert next_comparison(plan, trials[:1], []) is None
    two = [make_trial(k, {"projection_weight": k}, {7: (1, 2), 8: (k, 9)}) for k in range(2)]
    assert next_comparison(plan, two, []).query == 8


def test_choices_are_stored_with_the_study_and_suggest_a_trial(studies, make_plan):
    study = studies.create(make_plan(trials=8, folds=1))
    tune(study)
    assert "by eye" not in trial_rows(study)[0]
    with pytest.raises(InputError, match="at least 3 choices; there are 0"):
        add_suggested(study)
    for _ in range(3):
        pair = next_comparison(study.plan, study.trials, read_choices(study))
        save_choice(study, pair, pair.second)
    save_choice(study, pair, pair.first)  # replaces the last one
    again = studies.rename("small", "renamed")
    choices = read_choices(again)
    assert len(choices) == 3
    assert EyeChoice(pair, pair.first) in choices
    ranks = ranks_by_eye(choices)
    assert [row["by eye"] for row in trial_rows(again)] == [ranks.get(k) for k in range(8)]
    setting = add_suggested(again)
    assert again.trials[-1].parameters == setting
    tune(again)
    assert again.trials[-1].state == "complete"
    assert again.trials[-1].parameters == setting


def test_choices_of_two_visitors_are_both_kept_and_each_is_asked_again(studies, make_plan):
    study = studies.create(make_plan(trials=3, folds=1))
    tune(study)
    study.optuna.set_user_attr("choice 0 1 5", None)  # of an earlier version, which did not store the visitor
    asked = {who: next_comparison(study.plan, study.trials, read_choices(study), who) for who in ("ann", "bob")}
    assert asked["ann"] == asked["bob"]
    pair = asked["ann"]
    save_choice(study, pair, None, "ann")
    assert next_comparison(study.plan, study.trials, read_choices(study), "bob") == pair
    assert next_comparison(study.plan, study.trials, read_choices(study), "ann") != pair
    save_choice(study, pair, pair.first, "ann")
    save_choice(study, pair, pair.second, "bob")
    save_choice(study, pair, None, "bob")  # replaces only the visitor's own
    own = {one.visitor: one.winner for one in read_choices(study) if one.pair == pair}
    assert own == {"ann": pair.first, "bob": None}
    assert EyeChoice(Comparison(0, 1, 5), None) in read_choices(study)


def test_a_suggested_trial_is_never_stopped_early(studies, make_plan, monkeypatch):
    monkeypatch.setattr(optuna.pruners.MedianPruner, "prune", lambda *_: True)
    study = studies.create(make_plan(trials=8, folds=2))
    tune(study)
    assert [trial.state for trial in study.trials] == ["complete"] + ["pruned"] * 7
    low, high = ({"graph_weight": alpha, "ridge": 0.01} for alpha in (0.2, 9.0))
    study.optuna.enqueue_trial(low)
    study.optuna.enqueue_trial(high)
    tune(study)
    pair = next_comparison(study.plan, study.trials, ())
    save_choice(study, pair, pair.second)
    for query in sorted(set(examples_of(study.trials[-1])) - {pair.query})[:2]:
        save_choice(study, replace(pair, query=query), pair.second)
    setting = add_suggested(study)
    tune(study)
    suggested = study.trials[-1]
    assert (suggested.parameters, suggested.state, len(suggested.folds)) == (setting, "complete", 2)
    assert examples_of(suggested)  # so it can be judged by eye


def test_invalid_choices_are_refused(studies, make_plan):
    study = studies.create(make_plan(trials=2, folds=1))
    tune(study)
    query = min(examples_of(study.trials[0]))
    for pair, winner in (((0, 1, query), 5), ((1, 0, query), 1), ((0, 1, -1), 1), ((0, 9, query), 0)):
        with pytest.raises(InputError):
            save_choice(study, Comparison(*pair), winner)
    assert read_choices(study) == ()
    study.optuna.set_user_attr("choice 0 1 x", 0)
    with pytest.raises(InputError):
        read_choices(study)


def test_pareto_front():
    scores, seconds = (0.5, 0.7, 0.6, 0.6, 0.5), (1, 3, 2, 4, 1)
    faster = {k: (score, -float(time)) for k, (score, time) in enumerate(zip(scores, seconds, strict=True))}
    assert list(pareto_front(faster)) == [0, 1, 2, 4]
    assert list(pareto_front({k: (score, -time) for k, (score, time) in faster.items()})) == [1, 3]


def test_knee_of_a_front():
    front = {3: (0.60, 0.40), 7: (0.58, 0.50), 1: (0.50, 0.52)}
    assert knee_of(front) == 7  # 0.8 + 0.83 − 1 beyond the line
    assert describe_knee(front, 7, Goal("found", "directions")) == (
        "Knee: trial 7 gives up 0.020 of the mAP@100 in the first direction for 0.100 in the second, "
        "compared with trial 3."
    )
    by_time = {3: (0.6, -9.0), 7: (0.596, -2.0), 1: (0.5, -1.5)}
    assert knee_of(by_time) == 7
    assert "gives up 0.004 of the balanced score to save 7 training seconds, compared with trial 3" in (
        describe_knee(by_time, 7, Goal(over="seconds"))
    )
    assert knee_of({1: (1, 0), 2: (0.2, 0.2), 3: (0, 1)}) is None  # the front bends inwards
    assert knee_of({1: (1, 0), 2: (0, 1)}) is None
    assert knee_of({1: (1, 0), 2: (1, 0), 3: (1, 0)}) is None

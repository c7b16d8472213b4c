"""Tuning by eye: learn which settings people prefer from their choices between two trials' results.

A Bradley–Terry model gives each compared trial a strength s, with λ = RIDGE:

    P(i preferred to j) = 1 / (1 + exp(s_j − s_i))
    s = argmin Σ_choices log(1 + exp(s_loser − s_winner)) + λ/2 Σ_i s_i²

A Gaussian process over the parameters, each scaled to 0 … 1, predicts the strengths of other settings. The
next trial has the highest mean(x) + EXPLORATION · sd(x) among random settings.

The preferential sampler of Optuna Dashboard needs PyTorch, so a Bradley–Terry model is used instead.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from smfh.experiments.tuning.plan import DIGITS, MAX_TRIALS, Range, StudyPlan
from smfh.experiments.tuning.storage import errors_in_words
from smfh.experiments.tuning.study import Study, Trial
from smfh.types import FloatArray, InputError

# attribute of a study: "choice FIRST SECOND QUERY VISITOR" → number of the preferred trial, None: skipped
ATTRIBUTE = "choice"
RIDGE = 0.5
LENGTH_SCALE, NOISE = 0.3, 0.1  # of the Gaussian process: for one parameter, and relative to the variance
EXPLORATION = 0.5
CANDIDATES = 2000
NEIGHBOURS = 4  # trials near a compared one that are compared next
MIN_CHOICES = 3  # before a trial is suggested


@dataclass(frozen=True)
class Comparison:
    """Two trials whose results for one validation query are compared; `first` < `second`."""

    first: int
    second: int
    query: int  # row of the query, as in FoldScores.examples


@dataclass(frozen=True)
class EyeChoice:
    """A visitor's answer to a comparison of two trials."""

    pair: Comparison
    winner: int | None  # number of the preferred trial; None if the comparison was skipped
    visitor: str = ""  # who chose; "" if unknown


def read_choices(study: Study) -> tuple[EyeChoice, ...]:
    """Return the choices between trials that all visitors have stored with a study."""
    choices = []
    with study.reading():
        for name, winner in sorted(study.optuna.user_attrs.items()):
            if name.startswith(f"{ATTRIBUTE} "):
                _, *numbers = name.split()
                pair, visitor = Comparison(*map(int, numbers[:3])), "".join(numbers[3:])
                if winner not in (pair.first, pair.second, None):
                    raise InputError(
                        f"A choice between {pair.first} and {pair.second} must be one of the two or null; "
                        f"got {winner!r:.40}."
                    )
                choices.append(EyeChoice(pair, winner, visitor))
    return tuple(choices)


def save_choice(study: Study, pair: Comparison, winner: int | None, visitor: str = "") -> None:
    """Store a visitor's choice with the study; it replaces their earlier one of the same trials and query."""
    examples = {trial.number: examples_of(trial) for trial in study.trials}
    if not pair.first < pair.second or winner not in (pair.first, pair.second, None):
        raise InputError(f"Choose between trials {pair.first} and {pair.second}; got {winner}.")
    if any(pair.query not in examples.get(number, {}) for number in (pair.first, pair.second)):
        raise InputError(f"Trials {pair.first} and {pair.second} have no results for this query.")
    with errors_in_words(study.key.address):
        study.optuna.set_user_attr(f"{ATTRIBUTE} {pair.first} {pair.second} {pair.query} {visitor}".strip(), winner)


def examples_of(trial: Trial) -> Mapping[int, Sequence[int]]:
    """Return a complete trial's results on validation queries: row of the query → rows of the results."""
    return trial.folds[0].examples if trial.state == "complete" and trial.folds else {}


def fit_strengths(choices: Sequence[EyeChoice]) -> dict[int, float]:
    """Return the strength of each compared trial, by the equation at the top of this module."""
    decided = [(one.winner, one.pair) for one in choices if one.winner is not None]
    numbers = sorted({number for _, pair in decided for number in (pair.first, pair.second)})
    place = {number: k for k, number in enumerate(numbers)}
    signs = np.zeros((len(decided), len(numbers)))  # a row per choice: 1 for the winner, −1 for the loser
    for row, (winner, pair) in zip(signs, decided, strict=True):
        row[place[pair.first]] = row[place[pair.second]] = -1
        row[place[winner]] = 1

    def loss(s: FloatArray) -> tuple[float, FloatArray]:
        margins = signs @ s
        value = np.logaddexp(0, -margins).sum() + RIDGE / 2 * s @ s
        return float(value), RIDGE * s - signs.T @ expit(-margins)

    strengths = minimize(loss, np.zeros(len(numbers)), jac=True, method="L-BFGS-B").x if decided else np.zeros(0)
    return dict(zip(numbers, strengths.tolist(), strict=True))


def ranks_by_eye(choices: Sequence[EyeChoice]) -> dict[int, int]:
    """Return the rank of each compared trial, 1 for the strongest, by trial number."""
    strengths = fit_strengths(choices)
    order = sorted(strengths, key=lambda number: (-strengths[number], number))
    return {number: rank for rank, number in enumerate(order, start=1)}


def scale_settings(ranges: Sequence[Range], settings: Sequence[Mapping[str, float]]) -> FloatArray:
    """Return settings as points with coordinates 0 to 1, (settings, parameters); values are clipped to their ranges."""
    points = np.zeros((len(settings), len(ranges)))
    for k, one in enumerate(ranges):
        values = np.clip([own[one.name] for own in settings], one.low, one.high)
        place = np.log if one.scale == "log" else np.asarray
        points[:, k] = (place(values) - place(one.low)) / (place(one.high) - place(one.low))
    return points


def setting_at(ranges: Sequence[Range], point: FloatArray) -> dict[str, float]:
    """Return the setting at a point scaled by `scale_settings`, rounded like the values of a sweep."""
    setting: dict[str, float] = {}
    for one, x in zip(ranges, point.tolist(), strict=True):
        is_log, size = one.scale == "log", one.high - one.low
        value = one.low * (one.high / one.low) ** x if is_log else one.low + size * x
        rounded = round(value) if one.whole else float(f"{value:.{DIGITS}g}")
        setting[one.name] = min(max(rounded, one.low), one.high)
    return setting


def fit_process(points: Mapping[int, FloatArray], strengths: Mapping[int, float], parameters: int) -> Any:
    """Return a Gaussian process fitted to the trials' strengths, or its prior if there are none yet."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern

    kernel = Matern(length_scale=LENGTH_SCALE * np.sqrt(parameters), nu=2.5)
    process = GaussianProcessRegressor(kernel, alpha=NOISE, optimizer=None, normalize_y=True)
    known = {number: strength for number, strength in strengths.items() if number in points}
    if known:
        process.fit(np.array([points[number] for number in known]), np.array(list(known.values())))
    return process


def next_comparison(
    plan: StudyPlan, trials: Sequence[Trial], choices: Sequence[EyeChoice], visitor: str = ""
) -> Comparison | None:
    """Return the comparison whose outcome is most uncertain; None if this visitor has made all of them.

    Candidates are the compared trials, the one with the best score, and the trials nearest to these. For
    the difference d of two strengths, with mean m and variance v, P(d > 0) ≈ 1 / (1 + exp(−m / √(1 + πv/8))).
    The most uncertain pair has P nearest to 1/2, and the largest v if tied; skipped pairs come last. Its
    query is the one with the most different results; trials with the same results are not compared.
    """
    shown = [trial for trial in trials if examples_of(trial)]
    if len(shown) < 2:
        return None
    at = scale_settings(plan.ranges, [trial.parameters for trial in shown])
    points = {trial.number: at[k] for k, trial in enumerate(shown)}
    strengths = fit_strengths(choices)
    best = max(shown, key=lambda trial: plan.goal.worth(trial.values)).number
    apart = np.linalg.norm(at[:, None] - at, axis=2)
    seeds = [k for k, number in enumerate(points) if number in strengths or number == best]
    near = set(np.argsort(apart[seeds], axis=1, kind="stable")[:, : NEIGHBOURS + 1].ravel().tolist())
    mean, covariance = fit_process(points, strengths, at.shape[1]).predict(at, return_cov=True)
    own = [one for one in choices if one.visitor == visitor]
    skipped = Counter((one.pair.first, one.pair.second) for one in own if one.winner is None)

    def doubt(pair: tuple[int, int]) -> tuple[int, float, float]:
        i, j = pair
        v = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        p = expit((mean[i] - mean[j]) / np.sqrt(1 + np.pi * max(v, 0.0) / 8))
        skips = skipped[shown[i].number, shown[j].number]
        return skips, round(abs(float(p) - 0.5), 9), -float(v)

    answered = {one.pair for one in own}
    for pool in (sorted(near), range(len(shown))):  # all trials only if the near ones are compared
        for i, j in sorted(combinations(pool, 2), key=doubt):
            first, second, sizes = examples_of(shown[i]), examples_of(shown[j]), dict[Comparison, tuple[int, int]]()
            for query in sorted(first.keys() & second.keys()):
                one, other = first[query], second[query]
                different = len(set(one) - set(other)), sum(a != b for a, b in zip(one, other, strict=False))
                pair = Comparison(shown[i].number, shown[j].number, query)
                if different > (0, 0) and pair not in answered:
                    sizes[pair] = different
            if sizes:
                return max(sizes, key=sizes.__getitem__)
    return None


def suggest_setting(plan: StudyPlan, trials: Sequence[Trial], choices: Sequence[EyeChoice]) -> dict[str, float]:
    """Return the untried setting with the highest mean + EXPLORATION · sd of the Gaussian process.

    Raises
    ------
    InputError
        If there are fewer than MIN_CHOICES choices, or if all settings in the ranges have been tried.
    """
    if (decided := sum(one.winner is not None for one in choices)) < MIN_CHOICES:
        raise InputError(f"A suggestion needs at least {MIN_CHOICES} choices; there are {decided}.")
    chosen = [trial for trial in trials if trial.parameters]
    at = scale_settings(plan.ranges, [trial.parameters for trial in chosen])
    points = {trial.number: at[k] for k, trial in enumerate(chosen)}
    rng = np.random.default_rng([plan.method.seed, len(trials), len(choices)])
    settings = [setting_at(plan.ranges, point) for point in rng.random((CANDIDATES, len(plan.ranges)))]
    tried = [trial.parameters for trial in chosen]
    if not (new := [setting for setting in settings if setting not in tried]):
        raise InputError("All settings in the ranges of this study have already been tried.")
    process = fit_process(points, fit_strengths(choices), len(plan.ranges))
    mean, sd = process.predict(scale_settings(plan.ranges, new), return_std=True)
    return new[int(np.argmax(mean + EXPLORATION * sd))]


def add_suggested(study: Study) -> dict[str, float]:
    """Add a waiting trial to the study with the setting that the choices suggest; return the setting."""
    trials = study.trials
    if len(trials) >= MAX_TRIALS:
        raise InputError(f"A study has at most {MAX_TRIALS} trials; {study.name!r} has {len(trials)}.")
    setting = suggest_setting(study.plan, trials, read_choices(study))
    with errors_in_words(study.key.address):
        study.optuna.enqueue_trial(setting)
    return setting

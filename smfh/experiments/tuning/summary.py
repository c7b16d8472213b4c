"""Summarise the findings of a study in sentences."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import optuna

from smfh.experiments.tuning.held_out import ALL, confirmations
from smfh.experiments.tuning.study import Study, Trial, number_of
from smfh.metrics.significance import signed
from smfh.types import FloatArray, parameters

TOP = 10  # number of best trials that are compared
FLAT = 0.005  # a smaller difference in score does not matter
IMPORTANT, UNIMPORTANT = 0.3, 0.1  # shares of the variance: at least, and below
MIN_ERRORS = 2.0  # a clear gain exceeds so many standard errors
MIN_TRIALS = 8  # complete trials needed to compute importance
STATE_WORDS = {"pruned": "stopped early"}


@dataclass(frozen=True)
class Summary:
    """The findings of a study as sentences, and the numbers in them."""

    lines: tuple[str, ...]
    start: Trial | None  # the starting point (trial 0)
    best: Trial | None
    gain: float | None  # of the best trial over trial 0
    gain_error: float | None  # standard error of the gain over the folds; None with one fold
    importance: Mapping[str, float]


def summarise(study: Study) -> Summary:
    """Return the findings of a study so far, as sentences and numbers."""
    trials, goal, best, about = study.trials, study.plan.goal, study.best, parameters(study.plan.method)
    complete = [trial for trial in trials if trial.state == "complete"]
    start = next((trial for trial in complete if trial.is_start), None)
    states, importance, gain, error = [trial.state for trial in trials], importances(study), None, None
    counts = ", ".join(f"{states.count(state)} {STATE_WORDS.get(state, state)}" for state in dict.fromkeys(states))
    text = f"{len(states)} trials ({counts})" if len(set(states)) > 1 else f"{counts} trials"
    sets, folds = ", ".join(source.card.title for source in study.plan.sources), study.plan.folds
    text += f" on {folds} validation fold{'s' * (folds > 1)} of the training items of {sets}"
    lines = [f"{text}; no trial uses the held-out queries."]
    if best is not None:
        lines.append(f"Best {goal.title} {goal.worth(best.values):.3f} with {setting_in_words(study, best)}.")
    if best is not None and start is not None and not best.is_start:
        pairs = zip(best.folds, start.folds, strict=True)
        gains = np.array([goal.worth(goal.of_fold(fold)) - goal.worth(goal.of_fold(before)) for fold, before in pairs])
        gain = float(gains.mean())
        text = f"The starting point has {goal.worth(start.values):.3f}: {signed(gain)}"
        if len(gains) == 1:
            text += ". One fold cannot show whether this is more than chance."
        else:
            error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
            text += f" ± {error:.3f} over {len(gains)} folds (standard error)"
            if gain > MIN_ERRORS * error:
                text += ", a clear gain. But the best of many trials always looks better than it is."
            else:
                text += ": no clear difference between the best trial and the starting point."
        lines.append(text)
    if (near := near_best(study)) is not None:
        low, high = (float(f"{end:.2g}") for end in near)
        symbol = about[study.plan.ranges[0].name].symbol
        lines.append(f"With any {symbol} from {low:g} to {high:g}, the score is within one standard error of the best.")
    if len(importance) > 1:  # a single parameter explains all of the variance
        texts = {name: f"{about[name].symbol} ({share:.0%})" for name, share in importance.items()}
        if most := [texts[name] for name, share in importance.items() if share >= IMPORTANT]:
            lines.append(f"Most important, by share of the variance between trials: {', '.join(most)}.")
        if least := [texts[name] for name, share in importance.items() if share < UNIMPORTANT]:
            lines.append(f"Least important: {', '.join(least)}.")
    if not goal.has_front and len(complete) > TOP:
        values = sorted((trial.values[0] for trial in complete), reverse=True)[:TOP]
        flat = ": choose any of them" if values[0] - values[-1] < FLAT else ""
        lines.append(f"The ten best trials differ by at most {values[0] - values[-1]:.3f}{flat}.")
    if len(complete) >= 3:
        top, whole = (max(complete, key=lambda trial: trial.measure(name)) for name in ("found", "full"))
        top_loss = top.measure("found") - whole.measure("found")
        whole_loss = whole.measure("full") - top.measure("full")
        if top.number != whole.number and min(top_loss, whole_loss) >= FLAT:
            lines.append(
                "Trade-off: mAP@100 and whole-ranking mAP peak at different values. The trial with the best mAP@100 "
                f"({setting_in_words(study, top)}) loses {whole_loss:.3f} in whole-ranking mAP; the trial with the "
                f"best whole-ranking mAP ({setting_in_words(study, whole)}) loses {top_loss:.3f} in mAP@100."
            )
    tested = confirmations(study)
    lines += [line for one in tested.values() for line in one.lines if ALL in line]
    if len(tested) > 1:
        lines.append(
            f"This study made {len(tested)} tests on the held-out queries, so each interval is wider. Choosing among "
            "the tested trials by these scores would be tuning on the queries."
        )
    return Summary(tuple(lines), start, best, gain, error, importance)


def levelled_folds(study: Study) -> dict[int, FloatArray]:
    """Return the scores of complete trials on each fold, without the differences between the folds.

    Some folds are harder for all trials. For the score s_tf of trial t on fold f, this difference is removed:
    s_tf − mean_t(s_tf) + mean(s).
    """
    by_number = {one.number: one.by_fold(study.plan.goal) for one in study.trials if one.state == "complete"}
    scores = np.array(list(by_number.values()))
    levelled = scores - scores.mean(axis=0) + scores.mean() if len(scores) else scores
    return dict(zip(by_number, levelled, strict=True))


def standard_error(folds: Mapping[int, FloatArray]) -> float | None:
    """Return the standard error of a trial's score, estimated from all trials; None with one fold or trial.

    √(Σ r² / ((T − 1)(F − 1)) / F), where r are the residuals of the scores of T trials on F folds after
    subtracting the means of the trials and of the folds.
    """
    scores = np.array(list(folds.values()))
    if scores.ndim < 2 or min(scores.shape) < 2:
        return None
    rest = scores - scores.mean(axis=1, keepdims=True) - scores.mean(axis=0) + scores.mean()
    trials, count = scores.shape
    return float(np.sqrt(np.square(rest).sum() / ((trials - 1) * (count - 1)) / count))


def near_best(study: Study) -> tuple[float, float] | None:
    """Return the range of a swept parameter in which scores are within one standard error of the best score.

    None if several parameters are tuned, or if there is no standard error.
    """
    folds = levelled_folds(study)
    error = standard_error(folds)
    if len(study.plan.ranges) > 1 or error is None:
        return None
    (one,) = study.plan.ranges
    places = {trial.number: trial.parameters[one.name] for trial in study.trials if trial.number in folds}
    order = sorted((n for n in folds if places[n] > 0 or one.scale != "log"), key=places.__getitem__)
    if not order:
        return None
    x, y = np.array([places[n] for n in order]), np.array([folds[n].mean() for n in order])
    x = np.log(x) if one.scale == "log" else x
    best, level = int(y.argmax()), y.max() - error
    ends = []
    for step in (-1, 1):  # interpolated between the last value within and the first one beyond
        k = best
        while 0 <= k + step < len(y) and y[k + step] >= level:
            k += step
        end = x[k]
        if 0 <= k + step < len(y):
            end += (x[k + step] - x[k]) * (y[k] - level) / (y[k] - y[k + step])
        ends.append(float(np.exp(end) if one.scale == "log" else end))
    return ends[0], ends[1]


def importances(study: Study, among: Collection[int] | None = None) -> dict[str, float]:
    """Return the share of the score's variance that each parameter explains (fANOVA), the largest first.

    All complete trials in the ranges are used (trial 0 may lie outside), or only those whose numbers are in
    `among`. Empty if there are fewer than MIN_TRIALS trials, or if all have the same score.
    """
    worth, names = study.plan.goal.worth, {one.name for one in study.plan.ranges}
    complete = study.optuna.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    chosen = [one for one in complete if names <= one.params.keys() and (among is None or number_of(one) in among)]
    if len(chosen) < MIN_TRIALS or len({worth(one.values) for one in chosen}) < 2:
        return {}
    inner = optuna.create_study(directions=study.plan.goal.directions)
    inner.add_trials(chosen)
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    shares = optuna.importance.get_param_importances(
        inner, evaluator=evaluator, target=lambda trial: worth(trial.values)
    )
    return {name: float(share) for name, share in shares.items()}


def setting_in_words(study: Study, trial: Trial) -> str:
    """Return a trial's tuned parameters as text, such as α 41.2, m 1,000."""
    about = parameters(study.plan.method)
    texts = {
        name: f"{value:,}" if isinstance(value, int) else np.format_float_positional(float(f"{value:.3g}"), trim="-")
        for name, value in trial.parameters.items()
    }
    return ", ".join(f"{about[name].symbol} {text}" for name, text in texts.items())

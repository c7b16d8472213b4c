"""What a study says, in words."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from smfh.significance import signed
from smfh.tuning.confirmation import ALL, confirmations
from smfh.tuning.importance import importances
from smfh.tuning.study import Study, Trial
from smfh.types import FloatArray, parameters

TOP = 10  # trials that are looked at for how flat the top is
FLAT = 0.005  # a spread below it decides nothing
MATTERS, LITTLE = 0.3, 0.1  # shares of the variance
ERRORS = 2.0  # a gain below so many standard errors over the parts is not called one


@dataclass(frozen=True)
class Summary:
    """The finding, and what it rests on."""

    lines: tuple[str, ...]
    start: Trial | None
    best: Trial | None
    gain: float | None  # of the best over the start, in the goal's first objective
    gain_error: float | None  # its standard error over the parts; None with a single one
    importance: Mapping[str, float]


def summarise(study: Study) -> Summary:
    """What was found so far; every line is a sentence or two."""
    trials, goal, best = study.trials, study.plan.goal, study.best
    start = next((trial for trial in trials if trial.is_start and trial.state == "complete"), None)
    importance = importances(study)
    lines, gain, error = [_counted(study)], None, None
    if best is not None:
        lines.append(f"Best {goal.titles[0]} {best.values[0]:.3f} with {setting_in_words(study, best)}.")
    if best is not None and start is not None and not best.is_start:
        gains = paired_gains(study, best, start)
        gain = float(gains.mean())
        error = float(gains.std(ddof=1) / np.sqrt(len(gains))) if len(gains) > 1 else None
        lines.append(_gained(start, gain, error, len(gains)))
    lines += [*_mattered(study, importance), *_flatness(study, trials), *_trap(study, trials)]
    lines += _confirmed(study)
    return Summary(tuple(lines), start, best, gain, error, importance)


def setting_in_words(study: Study, trial: Trial) -> str:
    """Such as α 41.2, m 1,000."""
    about = parameters(study.plan.method)
    told = {
        name: f"{value:,}" if isinstance(value, int) else f"{float(f'{value:.3g}'):g}"
        for name, value in trial.parameters.items()
    }
    return ", ".join(f"{about[name].symbol} {text}" for name, text in told.items())


def paired_gains(study: Study, trial: Trial, start: Trial) -> FloatArray:
    """What the trial gains over the start on each part, in the goal's first objective."""
    goal, pairs = study.plan.goal, zip(trial.parts, start.parts, strict=True)
    return np.array([goal.of_part(part)[0] - goal.of_part(before)[0] for part, before in pairs])


def _counted(study: Study) -> str:
    states = [trial.state for trial in study.trials]
    told = [f"{states.count(state)} {state}" for state in dict.fromkeys(states)]
    sets = ", ".join(source.card.title for source in study.plan.sources)
    folds = study.plan.folds
    return (
        f"{len(states)} trials ({', '.join(told)}) on {folds} validation part{'s' * (folds > 1)} of the "
        f"training rows of {sets}; no trial sees the queries."
    )


def _gained(start: Trial, gain: float, error: float | None, parts: int) -> str:
    said = f"The start has {start.values[0]:.3f}: {signed(gain)}"
    if error is None:
        return f"{said}. With one part nobody can tell whether that is more than chance."
    said += f" ± {error:.3f} over {parts} parts (standard error)"
    if gain > ERRORS * error:
        return f"{said}, more than the parts vary; as the best of many it is flattered all the same."
    return f"{said}: the start and the best cannot be told apart."


def _mattered(study: Study, importance: Mapping[str, float]) -> list[str]:
    if len(importance) < 2:  # one alone explains everything
        return []
    about = parameters(study.plan.method)
    told = {name: f"{about[name].symbol} ({share:.0%})" for name, share in importance.items()}
    much = [told[name] for name, share in importance.items() if share >= MATTERS]
    little = [told[name] for name, share in importance.items() if share < LITTLE]
    lines = [f"What mattered: {', '.join(much)} of the variance between trials."] if much else []
    return lines + ([f"What hardly did: {', '.join(little)}."] if little else [])


def _flatness(study: Study, trials: tuple[Trial, ...]) -> list[str]:
    if study.plan.goal.has_front:
        return []
    values = sorted((trial.values[0] for trial in trials if trial.state == "complete"), reverse=True)[:TOP]
    if len(values) < TOP:
        return []
    spread = values[0] - values[-1]
    flat = ": the top is flat, and any of them will do" if spread < FLAT else ""
    return [f"The {TOP} best lie within {spread:.3f}{flat}."]


def _trap(study: Study, trials: tuple[Trial, ...]) -> list[str]:
    """Whether the first hundred and the whole ranking want different values."""
    complete = [trial for trial in trials if trial.state == "complete"]
    if len(complete) < 3:
        return []
    top, whole = (max(complete, key=lambda t: t.measure(name)) for name in ("found", "full"))
    lost = {
        "found": top.measure("found") - whole.measure("found"),
        "full": whole.measure("full") - top.measure("full"),
    }
    if top.number == whole.number or min(lost.values()) < FLAT:
        return []
    return [
        f"A trap: mAP@100 and mAP over the whole ranking want different values. The best of the "
        f"first ({setting_in_words(study, top)}) is {lost['full']:.3f} worse in the second, the best of "
        f"the second ({setting_in_words(study, whole)}) {lost['found']:.3f} worse in the first."
    ]


def _confirmed(study: Study) -> list[str]:
    """What was seen on the queries, and what that does to the next look at them."""
    found = confirmations(study)
    lines = [line for one in found.values() for line in one.lines if ALL in line]
    if len(found) > 1:
        lines.append(
            f"{len(found)} trials were confirmed: to choose among them by their scores on the queries would "
            "be tuning on the queries."
        )
    return lines

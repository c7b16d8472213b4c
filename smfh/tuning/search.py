"""The choice of weights on validation data, by Optuna."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from smfh.hashing import HashMethod
from smfh.tuning.validation import ValidationSearch, ValidationSet, validation_scores
from smfh.types import parameters

TUNED = ("graph_weight", "projection_weight", "orthogonality_weight", "ridge")
REACH = 10.0  # a weight is sought between its default divided and multiplied by this


@dataclass(frozen=True)
class Trial:
    """One setting and how it did; `gain` is over the starting point, paired search by search."""

    parameters: Mapping[str, float]
    score: float
    gain: float
    gain_error: float  # standard error of the gain over the searches
    by_set: Mapping[str, float]


@dataclass(frozen=True)
class Tuning:
    """All trials, best first, and the starting point."""

    start: Trial
    trials: Sequence[Trial]


def tune(
    method: HashMethod,
    sets: Sequence[ValidationSet],
    bits: Sequence[int],
    trials: int,
    on_trial: Callable[[Trial], None] | None = None,
) -> Tuning:
    """Seek the weights with the best mean mAP@100 over sets, folds, bits, directions and protocols."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=method.seed))
    start = {name: float(getattr(method, name)) for name in TUNED if name in parameters(method)}
    study.enqueue_trial(start)
    finished: list[Trial] = []
    baseline: dict[ValidationSearch, float] = {}

    def objective(trial: optuna.Trial) -> float:
        weights = {
            name: trial.suggest_float(name, value / REACH, value * REACH, log=True)
            for name, value in start.items()
        }
        scores = validation_scores(method.set_params(**weights), sets, bits)
        baseline.update(scores if not finished else {})
        finished.append(_judge(weights, scores, baseline))
        if on_trial is not None:
            on_trial(finished[-1])
        return finished[-1].score

    study.optimize(objective, n_trials=trials)
    return Tuning(finished[0], sorted(finished, key=lambda trial: -trial.score))


def _judge(
    weights: Mapping[str, float],
    scores: Mapping[ValidationSearch, float],
    baseline: Mapping[ValidationSearch, float],
) -> Trial:
    gains = np.array([scores[search] - baseline[search] for search in scores])
    names = dict.fromkeys(search[0] for search in scores)
    by_set = {name: float(np.mean([scores[s] for s in scores if s[0] == name])) for name in names}
    return Trial(
        parameters=dict(weights),
        score=float(np.mean(list(by_set.values()))),
        gain=float(gains.mean()),
        gain_error=float(gains.std(ddof=1) / np.sqrt(len(gains))),
        by_set=by_set,
    )

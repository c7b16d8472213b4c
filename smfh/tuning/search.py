"""Many runs: scores in every direction, over seeds, and the choice of parameters on validation data."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from smfh.datasets import DatasetSource, carve_validation, validation_as_queries
from smfh.evaluation import PROTOCOLS, evaluate
from smfh.hashing import FittedHasher, HashMethod
from smfh.metrics import AP_DEFINITIONS, APDefinition
from smfh.types import MultimodalDataset, OnStep, RetrievalResult, Split, parameters

VALIDATION_SHARE = 0.25
TUNED = ("graph_weight", "projection_weight", "orthogonality_weight", "ridge")
REACH = 10.0  # a weight is sought between its default divided and multiplied by this


def direction_scores(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    definition: APDefinition = AP_DEFINITIONS["found"],
    protocols: Sequence[str] = ("training", "unseen"),
) -> dict[str, dict[str, float]]:
    """The scores of every direction `source->target`, by either protocol."""
    table: dict[str, dict[str, float]] = {}
    for source, target in hasher.directions:
        row: dict[str, float] = {}
        for protocol in protocols:
            scores = evaluate(hasher, data, split, source, target, protocol, definition).scores
            suffix = "" if protocol == "training" else "_unseen"
            row |= {
                f"map{suffix}": scores.mean_average_precision,
                f"p_at_100{suffix}": scores.precision_at_100,
                f"map_tie_aware{suffix}": scores.tie_aware,
                f"map_worst{suffix}": scores.worst,
                f"map_best{suffix}": scores.best,
                f"chance{suffix}": scores.chance,
                f"queries_without_relevant{suffix}": scores.queries_without_relevant,
            }
        table[f"{source}->{target}"] = row
    return table


@dataclass(frozen=True, eq=False)
class Trained:
    """A model and every search that its pages show, so that looking computes nothing."""

    hasher: FittedHasher
    results: Mapping[tuple[str, str, str], RetrievalResult]  # by source, target and protocol


def train_and_search(method: HashMethod, data: MultimodalDataset, split: Split, on_step: OnStep) -> Trained:
    """Fit on the training rows, then search in every direction by both protocols."""
    return search_every_way(method.fit(data.take(split.train), on_step), data, split)


def search_every_way(hasher: FittedHasher, data: MultimodalDataset, split: Split) -> Trained:
    """In every direction by both protocols."""
    results = {
        (source, target, protocol): evaluate(hasher, data, split, source, target, protocol)
        for source, target in hasher.directions
        for protocol in PROTOCOLS
    }
    return Trained(hasher, results)


def usual_direction(trained: Trained) -> tuple[str, str]:
    """Text to image where there are such modalities."""
    directions = trained.hasher.directions
    return ("text", "image") if ("text", "image") in directions else directions[0]


def typical_query(result: RetrievalResult) -> int:
    """The query in the middle: half of all do better, half worse."""
    return int(np.argsort(result.average_precision, kind="stable")[len(result.average_precision) // 2])


@dataclass(frozen=True)
class ValidationSet:
    """Training rows of one data set, a part of them asking; its queries are not in here."""

    name: str
    data: MultimodalDataset
    split: Split


def validation_sets(sources: Sequence[DatasetSource], folds: int, seed: int) -> Iterator[ValidationSet]:
    """Parts of each set's training rows, drawn anew for each fold, with features fitted on the rest."""
    for source in sources:
        _, split = source.load()
        for fold in range(folds):
            inner = validation_as_queries(carve_validation(split, VALIDATION_SHARE, seed + fold))
            data, _ = source.load(inner)
            yield ValidationSet(source.name, data, inner)


def validation_scores(
    method: HashMethod, sets: Sequence[ValidationSet], bits: Sequence[int]
) -> dict[tuple[str, int, int, str, str], float]:
    """mAP@100 by set, fold, bits, direction and protocol, with nothing but training rows."""
    scores = {}
    for fold, part in enumerate(sets):
        train = part.data.take(part.split.train)
        for length in bits:
            configured: Any = replace(method, bits=length, seed=fold)  # type: ignore[type-var]
            for direction, row in direction_scores(configured.fit(train), part.data, part.split).items():
                for measure in ("map", "map_unseen"):
                    scores[part.name, fold, length, direction, measure] = row[measure]
    return scores


@dataclass(frozen=True)
class Trial:
    """One setting and how it did; `gain` is over the starting point, paired cell by cell."""

    parameters: Mapping[str, float]
    score: float
    gain: float
    gain_error: float  # standard error of the gain over the cells
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
    baseline: dict[tuple[str, int, int, str, str], float] = {}

    def objective(trial: optuna.Trial) -> float:
        weights = {
            name: trial.suggest_float(name, value / REACH, value * REACH, log=True)
            for name, value in start.items()
        }
        scores = validation_scores(replace(method, **weights), sets, bits)  # type: ignore[type-var]
        baseline.update(scores if not finished else {})
        finished.append(_judge(weights, scores, baseline))
        if on_trial is not None:
            on_trial(finished[-1])
        return finished[-1].score

    study.optimize(objective, n_trials=trials)
    return Tuning(finished[0], sorted(finished, key=lambda trial: -trial.score))


def _judge(
    weights: Mapping[str, float],
    scores: Mapping[tuple[str, int, int, str, str], float],
    baseline: Mapping[tuple[str, int, int, str, str], float],
) -> Trial:
    gains = np.array([scores[cell] - baseline[cell] for cell in scores])
    names = dict.fromkeys(cell[0] for cell in scores)
    by_set = {name: float(np.mean([scores[c] for c in scores if c[0] == name])) for name in names}
    return Trial(
        parameters=dict(weights),
        score=float(np.mean(list(by_set.values()))),
        gain=float(gains.mean()),
        gain_error=float(gains.std(ddof=1) / np.sqrt(len(gains))),
        by_set=by_set,
    )


def method_fields(method: HashMethod) -> dict[str, Any]:
    """The parameters of a method as they go into a report."""
    fields: dict[str, Any] = asdict(method)  # type: ignore[call-overload]
    return fields

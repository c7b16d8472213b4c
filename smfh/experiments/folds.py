"""Score a method on validation folds of the training items.

Worker processes import this module, so it must not import Optuna, which takes seconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from smfh.datasets import DatasetSource, carve_validation, validation_as_queries
from smfh.hashing import HashMethod
from smfh.metrics import AP_DEFINITIONS, HEADLINE, Scores
from smfh.plugins import plugin_errors
from smfh.retrieval.evaluation import evaluate, find_results
from smfh.runs import text_to_image_first
from smfh.types import MultimodalDataset, OnStep, Split

VALIDATION_SHARE = 0.25  # of the training rows
EXAMPLES, EXAMPLE_RESULTS = 5, 8  # queries whose first results are saved with a trial
CURVE_PLACES = (1, 2, 5, 10, 20, 50, 100)  # K of the stored precision at K
BASE_MEASURES: Mapping[str, str] = MappingProxyType({name: AP_DEFINITIONS[name].label for name in HEADLINE})


@dataclass(frozen=True)
class ValidationFold:
    """A validation fold: the training rows of a data set, of which some serve as queries."""

    number: int
    data: MultimodalDataset
    split: Split


@dataclass(frozen=True)
class FoldScores:
    """The scores of a method on one validation fold."""

    dataset: str
    fold: int
    bits: int
    seconds: float  # training time
    directions: Mapping[str, Mapping[str, float]]  # by direction, default first; BASE_MEASURES of each
    # the first results of some queries in the first direction: row of the query → rows of the results. Rows
    # count the training items in order. Only of the first fold
    examples: Mapping[int, Sequence[int]] = field(default_factory=dict)
    precision: Sequence[float] = ()  # P@K at each of CURVE_PLACES, mean of all directions; empty in older studies

    def measure(self, name: str, direction: str = "") -> float:
        """Return a score on this fold by name (a key of MEASURES), in one direction or as mean over all."""
        chosen = [self.directions[direction]] if direction else self.directions.values()
        return float(np.mean([combine_measures(name, values) for values in chosen]))


def combine_measures(name: str, values: Mapping[str, float]) -> float:
    """Return a measure by name: balanced is (mAP@100 · mAP · P@100)^(1/3), others are in `values`.

    mAP@100 is divided by the number of relevant items found: a single one, at the top, counts as 1. In this
    way, a ranking can reach an mAP@100 of .867 with a P@100 of .171, while a good one has .708 and .699. The product
    prevents this: a gain in one factor is lost when another falls by the same factor. Even with the good
    ranking's mAP of .742, the first ranking would have a balanced score of only .479, the good one .716.
    """
    if name == "balanced":
        return float(np.prod([values[base] for base in BASE_MEASURES]) ** (1 / len(BASE_MEASURES)))
    return values[name]


def average_searches(searches: Sequence[Scores]) -> dict[str, float]:
    """Return the base measures of one direction, averaged over its searches (one per protocol)."""
    return {name: float(np.mean([scores.headline[name] for scores in searches])) for name in HEADLINE}


def validation_folds(
    sources: Sequence[DatasetSource], folds: int, check: Callable[[], None] = lambda: None
) -> list[ValidationFold]:
    """Split the training rows of each data set into validation folds.

    Features are fitted without the fold's validation rows. `check` is called before each fold.
    """
    drawn = []
    for source in sources:
        _, split = source.load()
        rows = np.sort(split.train)
        for number in range(folds):
            check()
            inner = validation_as_queries(carve_validation(split, VALIDATION_SHARE, number))
            data, _ = source.load(inner)
            own = Split(*(np.searchsorted(rows, some) for some in (inner.train, inner.queries)))
            drawn.append(ValidationFold(number, data.take(rows).without_looks(), own))
    return drawn


def score_fold(
    method: HashMethod,
    data: MultimodalDataset,  # apart from its split and number, because an engine sends a data set only once
    split: Split,
    number: int,
    protocols: Sequence[str],
    distance: str = "hamming",
    check: OnStep | None = None,
) -> FoldScores:
    """Train a method on a fold, with the fold's number as seed, and return the validation scores.

    `check` is called after each step. An engine calls it in the calling process instead, so steps are not sent.
    """
    with plugin_errors(method):
        hasher = replace(method, seed=number).fit(data.take(split.train), on_step=check)
    searches = {
        f"{source} → {target}": [evaluate(hasher, data, split, source, target, one, distance) for one in protocols]
        for source, target in text_to_image_first(hasher.directions)
    }
    directions = {direction: average_searches(own) for direction, own in searches.items()}
    curves = [scores.precision for own in searches.values() for scores in own]
    places = [K for K in CURVE_PLACES if K <= min(map(len, curves))]  # a small database has fewer items
    precision = np.mean([[curve[K - 1] for K in places] for curve in curves], axis=0).tolist()
    examples = {}
    if number == 0:
        source, target = text_to_image_first(hasher.directions)[0]
        rows = np.linspace(0, len(split.queries) - 1, EXAMPLES).round().astype(int)
        some = replace(split, queries=split.queries[np.unique(rows)])
        found = find_results(hasher, data, some, source, target, depth=EXAMPLE_RESULTS, distance=distance)
        examples = dict(zip(some.queries.tolist(), found.rows.tolist(), strict=True))
    return FoldScores(data.name, number, method.bits, hasher.seconds, directions, examples, precision)

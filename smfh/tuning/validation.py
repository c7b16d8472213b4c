"""Parts of training rows that ask the rest: what parameters are chosen on, so that queries stay unseen."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from smfh.datasets import DatasetSource, carve_validation, validation_as_queries
from smfh.evaluation import evaluate
from smfh.hashing import HashMethod
from smfh.runs import usual_first
from smfh.tuning.goals import PartScores, figures_of
from smfh.types import MultimodalDataset, OnStep, Split

VALIDATION_SHARE = 0.25


@dataclass(frozen=True)
class ValidationSet:
    """Training rows of one data set, a part of them asking; its queries are not in here."""

    name: str
    fold: int
    data: MultimodalDataset
    split: Split

    @property
    def fingerprint(self) -> str:
        """The identity of what asks what."""
        return f"{self.data.fingerprint}-{self.split.fingerprint}-{self.name}-{self.fold}"


def validation_sets(
    sources: Sequence[DatasetSource], folds: int, seed: int = 0, check: Callable[[], None] = lambda: None
) -> Iterator[ValidationSet]:
    """Parts of each set's training rows, drawn anew for each fold, with features fitted on the rest."""
    for source in sources:
        _, split = source.load()
        for fold in range(folds):
            check()
            inner = validation_as_queries(carve_validation(split, VALIDATION_SHARE, seed + fold))
            data, _ = source.load(inner)
            kept = np.sort(split.train)
            rows = Split(*(np.searchsorted(kept, part) for part in (inner.train, inner.queries)))
            yield ValidationSet(source.name, fold, data.take(kept).without_looks(), rows)


def score_part(
    method: HashMethod, part: ValidationSet, protocols: Sequence[str], on_step: OnStep | None = None
) -> PartScores:
    """Train on the part's training rows with its own seed, and let its validation rows ask."""
    hasher = replace(method, seed=part.fold).fit(part.data.take(part.split.train), on_step=on_step)
    directions = {
        f"{source} → {target}": figures_of(
            [evaluate(hasher, part.data, part.split, source, target, protocol) for protocol in protocols]
        )
        for source, target in usual_first(hasher.directions)
    }
    return PartScores(part.name, part.fold, method.bits, hasher.seconds, directions)

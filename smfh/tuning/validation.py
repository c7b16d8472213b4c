"""Parts of training rows that ask the rest: what parameters are chosen on, so that queries stay unseen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from smfh.datasets import DatasetSource, carve_validation, validation_as_queries
from smfh.evaluation import PROTOCOLS, evaluate
from smfh.hashing import HashMethod
from smfh.types import MultimodalDataset, Split

VALIDATION_SHARE = 0.25
ValidationSearch = tuple[str, int, int, str, str, str]  # set, fold, bits, source, target, protocol


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
) -> dict[ValidationSearch, float]:
    """mAP@100 of every search of every set, with nothing but training rows."""
    scores = {}
    for fold, part in enumerate(sets):
        train = part.data.take(part.split.train)
        for length in bits:
            hasher = replace(method, bits=length, seed=fold).fit(train)
            for source, target in hasher.directions:
                for protocol in PROTOCOLS:
                    found = evaluate(hasher, part.data, part.split, source, target, protocol)
                    search = (part.name, fold, length, source, target, protocol)
                    scores[search] = found.mean_average_precision
    return scores

"""The run as a value: a method, its parameters, its data and its seed, trained."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from smfh.datasets import DatasetSource
from smfh.evaluation import DEPTH, PROTOCOLS, evaluate, find_answers
from smfh.hashing import FittedHasher, HashMethod
from smfh.memory import Memory
from smfh.metrics import Scores
from smfh.runs.key import RunKey
from smfh.types import Answers, MultimodalDataset, Split

Search = tuple[str, str, str]  # source, target, protocol
READY_SEARCHES = 12  # that a run has scores of at once, as three modalities need; others when looked at
REMEMBERED_SEARCHES = 64


@dataclass(frozen=True, eq=False)
class Run:
    """A trained model with its data: to be scored in any direction, and asked."""

    key: RunKey
    source: DatasetSource
    data: MultimodalDataset
    split: Split
    hasher: FittedHasher
    _scores: Memory[Search, Scores] = field(default_factory=lambda: Memory(REMEMBERED_SEARCHES), repr=False)

    @property
    def method(self) -> HashMethod:
        return self.hasher.method

    @property
    def directions(self) -> Sequence[tuple[str, str]]:
        """Every (source, target) of different modalities, the usual one first."""
        return usual_first(self.hasher.directions)

    def scores(self, source: str, target: str, protocol: str = "training") -> Scores:
        """The scores of all queries, ranked when they are first looked at."""
        return self._scores.get(
            (source, target, protocol),
            lambda: evaluate(self.hasher, self.data, self.split, source, target, protocol),
        )

    def remember(self, scores: Scores) -> None:
        """These are its scores: they were ranked before."""
        self._scores.get((scores.source, scores.target, scores.protocol), lambda: scores)

    def answers(self, source: str, target: str, protocol: str = "training", depth: int = DEPTH) -> Answers:
        """The first answers to all queries."""
        return find_answers(self.hasher, self.data, self.split, source, target, protocol, depth)

    def typical_query(self, source: str, target: str, protocol: str = "training") -> int:
        """The place of the query in the middle: half of all do better, half worse."""
        precision = self.scores(source, target, protocol).average_precision["found"].by_query
        return int(np.argsort(precision, kind="stable")[len(precision) // 2])


def usual_first(directions: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Text to image and back before the others, where there are such modalities."""
    usual = {("text", "image"): 0, ("image", "text"): 1}
    return sorted(directions, key=lambda direction: usual.get(direction, 2))


def ready_searches(directions: Sequence[tuple[str, str]]) -> list[Search]:
    """The searches that are scored at once and kept with the run: all of them, unless there are many."""
    searches = [(*direction, protocol) for direction in usual_first(directions) for protocol in PROTOCOLS]
    return searches if len(searches) <= READY_SEARCHES else searches[: 2 * len(PROTOCOLS)]

"""Classes of a run: its key, the trained run, and the record of a saved run."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from smfh.datasets import DatasetSource
from smfh.hamming import DISTANCES
from smfh.hashing import FittedHasher, HashMethod
from smfh.memory import BoundedCache
from smfh.metrics import HEADLINE, Scores
from smfh.retrieval.evaluation import DEPTH, PROTOCOLS, evaluate, find_results
from smfh.types import MultimodalDataset, Results, Split, parameters

Search = tuple[str, str, str, str]  # source modality, target modality, protocol, distance
MAX_READY_DIRECTIONS = 6  # scored right after training: all directions of three modalities
MAX_CACHED_SEARCHES = 64
LEVEL_VERSION = 2  # of the scores of classifiers and their files; raise it when either changes


@dataclass(frozen=True)
class RunKey:
    """The data, split and method with parameters that identify a run and determine its outcome."""

    data: str  # fingerprint
    split: str  # fingerprint
    method: HashMethod

    @cached_property
    def id(self) -> str:
        """SHA-256 hash of the key, used as the name of the run's file."""
        return self.id_for_version(self.method.version)

    def id_for_version(self, version: int) -> str:
        """Return the id that this run has if another version of the method trains it.

        Parameters at their neutral value are left out, so that adding a parameter does not change any id.
        """
        about, values = parameters(self.method), dict[str, Any]()
        for one in fields(self.method):
            value: Any = getattr(self.method, one.name)
            kind: Any = type(one.default)
            if one.name in about and value != about[one.name].neutral:
                is_tuple = isinstance(value, tuple)  # else of the default's type: 2 and 2.0 give the same id
                values[one.name] = [float(v) for v in value] if is_tuple else kind(value)
        parts = [self.data, self.split, self.method.name, version, values]
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=plain_number)
        return hashlib.sha256(text.encode()).hexdigest()


def run_key(data: MultimodalDataset, split: Split, method: HashMethod) -> RunKey:
    """Return the key of a run of this method on this data and split."""
    return RunKey(data.fingerprint, split.fingerprint, method)


def plain_number(value: Any) -> Any:
    """Convert a NumPy number to a Python number, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"Expected a number, a word or several of them; got {value!r}.")


@dataclass(frozen=True)
class ClassifierLevelKey:
    """The data and split on which classifiers were scored; identifies these scores."""

    data: str  # fingerprint
    split: str  # fingerprint

    @property
    def id(self) -> str:
        """SHA-256 of the key, used as the name of the file with the scores."""
        return hashlib.sha256(f"{LEVEL_VERSION} {self.data} {self.split}".encode()).hexdigest()


def classifier_level_key(data: MultimodalDataset, split: Split) -> ClassifierLevelKey:
    return ClassifierLevelKey(data.fingerprint, split.fingerprint)


@dataclass(frozen=True, eq=False)
class Run:
    """A trained model with its data; computes scores and search results in any direction."""

    key: RunKey
    source: DatasetSource
    data: MultimodalDataset
    split: Split
    hasher: FittedHasher
    _scores: BoundedCache[Search, Scores] = field(default_factory=lambda: BoundedCache(MAX_CACHED_SEARCHES), repr=False)

    @property
    def method(self) -> HashMethod:
        return self.hasher.method

    @property
    def directions(self) -> Sequence[tuple[str, str]]:
        """All pairs (source, target) of different modalities, text → image first."""
        return text_to_image_first(self.hasher.directions)

    def scores(self, source: str, target: str, protocol: str = "training", distance: str = "hamming") -> Scores:
        """Return the scores over all queries, computed on the first call and then cached."""
        search = (source, target, protocol, distance)
        return self._scores.get(search, lambda: evaluate(self.hasher, self.data, self.split, *search))

    def add_scores(self, scores: Scores) -> None:
        """Add scores of one search, computed or saved earlier, to the run's cached scores."""
        self._scores.get(scores.search, lambda: scores)

    def results(
        self, source: str, target: str, protocol: str = "training", distance: str = "hamming", depth: int = DEPTH
    ) -> Results:
        """Return the first `depth` results of every query."""
        return find_results(self.hasher, self.data, self.split, source, target, protocol, distance, depth)

    def typical_query(self, source: str, target: str, protocol: str = "training", distance: str = "hamming") -> int:
        """Return the position of the query with the median average precision."""
        return median_query(self.scores(source, target, protocol, distance))


def median_query(scores: Scores) -> int:
    """Return the position of the query with the median average precision."""
    precision = scores.average_precision["found"].by_query
    return int(np.argsort(precision, kind="stable")[len(precision) // 2])


@dataclass(frozen=True)
class Timing:
    """Seconds that training, encoding and the whole run took on the machine that trained it."""

    training: float
    encoding: Mapping[str, float]  # of all queries, by modality
    run: float  # training and scoring


@dataclass(frozen=True)
class RunRecord:
    """Description of a saved run, available without reading its model."""

    id: str
    title: str  # given by a user; "" if none
    when: datetime
    source: DatasetSource
    training_items: int
    queries: int
    key: RunKey
    method_version: int  # of the program that trained it
    trained_on: str  # fingerprint of the training items
    timing: Timing
    versions: Mapping[str, str]  # of Python, NumPy and this program
    searches: Mapping[Search, Mapping[str, Any]]  # scores without arrays, in the order of the file
    model_arrays: tuple[str, ...]  # names of the model's arrays in the file
    bytes: int  # of the file
    saved_by: str = ""  # opaque name of the owner, for the edit policy; "" if unknown
    note: str = ""  # by a user; "" if none

    @property
    def method(self) -> HashMethod:
        return self.key.method

    @property
    def is_current(self) -> bool:
        """Whether the run was trained by the current version of the method."""
        return self.method_version == self.method.version

    @property
    def directions(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((source, target) for source, target, *_ in self.searches))

    def headline(
        self, source: str, target: str, protocol: str = "training", distance: str = "hamming"
    ) -> dict[str, float]:
        """Return mAP@100, mAP of the whole ranking and P@100 by name; empty if the search was not scored."""
        header = self.searches.get((source, target, protocol, distance))
        return {} if header is None else {name: float(header["headline"][name]) for name in HEADLINE}


def text_to_image_first(directions: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the directions sorted: text → image, image → text, then all others."""
    order = {("text", "image"): 0, ("image", "text"): 1}
    return sorted(directions, key=lambda direction: order.get(direction, 2))


def as_search(source: str, target: str, protocol: str = "training", distance: str = "hamming") -> Search:
    """Complete a search (source, target, protocol, distance) with the default protocol and distance."""
    return source, target, protocol, distance


def ready_searches(directions: Sequence[tuple[str, str]]) -> list[Search]:
    """Return the searches that are scored after training: all, or the first two directions if there are many."""
    ways = text_to_image_first(directions)
    return all_searches(ways if len(ways) <= MAX_READY_DIRECTIONS else ways[:2])


def all_searches(directions: Sequence[tuple[str, str]]) -> list[Search]:
    """Return the searches in these directions, each with every protocol and distance."""
    return [
        (*direction, protocol, distance) for direction in directions for protocol in PROTOCOLS for distance in DISTANCES
    ]

"""What every method is: parameters that describe themselves, one training loop, and what training yields.

A new method is a frozen dataclass derived from `HashMethod` that says its `name`, its `title`, how many
`steps` a training takes, and how to `learn`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from time import perf_counter
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from smfh.hamming import CodeIndex
from smfh.hashing.configuration import Configuration
from smfh.hashing.function import HashFunction
from smfh.hashing.products import one_blas_thread
from smfh.types import (
    FloatArray,
    InputError,
    IntArray,
    MultimodalDataset,
    OnStep,
    TrainingStep,
    Words,
    read_only,
    unknown,
)


class Learnt(NamedTuple):
    """What a method has when it is done, or would have if it were done now."""

    functions: Mapping[str, HashFunction]
    codes: Mapping[str, Words]  # of the training items, by the modality that is searched
    bases: Mapping[str, FloatArray] = MappingProxyType({})  # U, (dimensions of φ, bits)


class Progress(NamedTuple):
    """One step as a method reports it: every weighted term of its objective."""

    terms: Mapping[str, float]
    phase: str = "descent"
    note: str = ""
    learnt: Callable[[], Learnt] | None = None  # so far, where a step leaves something to look at


Trace = Sequence[TrainingStep]
Learning = Generator[Progress, None, Learnt]


@dataclass(frozen=True)
class HashMethod(Configuration, ABC):
    """A configuration that can be trained."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many steps a training reports at the most."""

    @abstractmethod
    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Learning:
        """Yield the progress of every step, and return what was learnt; `trace` grows with each step."""

    def fit(
        self,
        modalities: MultimodalDataset | Mapping[str, Any],
        labels: Any = None,
        *,
        on_step: OnStep | None = None,
        on_state: Callable[["FittedHasher"], None] | None = None,
    ) -> "FittedHasher":
        """Train on all items, which become the database.

        Given is a data set, or matrices by modality and the labels of their rows. `on_step` hears of every
        step, `on_state` of what was learnt so far; what they raise ends the training, and the time they take
        is not training time.
        """
        train = _as_dataset(modalities, labels)
        if problems := self.training_problems(train):
            raise InputError(problems)
        trace: list[TrainingStep] = []
        learnt = self.follow(
            self.learn(train, np.random.default_rng(self.seed), trace),
            trace,
            lambda: {t: float(X.max()) for t, X in train.modalities.items()},
            on_step,
            None if on_state is None else lambda so_far: on_state(self._hasher(so_far, trace, train)),
        )
        return self._hasher(learnt, trace, train)

    def follow(
        self,
        learning: Learning,
        trace: list[TrainingStep],
        largest: Callable[[], Mapping[str, float]],
        on_step: OnStep | None = None,
        on_learnt: Callable[[Learnt], None] | None = None,
    ) -> Learnt:
        """What was learnt in the end; every step is looked at, told and added to the trace.

        `largest` tells the largest feature of each modality, where the training breaks down.
        """
        seconds = 0.0
        with (
            one_blas_thread(),
            np.errstate(over="ignore", divide="ignore", invalid="ignore"),  # the terms are looked at instead
            closing(learning),
        ):
            while True:
                resumed = perf_counter()
                try:
                    terms, phase, note, so_far = next(learning)
                except StopIteration as end:
                    learnt: Learnt = end.value
                    return learnt
                except np.linalg.LinAlgError as error:
                    raise self._broken(largest(), len(trace) + 1, str(error)) from error
                seconds += perf_counter() - resumed
                for term, value in terms.items():
                    if not isfinite(value):
                        raise self._broken(largest(), len(trace) + 1, f"the term {term!r} is {value}")
                trace.append(TrainingStep(len(trace) + 1, terms, seconds, phase, note))
                if on_step is not None:
                    on_step(trace[-1])
                if on_learnt is not None and so_far is not None:
                    on_learnt(so_far())

    def _hasher(self, learnt: Learnt, trace: Trace, train: MultimodalDataset) -> "FittedHasher":
        return FittedHasher(self, learnt.functions, learnt.codes, trace, train.fingerprint, learnt.bases)

    def training_problems(self, train: MultimodalDataset) -> list[str]:
        """All reasons why nothing can be learnt from this data."""
        problems = []
        if train.labels.any(axis=0).sum() < 2:
            problems.append("All training items have the same single class; supervision needs at least two.")
        if len(train.modalities) < 2:
            names = ", ".join(train.modalities)
            problems.append(f"Cross-modal hashing needs two modalities; {train.name!r} has {names}.")
        return problems

    def _broken(self, maxima: Mapping[str, float], iteration: int, what: str) -> InputError:
        largest = ", ".join(f"{value:.3g} ({t})" for t, value in maxima.items())
        return InputError(
            f"{self.title} broke down in iteration {iteration}: {what}. The largest features are {largest}. "
            "Scale the features, such as to a largest value of 1 in each modality, and train again."
        )


def _as_dataset(modalities: MultimodalDataset | Mapping[str, Any], labels: Any) -> MultimodalDataset:
    if not isinstance(modalities, MultimodalDataset):
        return MultimodalDataset("own arrays", modalities, labels)
    if labels is not None:
        raise InputError("A data set has its labels in it; labels are given beside plain matrices alone.")
    return modalities


class Nearest(NamedTuple):
    """The items of the database that are nearest to each query, nearest first."""

    rows: IntArray  # (queries, k), of the training items
    distances: IntArray  # (queries, k), bits in which the codes differ


@dataclass(frozen=True, eq=False)
class FittedHasher:
    """What training yields; immutable, so that it can be shared."""

    method: HashMethod
    functions: Mapping[str, HashFunction]
    database_codes: Mapping[str, Words]  # what a search for this modality searches, (training items, words)
    trace: Trace
    trained_on: str  # fingerprint of the training data
    bases: Mapping[str, FloatArray] = field(default_factory=dict)  # U, (dimensions of φ, bits)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trace", tuple(self.trace))
        object.__setattr__(self, "functions", MappingProxyType(dict(self.functions)))
        for what in ("database_codes", "bases"):
            arrays = {name: read_only(array) for name, array in getattr(self, what).items()}
            object.__setattr__(self, what, MappingProxyType(arrays))

    @property
    def bits(self) -> int:
        return self.method.bits

    @property
    def modalities(self) -> tuple[str, ...]:
        return tuple(self.functions)

    @property
    def seconds(self) -> float:
        return self.trace[-1].seconds if self.trace else 0.0

    @property
    def directions(self) -> list[tuple[str, str]]:
        """Every (source, target) of different modalities."""
        return [(s, t) for t in self.modalities for s in self.modalities if s != t]

    @cached_property
    def indexes(self) -> Mapping[str, CodeIndex]:
        """The database of each modality made ready for searches, on first use; equal ones are one."""
        made = {id(codes): CodeIndex(codes) for codes in self.database_codes.values()}
        return {name: made[id(codes)] for name, codes in self.database_codes.items()}

    def encode(self, modality: str, features: Any) -> Words:
        """Packed codes (items, ⌈bits/64⌉) of any items of this modality, seen in training or not."""
        if modality not in self.functions:
            raise unknown("modality", modality, self.functions)
        return self.functions[modality].encode(features)

    def search(self, source: str, features: Any, target: str, k: int = 10) -> Nearest:
        """The k training items whose codes for `target` are nearest to these queries of `source`."""
        if target not in self.database_codes:
            raise unknown("modality", target, self.database_codes)
        return Nearest(*self.indexes[target].rank(self.encode(source, features), k))

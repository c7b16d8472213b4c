"""What is to be compared, run by run, and which runs are there."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from smfh.datasets import DatasetSource
from smfh.hashing import HashMethod
from smfh.runs import CeilingKey, KeptRuns, RunKey, RunRecord, ceiling_key, run_key, usual_first
from smfh.types import InputError, MultimodalDataset, Split, parameters

MOST_METHODS, MOST_LENGTHS, MOST_SEEDS, MOST_RUNS = 24, 12, 20, 500
OF_A_RUN = ("bits", "seed")  # what differs between the runs of one setting


@dataclass(frozen=True)
class Comparison:
    """Methods as they are set, save bits and seed; each is trained with all bits and seeds 0 … seeds − 1."""

    source: DatasetSource
    methods: tuple[HashMethod, ...]
    bits: tuple[int, ...]
    seeds: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", tuple(dict.fromkeys(map(setting_of, self.methods))))
        object.__setattr__(self, "bits", tuple(sorted(set(self.bits))))
        if problems := _problems(self):
            raise InputError(problems)

    @property
    def trainings(self) -> tuple[HashMethod, ...]:
        """Every method at every length with every seed; all of one seed first, so that curves come early."""
        return tuple(
            replace(method, bits=bits, seed=seed)
            for seed in range(self.seeds)
            for bits in self.bits
            for method in self.methods
        )

    @cached_property
    def titles(self) -> Mapping[HashMethod, str]:
        """What to call each method; where one stands twice, with what sets it apart."""
        times = Counter(method.name for method in self.methods)
        return {
            method: method.title if times[method.name] == 1 else _told_apart(method, self.methods)
            for method in self.methods
        }


def setting_of(method: HashMethod) -> HashMethod:
    """The method with the bits and the seed that it has by itself: two of one setting are then equal."""
    usual = type(method)()
    return replace(method, bits=usual.bits, seed=usual.seed)


def name_training(method: HashMethod) -> str:
    """Such as SMFH, 32 bits, seed 1."""
    return f"{method.title}, {method.bits} bits, seed {method.seed}"


def _told_apart(method: HashMethod, methods: Iterable[HashMethod]) -> str:
    """Such as SMFH (α 2, m 50): the parameters in which those of its name differ."""
    alike = [other for other in methods if other.name == method.name]
    told = [
        f"{about.symbol} {value_in_words(getattr(method, name))}"
        for name, about in parameters(method).items()
        if len({getattr(other, name) for other in alike}) > 1
    ]
    return f"{method.title} ({', '.join(told)})"


def value_in_words(value: Any) -> str:
    """A parameter's value as a person writes it."""
    if isinstance(value, tuple):
        return "/".join(map(value_in_words, value)) or "equal"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _problems(comparison: Comparison) -> list[str]:
    wanted = {
        "methods": (len(comparison.methods), MOST_METHODS),
        "code lengths": (len(comparison.bits), MOST_LENGTHS),
        "seeds": (comparison.seeds, MOST_SEEDS),
    }
    problems = [
        f"A comparison has from 1 to {most} {what}; got {came}."
        for what, (came, most) in wanted.items()
        if not 1 <= came <= most
    ]
    for method in comparison.methods[:1]:
        for length in comparison.bits:
            try:
                replace(method, bits=length)
            except InputError as error:
                problems += error.problems
    trainings = len(comparison.methods) * len(comparison.bits) * comparison.seeds
    if not problems and trainings > MOST_RUNS:
        problems.append(f"{trainings:,} trainings are too many at once; at most {MOST_RUNS} are taken.")
    return problems


@dataclass(frozen=True)
class GridKey:
    """What decides the outcome, and whose it is; of the data its fingerprint alone."""

    data: str
    split: str
    methods: tuple[HashMethod, ...]
    bits: tuple[int, ...]
    seeds: int
    owner: str


@dataclass(frozen=True, eq=False)
class Grid:
    """A comparison on its loaded data: the runs that it is made of."""

    comparison: Comparison
    data: MultimodalDataset
    split: Split
    owner: str = ""  # of private data

    @cached_property
    def keys(self) -> Mapping[HashMethod, RunKey]:
        """The key of every training; the data is hashed once for all of them."""
        first, *others = self.comparison.trainings
        key = run_key(self.data, self.split, first, self.owner)
        return {first: key} | {method: replace(key, method=method) for method in others}

    @cached_property
    def key(self) -> "GridKey":
        """What makes two grids the same."""
        first, wanted = next(iter(self.keys.values())), self.comparison
        return GridKey(first.data, first.split, wanted.methods, wanted.bits, wanted.seeds, self.owner)

    @cached_property
    def ceiling_key(self) -> CeilingKey:
        """Of what the features of its data allow."""
        return ceiling_key(self.data, self.split, self.owner)

    @property
    def directions(self) -> list[tuple[str, str]]:
        """Every (source, target) of different modalities, the usual one first."""
        names = tuple(self.data.modalities)
        return usual_first([(s, t) for t in names for s in names if s != t])

    def found(self, store: KeptRuns) -> dict[HashMethod, RunRecord]:
        """The runs that are there, by whichever program they were trained."""
        records = {method: store.find(key) for method, key in self.keys.items()}
        return {method: record for method, record in records.items() if record is not None}

    def missing(self, store: KeptRuns) -> list[HashMethod]:
        """What is still to be trained, in its order."""
        return [method for method, key in self.keys.items() if store.find(key) is None]


def estimate_seconds(
    trainings: Sequence[HashMethod], records: Iterable[RunRecord], data: str
) -> dict[HashMethod, float]:
    """How long each training takes, from what its setting, its method, or any took here; empty if none did.

    Where only other lengths were measured, time is taken to grow with the bits.
    """
    measured: dict[object, dict[int, list[float]]] = {}  # by setting, name or nothing, and by bits
    for record in records:
        if record.key.data == data:
            method, seconds = record.method, record.timing.run
            for group in (setting_of(method), method.name, None):
                measured.setdefault(group, {}).setdefault(method.bits, []).append(seconds / method.bits)
    if not measured:
        return {}
    means = {
        group: {bits: float(np.mean(rates)) for bits, rates in by_bits.items()}
        for group, by_bits in measured.items()
    }
    return {method: _likely_seconds(method, means) for method in trainings}


def _likely_seconds(method: HashMethod, means: Mapping[object, Mapping[int, float]]) -> float:
    by_bits = means.get(setting_of(method)) or means.get(method.name) or means[None]
    nearest = min(by_bits, key=lambda bits: (abs(bits - method.bits), bits))
    return by_bits[nearest] * method.bits

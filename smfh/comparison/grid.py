"""What is to be compared, cell by cell, and which cells are there."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from smfh.datasets import DatasetSource
from smfh.hashing import HashMethod
from smfh.jobs import JobKey, job_key
from smfh.store import RunRecord, RunStore, StoredRun
from smfh.types import InputError, MultimodalDataset, Split, parameters

MOST_METHODS, MOST_LENGTHS, MOST_SEEDS, MOST_CELLS = 24, 12, 20, 500
CELL = ("bits", "seed")  # what differs between the cells of one method


@dataclass(frozen=True)
class Comparison:
    """Methods as they are set, save bits and seed; each is trained with all bits and seeds 0 … seeds − 1."""

    source: DatasetSource
    methods: tuple[HashMethod, ...]
    bits: tuple[int, ...]
    seeds: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", tuple(dict.fromkeys(map(template, self.methods))))
        object.__setattr__(self, "bits", tuple(sorted(set(self.bits))))
        if problems := _problems(self):
            raise InputError(problems)

    @property
    def cells(self) -> tuple[HashMethod, ...]:
        """Every method at every length with every seed; all of one seed first, so that curves come early."""
        return tuple(
            cell_of(method, bits, seed)
            for seed in range(self.seeds)
            for bits in self.bits
            for method in self.methods
        )

    @property
    def titles(self) -> Mapping[HashMethod, str]:
        """What to call each method; where one stands twice, with what sets it apart."""
        times = Counter(method.name for method in self.methods)
        return {
            method: method.title if times[method.name] == 1 else _told_apart(method, self.methods)
            for method in self.methods
        }


def template(method: HashMethod) -> HashMethod:
    """The method with the bits and the seed that it has by itself: two of one setting are then equal."""
    usual = {f.name: f.default for f in fields(method) if f.name in CELL}  # type: ignore[arg-type]
    return _with(method, **usual)


def cell_of(method: HashMethod, bits: int, seed: int) -> HashMethod:
    return _with(method, bits=bits, seed=seed)


def _with(method: HashMethod, **values: Any) -> HashMethod:
    changed: HashMethod = replace(method, **values)  # type: ignore[type-var]
    return changed


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
    for length in comparison.bits:
        for method in comparison.methods[:1]:
            try:
                cell_of(method, length, 0)
            except InputError as error:
                problems += error.problems
    cells = len(comparison.methods) * len(comparison.bits) * comparison.seeds
    if not problems and cells > MOST_CELLS:
        problems.append(f"{cells:,} trainings are too many at once; at most {MOST_CELLS} are taken.")
    if comparison.source.name == "own":
        problems.append(
            "Own data stays with its visitor and is not kept on disk, so it cannot be compared in the "
            "background: choose another data set."
        )
    return problems


@dataclass(frozen=True, eq=False)
class Grid:
    """A comparison on its loaded data."""

    comparison: Comparison
    data: MultimodalDataset
    split: Split
    keys: Mapping[HashMethod, JobKey]  # by cell

    @property
    def directions(self) -> list[tuple[str, str]]:
        """Every (source, target) of different modalities."""
        names = tuple(self.data.modalities)
        return [(s, t) for t in names for s in names if s != t]

    def found(self, store: RunStore) -> dict[HashMethod, StoredRun]:
        """The cells that are there, by whichever program they were trained."""
        runs = {cell: store.find(key) for cell, key in self.keys.items()}
        return {cell: run for cell, run in runs.items() if run is not None}

    def missing(self, store: RunStore) -> list[HashMethod]:
        """The cells that are still to be trained, in their order."""
        return [cell for cell, key in self.keys.items() if store.find(key) is None]


def grid_of(comparison: Comparison, data: MultimodalDataset, split: Split) -> Grid:
    """The cells with their keys; the data is hashed once for all of them."""
    cells = comparison.cells
    first = job_key(data, cells[0], "", split)
    return Grid(comparison, data, split, {cell: replace(first, method=cell) for cell in cells})


def seconds_left(cells: Sequence[HashMethod], records: Iterable[RunRecord], data: str) -> float | None:
    """How long these cells take, from what the same method, or any, took on this data; None if none did.

    Where only other lengths were measured, time is taken to grow with the bits.
    """
    measured = [record for record in records if record.data == data]
    if not measured:
        return None
    return sum(_likely_seconds(cell, measured) for cell in cells)


def _likely_seconds(cell: HashMethod, measured: Sequence[RunRecord]) -> float:
    same = [record for record in measured if template(record.method) == template(cell)]
    near = same or [record for record in measured if record.method.name == cell.name] or measured
    distance = min(abs(record.method.bits - cell.bits) for record in near)
    nearest = [record for record in near if abs(record.method.bits - cell.bits) == distance]
    return float(np.mean([record.timing.whole * cell.bits / record.method.bits for record in nearest]))

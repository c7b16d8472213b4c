"""What a training or a data set takes, told before it begins, and how much of it is taken on.

The estimate counts the products that all methods here are made of; on Emoji, Wiki and synthetic items it was
between a third and, for those that stop early, ten times of what was measured: enough to tell a minute from
a day.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from scipy.sparse import csr_array

from smfh.datasets import DatasetSource
from smfh.hashing import HashMethod
from smfh.types import InputError, MultimodalDataset, Split, parameters

GB, MINUTE = 1 << 30, 60
RATE = 3e10  # multiplications and additions a second, two cores, with all that lies between the products
STEP = 0.002  # seconds of a step that does nothing
SHARE = 0.5  # of the machine's memory that one training may take where nothing is set
DATA_SHARE = 0.25  # of that memory for the data itself: several sets are kept at once
MINUTES = 60.0  # that one training may take where nothing is set
COSTLY = ("iterations", "rounds", "anchors", "bits")  # what can be less, the most harmless first


@dataclass(frozen=True)
class Cost:
    """What one training takes at its peak, and in all."""

    bytes: float
    seconds: float

    def __str__(self) -> str:
        time = f"{self.seconds:.0f} s" if self.seconds < 100 else f"{self.seconds / MINUTE:.0f} minutes"
        return f"about {max(self.bytes / GB, 0.1):.1f} GB and {time}"


@dataclass(frozen=True)
class Limits:
    """The most that one training may take; set by SMFH_MOST_GB and SMFH_MOST_MINUTES."""

    gigabytes: float
    minutes: float

    def __str__(self) -> str:
        return f"{self.gigabytes:.1f} GB and {self.minutes:g} minutes"

    @property
    def data_bytes(self) -> int:
        """That one data set may take."""
        return int(self.gigabytes * GB * DATA_SHARE)

    def share(self, cost: Cost) -> float:
        """How much of what is taken on it takes, of memory or of time, whichever is more."""
        return max(cost.bytes / (self.gigabytes * GB), cost.seconds / (self.minutes * MINUTE))

    def allow(self, cost: Cost) -> bool:
        return self.share(cost) <= 1


class Span(Protocol):
    """A parameter that is tuned from `low` to `high`; a Range of a study is one."""

    @property
    def name(self) -> str: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def current_limits() -> Limits:
    """As set, or half of the memory and an hour."""
    memory = _setting("SMFH_MOST_GB") or SHARE * memory_size() / GB
    return Limits(memory, _setting("SMFH_MOST_MINUTES") or MINUTES)


def _setting(name: str) -> float | None:
    if not (told := os.environ.get(name, "")):
        return None
    try:
        value = float(told)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise InputError(f"{name} should be a number above 0; got {told[:40]!r}.")
    return value


def memory_size() -> int:
    """Bytes of the machine, or of the container that this runs in where that is less."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 8 * GB
    try:
        told = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return machine
    return min(machine, int(told)) if told.isdigit() else machine


def estimate(method: HashMethod, data: MultimodalDataset, split: Split) -> Cost:
    """Of n items with d dimensions mapped to a ≤ n of them, hashed to r bits in T steps, over all modalities:
    2nda for the map, na² + a³ to solve, and T·(4nar + nr²) for the steps."""
    n, r = len(split.train), method.bits
    steps = getattr(method, "iterations", 1) + getattr(method, "rounds", 0)
    work = steps * n * r * r
    memory = 24.0 * n * r
    for X in data.modalities.values():
        d = X.shape[1]
        a = min(getattr(method, "anchors", 0) or d, n)
        stored = X.nnz / max(X.shape[0], 1) if hasattr(X, "nnz") else d  # of an item
        work += n * a * a + a**3 + 4 * steps * n * a * r + (2 * n * stored * a if a != d else 0)
        memory += 8 * n * stored + (8 * n * a if a != d else 0) + 24 * a * a
    return Cost(memory, work / RATE + steps * STEP)


def check_cost(method: HashMethod, data: MultimodalDataset, split: Split, limits: Limits) -> None:
    """Refuse what would take more than is taken on, with the figure and the nearest setting that fits."""
    cost = estimate(method, data, split)
    if limits.allow(cost):
        return
    what = f"A training of {method.title} with {method.bits:,} bits"
    told = f"{what} would take {cost}; one training may take {limits} here."
    fits = nearest_that_fits(method, lambda less: limits.allow(estimate(less, data, split)))
    if fits is None:
        raise InputError(f"{told} No setting of this method is small enough for this data: take fewer items.")
    raise InputError(f"{told} It fits with {fits}.")


def check_costs(methods: Iterable[HashMethod], data: MultimodalDataset, split: Split, limits: Limits) -> None:
    """Refuse several trainings where the costliest of them, which is named, is more than is taken on."""
    worst = max(methods, key=lambda method: limits.share(estimate(method, data, split)), default=None)
    if worst is not None:
        check_cost(worst, data, split, limits)


def check_plan(
    method: HashMethod,
    spans: Iterable[Span],
    data: MultimodalDataset,
    split: Split,
    limits: Limits,
    lengths: Sequence[int] = (),
) -> None:
    """The same for a study, over code lengths if any: as it starts, and at every end of what it tunes.

    Between the ends nothing costs more. Both count: no anchors at all may cost more than many.
    """
    start = method.set_params(bits=max(lengths, default=method.bits))
    ends = {span.name: (span.low, span.high) for span in spans if span.name in COSTLY}
    corners = [dict(zip(ends, values, strict=True)) for values in product(*ends.values())]
    check_costs([start, *(start.set_params(**corner) for corner in corners)], data, split, limits)


def check_size(source: DatasetSource, limits: Limits) -> None:
    """Refuse a data set that alone would take more than its share of what one training may take."""
    _check_bytes(source.bytes, f"{source.card.title} with these options", limits)


def check_own(data: MultimodalDataset, limits: Limits) -> None:
    """The same for what a visitor brings, when it is read and before it is kept."""
    _check_bytes(bytes_of(data), "Your data", limits)


def bytes_of(data: MultimodalDataset) -> int:
    """That the data takes in memory, with what a person looks at."""
    arrays: list[Any] = [data.labels]
    for X in data.modalities.values():
        arrays += [X.data, X.indices, X.indptr] if isinstance(X, csr_array) else [X]
    looks = (*(data.captions or ()), *(data.thumbnails or ()))
    return int(sum(array.nbytes for array in arrays)) + sum(map(sys.getsizeof, looks))


def _check_bytes(size: int, what: str, limits: Limits) -> None:
    most = limits.data_bytes
    if size > most:
        raise InputError(
            f"{what} takes {size / GB:.2f} GB; here a data set may take {most / GB:.2f} GB: "
            f"take at most {most / size:.0%} of the items."
        )


def nearest_that_fits(method: HashMethod, is_allowed: Callable[[HashMethod], bool]) -> str | None:
    """The one parameter that has to change least, and its largest value that is allowed; in words."""
    about, found = parameters(method), dict[str, tuple[float, str]]()
    for name in COSTLY:
        if name not in about or (asked := getattr(method, name)) <= about[name].low:
            continue
        least = max(int(about[name].low), 1)
        if (value := _largest(method, name, least, int(asked), is_allowed)) is not None:
            found[name] = value / asked, f"{about[name].symbol} = {value:,} instead of {asked:,}"
    return max(found.values())[1] if found else None


def _largest(
    method: HashMethod, name: str, low: int, asked: int, is_allowed: Callable[[HashMethod], bool]
) -> int | None:
    """The largest value from `low` below `asked` that is allowed, by halving."""

    def fits(value: int) -> bool:
        changed: dict[str, Any] = {name: value}
        return is_allowed(replace(method, **changed))

    if not fits(low):
        return None
    high = asked
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low

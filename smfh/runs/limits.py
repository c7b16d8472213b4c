"""Limits on memory and time: estimate the cost of a run or data set; raise InputError if it is too high.

The estimate counts the matrix products of a run. On Emoji, Wiki and synthetic items it was between one third
of the measured cost and, for methods that stop early, ten times it: enough to tell a minute from a day.
"""

import sys
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import psutil
from scipy.sparse import csr_array

from smfh.datasets import DatasetSource
from smfh.folders import read_number
from smfh.hashing import HashMethod
from smfh.retrieval.classifiers import (
    ANCHORS,
    FOLDS,
    LEAVES,
    LOGISTIC,
    MAX_QUERIES,
    MAX_ROWS,
    SUPPORT,
    TREES,
    WIDTHS,
    has_one_class,
)
from smfh.types import InputError, MultimodalDataset, Split, parameters

GB, MINUTE_SECONDS = 1 << 30, 60
OPERATIONS_PER_SECOND = 3e10  # on two cores, including the work between matrix products
STEP_SECONDS = 0.002  # overhead of a step
DEFAULT_MEMORY_SHARE = 0.5  # of the machine's memory, for one run
DATA_SHARE = 0.25  # of a run's memory, for one data set, since several are in memory at once
DEFAULT_MINUTES = 60.0
COSTLY_PARAMETERS = ("iterations", "rounds", "anchors", "bits")  # in order of preference for reducing

# Classifiers: seconds on two cores. The estimates were one to three times the measured seconds and bytes on
# Emoji, Wiki and 1,000 to 5,000 synthetic items of 10 to 100 classes.
LOGISTIC_SECONDS = 3e-7  # per row, dimension and class, over all steps of a fit
ROW_SECONDS, CLASS_SECONDS = 2e-6, 3e-7  # per row of a tree, and per class if items have several labels
PAIR_SECONDS, PAIR_DIMENSIONS = 2.5e-10, 50  # per pair of rows and dimension; overhead in dimensions
RANK_SECONDS = 1.2e-7  # per item of a ranking
MIXTURES = 7  # combinations of the three kinds of classifiers
NODE_BYTES, WORK_BYTES = 64, 200 << 20  # per tree node, without classes; for ranking blocks and kernels


@dataclass(frozen=True)
class Cost:
    """The estimated peak memory and total time of a run."""

    bytes: float
    seconds: float

    def __str__(self) -> str:
        is_short = self.seconds < 100
        time = f"{self.seconds:.0f} s" if is_short else f"{self.seconds / MINUTE_SECONDS:.0f} minutes"
        return f"about {max(self.bytes / GB, 0.1):.1f} GB and {time}"


@dataclass(frozen=True)
class Limits:
    """The maximum memory and time that a run may take."""

    gigabytes: float
    minutes: float

    def __str__(self) -> str:
        return f"{self.gigabytes:.1f} GB and {self.minutes:g} minutes"

    @property
    def data_bytes(self) -> int:
        """Maximum memory that a data set may take, in bytes."""
        return int(self.gigabytes * GB * DATA_SHARE)

    def share(self, cost: Cost) -> float:
        """Return the cost as a share of the memory limit or of the time limit, whichever is larger."""
        return max(cost.bytes / (self.gigabytes * GB), cost.seconds / (self.minutes * MINUTE_SECONDS))

    def allow(self, cost: Cost) -> bool:
        return self.share(cost) <= 1


def current_limits() -> Limits:
    """Return the limits set by SMFH_MAX_GB and SMFH_MAX_MINUTES; default: half the memory, one hour."""
    memory: int = psutil.virtual_memory().total
    with suppress(OSError):  # a container may have less than the machine
        container = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        memory = min(memory, int(container)) if container.isdigit() else memory
    gigabytes = read_number("SMFH_MAX_GB", DEFAULT_MEMORY_SHARE * memory / GB)
    return Limits(gigabytes, read_number("SMFH_MAX_MINUTES", DEFAULT_MINUTES))


def estimate(method: HashMethod, data: MultimodalDataset, split: Split) -> Cost:
    """Estimate the cost of a run on n items with d dimensions, a ≤ n anchors, r bits and T steps.
    Operations: T·nr², and per modality 2nda (anchor map) + na² + a³ (solver) + T·4nar (steps)."""
    n, r = len(split.train), method.bits
    steps = getattr(method, "iterations", 1) + getattr(method, "rounds", 0)
    operations = steps * n * r * r
    memory = 24.0 * n * r
    for X in data.modalities.values():
        d = X.shape[1]
        a = min(getattr(method, "anchors", 0) or d, n)
        stored = X.nnz / max(X.shape[0], 1) if hasattr(X, "nnz") else d  # values per item
        operations += n * a * a + a**3 + 4 * steps * n * a * r + (2 * n * stored * a if a != d else 0)
        memory += 8 * n * stored + (8 * n * a if a != d else 0) + 24 * a * a
    return Cost(memory, operations / OPERATIONS_PER_SECOND + steps * STEP_SECONDS)


def check_cost(method: HashMethod, data: MultimodalDataset, split: Split, limits: Limits) -> None:
    """Raise InputError if a run exceeds the limits; the message names the nearest setting that does not."""
    cost = estimate(method, data, split)
    if limits.allow(cost):
        return
    about, found = parameters(method), list[tuple[float, str]]()
    for name in COSTLY_PARAMETERS:
        if name not in about or (current := int(getattr(method, name))) <= about[name].low:
            continue

        def exceeds(value: int, name: str = name) -> bool:
            return not limits.allow(estimate(method.set_params(**{name: value}), data, split))

        values = range(max(int(about[name].low), 1), current)
        if (allowed := bisect_left(values, True, key=exceeds)) > 0:
            value = values[allowed - 1]
            found.append((value / current, f"{about[name].symbol} = {value:,} instead of {current:,}"))
    what_fits = f"It fits with {max(found)[1]}." if found else "No setting fits this data: use fewer items."
    raise InputError(
        f"Training {method.title} with {method.bits:,} bits would take {cost}; the limit here is {limits}. {what_fits}"
    )


def check_costs(methods: Iterable[HashMethod], data: MultimodalDataset, split: Split, limits: Limits) -> None:
    """Raise InputError if the costliest of several runs exceeds the limits; the message names that run."""
    worst = max(methods, key=lambda method: limits.share(estimate(method, data, split)), default=None)
    if worst is not None:
        check_cost(worst, data, split, limits)


def check_study_cost(
    method: HashMethod,
    ranges: Mapping[str, tuple[float, float]],
    data: MultimodalDataset,
    split: Split,
    limits: Limits,
    bits: Sequence[int] = (),
) -> None:
    """Raise InputError if a study's starting point, or a trial at the ends of `ranges`, exceeds the limits.

    Both ends of a range are checked, because no anchors (0) can cost more than many anchors.
    """
    start = method.set_params(bits=max(bits, default=method.bits))
    ends = {name: ends for name, ends in ranges.items() if name in COSTLY_PARAMETERS}
    corners = [dict(zip(ends, values, strict=True)) for values in product(*ends.values())]
    check_costs([start, *(start.set_params(**corner) for corner in corners)], data, split, limits)


def check_source_size(source: DatasetSource, limits: Limits) -> None:
    """Raise InputError, before a data set is loaded, if it would exceed the memory limit."""
    _check_bytes(source.bytes, f"{source.card.title} with these options", limits)


def check_upload_size(data: MultimodalDataset, limits: Limits) -> None:
    """Raise InputError if an upload, which has been read already, exceeds the memory limit."""
    _check_bytes(dataset_bytes(data), "Your data", limits)


def dataset_bytes(data: MultimodalDataset) -> int:
    """Return the memory of a data set in bytes, with its captions and thumbnails."""
    arrays: list[Any] = [data.labels]
    for X in data.modalities.values():
        arrays += [X.data, X.indices, X.indptr] if isinstance(X, csr_array) else [X]
    display = (*(data.captions or ()), *(data.thumbnails or ()))
    return int(sum(array.nbytes for array in arrays)) + sum(map(sys.getsizeof, display))


def _check_bytes(size: int, what: str, limits: Limits) -> None:
    if size > limits.data_bytes:
        raise InputError(
            f"{what} takes {size / GB:.2f} GB; the limit for a data set is {limits.data_bytes / GB:.2f} GB "
            f"here. Use at most {limits.data_bytes / size:.0%} of the items."
        )


def estimate_classifier_cost(data: MultimodalDataset, split: Split) -> Cost:
    """Estimate memory and time to train the classifiers on n rows, d dimensions and c classes.
    Time per modality: n d c (logistic regression), n c (trees), n² d (SVM kernels), and ranking."""
    n, c, all_rows = min(len(split.train), MAX_ROWS), data.labels.shape[1], len(split.train)
    is_one = has_one_class(data.labels[split.train])
    outcomes = 1 if is_one else 2  # a tree for several labels stores yes and no for each class
    supports = len(SUPPORT) * len(WIDTHS) if is_one else 0
    settings = len(LOGISTIC) + len(LEAVES) + supports
    seconds = RANK_SECONDS * 2 * len(data.modalities) * min(len(split.queries), MAX_QUERIES) * all_rows
    memory = WORK_BYTES + 8.0 * all_rows * c
    for X in data.modalities.values():
        d = X.nnz / max(X.shape[0], 1) if hasattr(X, "nnz") else X.shape[1]  # stored values per item
        seconds += LOGISTIC_SECONDS * FOLDS * len(LOGISTIC) * n * d * c
        seconds += (ROW_SECONDS + CLASS_SECONDS * c * (outcomes - 1)) * FOLDS * len(LEAVES) * TREES * n
        seconds += PAIR_SECONDS * FOLDS * (1 + FOLDS) * supports * n * n * (d + PAIR_DIMENSIONS)
        seconds += RANK_SECONDS * (settings + MIXTURES) * min(n, MAX_QUERIES) * n
        a = min(n, ANCHORS)  # kernel ridge: a few matrices of n × a, and a decomposition
        seconds += 20 * n * a**2 / OPERATIONS_PER_SECOND
        memory += 24 * n * (d + a) + TREES * n * (NODE_BYTES + 8 * c * outcomes)
    return Cost(memory, seconds)


def check_classifier_cost(data: MultimodalDataset, split: Split, limits: Limits) -> None:
    """Raise InputError if training the classifiers of the reference level would exceed the limits."""
    cost = estimate_classifier_cost(data, split)
    if not limits.allow(cost):
        raise InputError(
            f"Training the classifiers would take {cost}; the limit here is {limits}. "
            "Use fewer items, dimensions or classes."
        )

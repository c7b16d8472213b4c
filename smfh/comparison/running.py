"""Train what is not there yet, and keep it."""

import logging
from collections.abc import Callable
from threading import Timer
from time import perf_counter

from smfh.comparison.grid import Grid
from smfh.datasets import DatasetSource
from smfh.hashing import FittedHasher, HashMethod
from smfh.jobs import JobKey, job_key
from smfh.store import RunRecord, RunStore, Timing
from smfh.study import Trained, search_every_way, train_and_search
from smfh.types import InputError, MultimodalDataset, OnStep, Split

LATER = 1.0  # seconds until a run is written
TIMES = 3  # encodings timed; the fastest counts
OnCell = Callable[[HashMethod, bool], None]  # a finished cell, and whether it was trained just now

log = logging.getLogger(__name__)


def kept_or_trained(
    store: RunStore,
    source: DatasetSource,
    method: HashMethod,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep,
) -> Trained:
    """The run from the store, searched again for its answers; else trained, and kept while it is looked at.

    Nobody waits for the disk, and where it fails the run is shown all the same.
    """
    key = job_key(data, method, "", split)
    if (kept := _kept(store, key, data, split)) is not None:
        return kept
    trained, seconds = _timed(method, data, split, on_step)

    def keep() -> None:
        try:
            store.save(key, source, trained, Timing(time_encoding(trained.hasher, data, split), seconds))
        except InputError as error:
            log.warning("A run was not kept: %s", error)

    later = Timer(LATER, keep)  # when the page is drawn; a program that ends waits for it
    later.name = "keeping"
    later.start()
    return trained


def train_and_keep(
    store: RunStore,
    source: DatasetSource,
    key: JobKey,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep,
) -> RunRecord:
    """A cell of a comparison: found, or trained and on the disk when this returns."""
    if (run := store.find(key)) is not None:  # another program was faster
        return run.record
    store.check_room()
    trained, seconds = _timed(key.method, data, split, on_step)
    return store.save(key, source, trained, Timing(time_encoding(trained.hasher, data, split), seconds))


def run_comparison(
    grid: Grid,
    store: RunStore,
    on_cell: OnCell = lambda cell, trained: None,
    on_step: OnStep = lambda step: None,
) -> dict[HashMethod, tuple[str, ...]]:
    """Train and keep every cell that the store has not; what could not be trained, with the reasons."""
    problems: dict[HashMethod, tuple[str, ...]] = {}
    for cell, key in grid.keys.items():
        there = store.find(key) is not None
        if not there:
            store.check_room()  # full: none of the rest could be kept
            try:
                train_and_keep(store, grid.comparison.source, key, grid.data, grid.split, on_step)
            except InputError as error:
                problems[cell] = error.problems
        on_cell(cell, not there)
    return problems


def time_encoding(hasher: FittedHasher, data: MultimodalDataset, split: Split) -> dict[str, float]:
    """Seconds to encode all queries, by their modality."""
    return {name: _fastest(hasher, name, data, split) for name in hasher.modalities}


def _fastest(hasher: FittedHasher, modality: str, data: MultimodalDataset, split: Split) -> float:
    features = data.modalities[modality][split.queries]
    seconds = []
    for _ in range(TIMES):
        started = perf_counter()
        hasher.functions[modality].encode(features)
        seconds.append(perf_counter() - started)
    return min(seconds)


def _timed(
    method: HashMethod, data: MultimodalDataset, split: Split, on_step: OnStep
) -> tuple[Trained, float]:
    started = perf_counter()
    return train_and_search(method, data, split, on_step), perf_counter() - started


def _kept(store: RunStore, key: JobKey, data: MultimodalDataset, split: Split) -> Trained | None:
    """The run with its answers, or None where it is not there or cannot be read."""
    if (run := store.find(key)) is None:
        return None
    try:
        return search_every_way(run.hasher, data, split)
    except InputError as error:
        log.warning("A kept run is trained again: %s", error)
        return None

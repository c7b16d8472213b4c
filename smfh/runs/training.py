"""Find or train: the one place from which pages, comparisons, studies and commands get a run."""

import logging
from collections.abc import Callable
from time import perf_counter

from smfh.datasets import DatasetSource
from smfh.evaluation import evaluate
from smfh.hamming import MOST_PAIRS
from smfh.hashing import FittedHasher, HashMethod
from smfh.jobs import Call, here
from smfh.metrics import Scores
from smfh.runs.film import Film
from smfh.runs.kept import KeptRuns
from smfh.runs.kernels import is_ready, rank_plainly_until_compiled, wait_until_ready
from smfh.runs.key import RunKey, run_key
from smfh.runs.record import RunRecord, Timing
from smfh.runs.run import Run, ready_searches
from smfh.runs.store import RunStore
from smfh.types import InputError, MultimodalDataset, OnStep, Split

ENCODINGS_TIMED = 3  # the fastest counts

log = logging.getLogger(__name__)


def find_or_train(
    store: RunStore | None,
    source: DatasetSource,
    method: HashMethod,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep | None = None,
    owner: str = "",
    film: Film | None = None,
    call: Call = here,
) -> Run:
    """The run, from the store or trained now, with its usual scores.

    A new run is on the disk when this returns, so that nothing which was shown is lost to a kill; that takes
    a fraction of a second, and where it fails the run is shown all the same. Without a store nothing is kept.
    A film of the training is made where one is handed in.
    """
    key = run_key(data, split, method, owner)
    if store is not None and (kept := _open(store, key, source, data, split)) is not None:
        return kept
    run, timing = train(key, source, data, split, on_step, film, call)
    if store is not None and not owner:
        _save(store, run, timing)
    return run


def find_or_keep(
    store: KeptRuns,
    source: DatasetSource,
    method: HashMethod,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep | None = None,
    owner: str = "",
    call: Call = here,
) -> RunRecord:
    """What is known of the run: found, or trained and kept when this returns."""
    key = run_key(data, split, method, owner)
    if (record := store.find(key)) is not None:
        return record
    store.check_room()
    return store.save(*train(key, source, data, split, on_step, call=call))


def train(
    key: RunKey,
    source: DatasetSource,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep | None = None,
    film: Film | None = None,
    call: Call = here,
) -> tuple[Run, Timing]:
    """Fit on the training rows and score what is usually looked at; the run, and the seconds it took."""
    wait_until_ready("training")
    bare, on_state = data.without_looks(), None if film is None else film.add
    hasher = call(fit, key.method, bare, split, on_step=on_step, on_state=on_state)
    run, seconds, encoding = _score(Run(key, source, data, split, hasher), call)
    return run, Timing(hasher.seconds, encoding, hasher.seconds + seconds)


def scored(run: Run, call: Call = here) -> Run:
    """The run with the scores that are usually looked at."""
    return _score(run, call)[0]


def fit(
    method: HashMethod,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep | None = None,
    on_state: Callable[[FittedHasher], None] | None = None,
) -> FittedHasher:
    """The method, trained on the training rows of the split."""
    return method.fit(data.take(split.train), on_step=on_step, on_state=on_state)


def score(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, is_compiled: bool = True
) -> tuple[list[Scores], float, dict[str, float]]:
    """The usual scores, the seconds they took, and those to encode all queries by their modality."""
    if not is_compiled:
        rank_plainly_until_compiled()
    started = perf_counter()
    scores = [evaluate(hasher, data, split, *search) for search in ready_searches(hasher.directions)]
    return scores, perf_counter() - started, time_encoding(hasher, data, split)


def _score(run: Run, call: Call) -> tuple[Run, float, dict[str, float]]:
    if len(run.split.train) * len(run.split.queries) > MOST_PAIRS:
        wait_until_ready("ranking")
    given = (run.hasher, run.data.without_looks(), run.split, is_ready("ranking"))
    scores, seconds, encoding = call(score, *given)
    for one in scores:
        run.remember(one)
    return run, seconds, encoding


def time_encoding(hasher: FittedHasher, data: MultimodalDataset, split: Split) -> dict[str, float]:
    """Seconds to encode all queries, by their modality."""
    return {name: _fastest(hasher, name, data, split) for name in hasher.modalities}


def _fastest(hasher: FittedHasher, modality: str, data: MultimodalDataset, split: Split) -> float:
    features = data.modalities[modality][split.queries]
    seconds = []
    for _ in range(ENCODINGS_TIMED):
        started = perf_counter()
        hasher.functions[modality].encode(features)
        seconds.append(perf_counter() - started)
    return min(seconds)


def _save(store: RunStore, run: Run, timing: Timing) -> None:
    try:
        store.save(run, timing)
    except Exception as error:  # whatever keeps it from the disk: the run itself is there
        log.warning("A run was not kept: %s", error)


def _open(
    store: RunStore, key: RunKey, source: DatasetSource, data: MultimodalDataset, split: Split
) -> Run | None:
    """The run with its model, or None where it is not there or cannot be read."""
    if (record := store.find(key)) is None:
        return None
    try:
        run = Run(key, source, data, split, store.hasher(record))
        for search in ready_searches(run.hasher.directions):
            run.remember(store.scores(record, data, split, *search))
        return run
    except InputError as error:
        log.warning("A kept run is trained again: %s", error)
        return None

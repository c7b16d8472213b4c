"""Find a saved run or train it, for pages, comparisons, studies and commands.

The first run needs compiled kernels, but the compiler blocks all other threads of its process. So another
process compiles them into Numba's cache, from which this process loads them, the training kernels first.
Until the ranking kernels are ready, small searches are ranked with NumPy. Compilation starts a few seconds after
the server, whose first page needs all cores, or as soon as a run needs the kernels.
"""

import logging
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from threading import Event, Thread
from time import perf_counter
from typing import Any, Literal

import numpy as np

from smfh.datasets import DatasetSource
from smfh.datasets.planted import Planted
from smfh.hamming import MAX_PAIRS, CodeIndex, rank_plainly_while
from smfh.hashing import METHODS, FittedHasher, HashMethod, make_method, preset
from smfh.jobs import Call, here
from smfh.metrics import Scores
from smfh.plugins import plugin_errors
from smfh.retrieval.evaluation import evaluate
from smfh.runs.run import Run, RunKey, RunRecord, Timing, ready_searches, run_key
from smfh.runs.store import RunStore, SavedRuns
from smfh.types import InputError, MultimodalDataset, OnStep, Split

ENCODING_REPEATS = 3  # of which the fastest is reported
MAX_SNAPSHOT_BYTES = 32 << 20
Part = Literal["training", "ranking"]  # of the kernels
MAX_WAIT_SECONDS = 120
FIRST_PAGE_SECONDS = 5.0  # in which nothing is compiled
SMALL_DATA, BITS = Planted(items=60, sparse_text=True), 12

log = logging.getLogger(__name__)
_ready: dict[Part, Event] = {}  # by part of the kernels; empty until begin_compiling is called
_is_needed = Event()  # set when something waits for kernels


class Snapshots:
    """The models after each step of a run, or after every second, fourth, … step if memory is scarce.

    One thread adds models; any number of threads read them.
    """

    def __init__(self, max_bytes: int = MAX_SNAPSHOT_BYTES) -> None:
        self._frames: tuple[FittedHasher, ...] = ()
        self._max_bytes, self._seen, self._stride = max_bytes, 0, 1

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, hasher: FittedHasher) -> None:
        """Add the model after the next step; the first step of a run clears earlier snapshots."""
        if len(hasher.trace) == 1:
            self._frames, self._seen, self._stride = (), 0, 1
        if self._seen % self._stride == 0:
            self._frames += (hasher,)
        self._seen += 1
        arrays = [*hasher.database_codes.values(), *hasher.bases.values()]  # without anchors, which all share
        arrays += [function.projection for function in hasher.functions.values()]
        size = sum({id(array): array.nbytes for array in arrays}.values())
        if len(self._frames) > 1 and len(self._frames) * size > self._max_bytes:
            self._frames, self._stride = self._frames[::2], 2 * self._stride

    def frames(self) -> tuple[FittedHasher, ...]:
        """Return the models recorded so far; the last step in a model's trace gives its iteration."""
        return self._frames


def find_or_train(
    store: RunStore | None,
    source: DatasetSource,
    method: HashMethod,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep | None = None,
    snapshots: Snapshots | None = None,
    call: Call = here,
) -> Run:
    """Return a run with its model and scores, read from the store or, if it is not saved, trained now.

    A new run is saved before this returns. If saving fails, the problem is logged and the run is returned
    anyway. Without a store, nothing is looked up or saved. `call` may train in another process. `snapshots`
    collects the model after each step of a new run.
    """
    key = run_key(data, split, method)
    if store is not None and (record := store.find(key)) is not None and record.model_arrays:
        try:
            train_items = data.take(split.train) if store.is_shipped(record) else None
            run = Run(key, source, data, split, store.hasher(record, train_items))
            for search in ready_searches(run.hasher.directions):
                run.add_scores(store.scores(record, data, split, *search))
            return run
        except InputError as error:
            log.warning("A saved run could not be read and will be trained again: %s", error)
    run, timing = train(key, source, data, split, on_step, snapshots, call)
    if store is not None:
        try:
            store.save(run, timing)
        except Exception as error:  # the run can be used even if it is not saved
            log.warning("A run was not saved: %s", error)
    return run


def ensure_saved(
    store: SavedRuns,
    source: DatasetSource,
    method: HashMethod,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep | None = None,
    call: Call = here,
) -> RunRecord:
    """Return the record of a run; if the store does not have it, train and save the run first."""
    key = run_key(data, split, method)
    if (record := store.find(key)) is not None:
        return record
    store.check_space()
    return store.save(*train(key, source, data, split, on_step, call=call))


def train(
    key: RunKey,
    source: DatasetSource,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep | None = None,
    snapshots: Snapshots | None = None,
    call: Call = here,
) -> tuple[Run, Timing]:
    """Train and score the run of this key; return it with its timing."""
    wait_until_ready("training")
    on_state = None if snapshots is None else snapshots.add
    hasher = call(fit, key.method, data.without_looks(), split, on_step=on_step, on_state=on_state)
    run = Run(key, source, data, split, hasher)
    scoring, encoding = score_run(run, call)
    return run, Timing(hasher.seconds, encoding, hasher.seconds + scoring)


def score_run(run: Run, call: Call = here) -> tuple[float, dict[str, float]]:
    """Score a run in all `ready_searches`; return the seconds of scoring, and of encoding by modality."""
    if len(run.split.train) * len(run.split.queries) > MAX_PAIRS:
        wait_until_ready("ranking")
    arguments = (run.hasher, run.data.without_looks(), run.split, is_ready("ranking"))
    scores, seconds, encoding = call(score, *arguments)
    for one in scores:
        run.add_scores(one)
    return seconds, encoding


def fit(
    method: HashMethod,
    data: MultimodalDataset,
    split: Split,
    on_step: OnStep | None = None,
    on_state: Callable[[FittedHasher], None] | None = None,
) -> FittedHasher:
    """Train the method on the training items of the split; return the hasher."""
    with plugin_errors(method):
        return method.fit(data.take(split.train), on_step=on_step, on_state=on_state)


def score(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, is_ranking_ready: bool = True
) -> tuple[list[Scores], float, dict[str, float]]:
    """Score a model; return the scores, the seconds they took, and the seconds to encode the queries.

    If the ranking kernels are not ready, rank with NumPy until another process has compiled them.
    """
    if not is_ranking_ready:
        from smfh.hamming.kernels import tally_inplace

        rank_plainly_while(lambda: not is_compiled(tally_inplace))
    started = perf_counter()
    with plugin_errors(hasher.method):
        scores = [evaluate(hasher, data, split, *search) for search in ready_searches(hasher.directions)]
    seconds, encoding = perf_counter() - started, dict[str, float]()
    for name in hasher.modalities:
        features = data.modalities[name][split.queries]
        for _ in range(ENCODING_REPEATS):
            started = perf_counter()
            hasher.functions[name].encode(features)
            encoding[name] = min(perf_counter() - started, encoding.get(name, inf))
    return scores, seconds, encoding


def begin_compiling(call: Call) -> None:
    """Start to compile, in the background, the kernels that Numba's cache lacks; later calls do nothing."""
    if _ready:
        return
    _ready["training"], _ready["ranking"] = Event(), Event()
    rank_plainly_while(lambda: not is_ready("ranking"))

    def compile_missing() -> None:
        _is_needed.wait(FIRST_PAGE_SECONDS)
        from smfh.hamming.kernels import tally_inplace  # import Numba
        from smfh.hashing.kernels import flip_bits_inplace

        last_kernels: dict[Part, Any] = {"training": flip_bits_inplace, "ranking": tally_inplace}
        for part, kernel in last_kernels.items():
            try:
                if not is_compiled(kernel):
                    call(compile_part, part)
            except (InputError, OSError) as error:
                log.warning("The %s kernels are compiled on first use: %s", part, error)
            finally:
                _ready[part].set()

    Thread(target=compile_missing, name="compiling", daemon=True).start()


def is_ready(part: Part) -> bool:
    """Whether the kernels for "training" or "ranking" can be used without waiting for their compilation."""
    return part not in _ready or _ready[part].is_set()


def wait_until_ready(part: Part) -> None:
    """If the kernels for "training" or "ranking" are being compiled in the background, wait for them."""
    _is_needed.set()
    if part in _ready and not _ready[part].wait(MAX_WAIT_SECONDS):
        log.warning("The %s kernels are compiled on first use.", part)


def is_compiled(kernel: Any) -> bool:
    """Whether Numba's cache has a kernel, compiled from its current source code."""
    source, function = Path(kernel.py_func.__code__.co_filename), kernel.py_func.__name__
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    found = Path(kernel._cache.cache_path).glob(f"{source.stem}.{function}-*.{version}*.nbi")
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in found)


def compile_part(part: Part) -> None:
    """Compile the kernels for "training" or "ranking" by using each once on a small data set."""
    data, split = SMALL_DATA.load()
    train, first = data.take(split.train), next(iter(METHODS))
    if part == "training":
        presets = [preset(first, choice) | {"bits": BITS} for choice in METHODS[first].presets]
        with_and_without_anchors = {bool(one["anchors"]): one for one in presets}
        for one in with_and_without_anchors.values():
            make_method(first, **one).fit(train)
    else:
        for top in (1, None):  # for identical codes, one result and all results use different kernels
            CodeIndex(np.zeros((100, 1), dtype=np.uint64)).rank(np.zeros((1, 1), dtype=np.uint64), top)
        evaluate(make_method("cvh", bits=BITS).fit(train), data, split, "text", "image")

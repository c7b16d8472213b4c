"""Compile the Numba kernels in another process, before the first run needs them.

The compiler blocks all other threads of its process. Another process compiles the kernels into Numba's
cache, from which this process loads them. Training kernels are compiled first. Until the ranking kernels are
ready, small searches are ranked with NumPy. All this starts a few seconds later than the server, whose first
page needs both Python and the cores, unless a run needs the kernels before.
"""

import logging
import sys
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

import numpy as np

from smfh.datasets.planted import Planted
from smfh.hamming import CodeIndex, rank_plainly_while
from smfh.hashing import METHODS, make_method, preset
from smfh.jobs import Call
from smfh.retrieval.evaluation import evaluate
from smfh.types import InputError

Part = Literal["training", "ranking"]
MAX_WAIT_SECONDS = 120
FIRST_PAGE_SECONDS = 5.0  # in which nothing is compiled
SMALL_DATA, BITS = Planted(items=60, sparse_text=True), 12

log = logging.getLogger(__name__)
_ready: dict[Part, Event] = {}  # empty until begin_compiling is called
_is_needed = Event()  # set when something waits for kernels


def begin_compiling(call: Call) -> None:
    """Compile the kernels missing in Numba's cache in the background, soon; later calls do nothing."""
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

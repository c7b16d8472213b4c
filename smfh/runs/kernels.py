"""What a first run needs compiled, before it needs it: the kernels of training, and then of ranking.

In one process the compiler takes one kernel at a time and keeps every other thread waiting. A process of its
own leaves what it compiles in Numba's cache, where this one finds it. Nobody waits for the ranking, which
NumPy does meanwhile; so training comes first, and has a core for itself.
"""

import logging
import sys
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

import numpy as np

from smfh.evaluation import evaluate
from smfh.hamming import CodeIndex, rank_plainly_while
from smfh.hashing import METHODS, make_method, preset
from smfh.jobs import Call
from smfh.runs.key import PROBE, PROBE_BITS
from smfh.types import InputError

Part = Literal["training", "ranking"]
LONGEST = 120  # seconds; then who needs a kernel compiles it

log = logging.getLogger(__name__)
_compiling: dict[Part, Event] = {}  # set when there is nothing more to do


def begin_compiling(call: Call) -> None:
    """Begin where there is something to compile, once, in processes that `call` has."""
    if _compiling:
        return
    from smfh.hamming.kernels import tally_inplace
    from smfh.hashing.kernels import flip_bits_inplace

    last_of: dict[Part, Any] = {"training": flip_bits_inplace, "ranking": tally_inplace}
    rank_plainly_while(lambda: not is_ready("ranking"))
    for part, last in last_of.items():
        _compiling[part] = Event()
        if is_compiled(last):
            _compiling[part].set()
    Thread(target=_compile, args=(call,), name="compiling", daemon=True).start()


def rank_plainly_until_compiled() -> None:
    """In a process that another one compiles for: do not wait for its ranking."""
    from smfh.hamming.kernels import tally_inplace

    rank_plainly_while(lambda: not is_compiled(tally_inplace))


def is_ready(part: Part) -> bool:
    """Whether nobody is at work on these kernels."""
    return part not in _compiling or _compiling[part].is_set()


def wait_until_ready(part: Part) -> None:
    """Return when these kernels have been compiled, if that was begun."""
    if part in _compiling and not _compiling[part].wait(LONGEST):
        log.warning("The kernels of %s are compiled when they are needed.", part)


def is_compiled(kernel: Any) -> bool:
    """Whether Numba's cache has it, from the source as it is; of each part the last one is asked for."""
    source, function = Path(kernel.py_func.__code__.co_filename), kernel.py_func.__name__
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    found = Path(kernel._cache.cache_path).glob(f"{source.stem}.{function}-*.{version}*.nbi")
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in found)


def compile_part(part: Part) -> None:
    """Use the kernels once, on a small set."""
    data, split = PROBE.load()
    train, first = data.take(split.train), next(iter(METHODS))
    if part == "training":
        presets = [preset(first, choice) | {"bits": PROBE_BITS} for choice in METHODS[first].presets]
        with_anchors_and_without = {bool(one["anchors"]): one for one in presets}
        for one in with_anchors_and_without.values():
            make_method(first, **one).fit(train)
    else:
        for top in (1, None):  # both ways through codes of which many are equal
            CodeIndex(np.zeros((100, 1), dtype=np.uint64)).rank(np.zeros((1, 1), dtype=np.uint64), top)
        plain = make_method("cvh", bits=PROBE_BITS).fit(train)  # which has no kernels of its own
        evaluate(plain, data, split, "text", "image")


def _compile(call: Call) -> None:
    for part in [part for part in _compiling if not is_ready(part)]:
        try:
            call(compile_part, part)
        except (InputError, OSError) as error:
            log.warning("The kernels of %s are compiled when they are needed: %s", part, error)
        finally:
            _compiling[part].set()

"""What a first run needs compiled, before it needs it: the kernels of training and of ranking, side by side.

In one process the compiler takes one kernel at a time and keeps every other thread waiting. Processes of
their own leave what they compile in Numba's cache, where this one finds it.
"""

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

from smfh.evaluation import evaluate
from smfh.hashing import METHODS, make_method, preset
from smfh.runs.key import PROBE, PROBE_BITS

Part = Literal["training", "ranking"]
ROOT = Path(__file__).parents[2]
COMMAND = f"import sys, {__name__} as kernels; kernels.compile_part(sys.argv[1])"
LONGEST = 120  # seconds; then who needs a kernel compiles it

log = logging.getLogger(__name__)
_compiling: dict[Part, "subprocess.Popen[bytes] | None"] = {}  # None: it had been compiled before


def begin_compiling() -> None:
    """Start the processes where there is something to compile, once."""
    if _compiling:
        return
    from smfh.hamming.kernels import tally_inplace
    from smfh.hashing.kernels import flip_bits_inplace

    _compiling["training"] = None if is_compiled(flip_bits_inplace) else _start("training")
    _compiling["ranking"] = None if is_compiled(tally_inplace) else _start("ranking")


def is_ready(part: Part) -> bool:
    """Whether nobody is at work on these kernels."""
    process = _compiling.get(part)
    return process is None or process.poll() is not None


def wait_until_ready(part: Part) -> None:
    """Return when these kernels have been compiled, if that was begun."""
    if (process := _compiling.get(part)) is not None:
        try:
            process.wait(LONGEST)
        except subprocess.TimeoutExpired:
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
        for choice in METHODS[first].presets:
            make_method(first, **preset(first, choice) | {"bits": PROBE_BITS}).fit(train)
    else:
        plain = make_method("cvh", bits=PROBE_BITS).fit(train)  # which has no kernels of its own
        evaluate(plain, data, split, "text", "image")


def _start(part: Part) -> "subprocess.Popen[bytes] | None":
    try:
        return subprocess.Popen([sys.executable, "-c", COMMAND, part], cwd=ROOT)  # noqa: S603
    except OSError as error:
        log.warning("The kernels of %s are compiled when they are needed: %s", part, error)
        return None

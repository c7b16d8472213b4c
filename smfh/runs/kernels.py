"""What a first run needs compiled, before it needs it: kernels of training and of ranking, side by side.

In one process the compiler takes one kernel at a time and keeps every other thread waiting. Processes of
their own leave what they compile in Numba's cache, where this one finds it.

python -m smfh.runs.kernels training|ranking compiles one part.
"""

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

from smfh.evaluation import evaluate
from smfh.hashing import METHODS, make_method
from smfh.runs.key import PROBE, PROBE_BITS

ROOT = Path(__file__).parents[2]
LONGEST = 120  # seconds; then a run compiles what it needs itself

log = logging.getLogger(__name__)


def compile_kernels() -> None:
    """Return when all is compiled; at once where it was before."""
    from smfh.hamming.kernels import tally_inplace
    from smfh.hashing.kernels import flip_bits_inplace

    last = {"training": flip_bits_inplace, "ranking": tally_inplace}  # of each part
    try:
        command = [sys.executable, "-m", __name__]
        parts = [
            subprocess.Popen([*command, part], cwd=ROOT)  # noqa: S603
            for part, kernel in last.items()
            if not is_compiled(kernel)
        ]
        for part in parts:
            part.wait(LONGEST)
    except (OSError, subprocess.TimeoutExpired) as error:
        log.warning("Kernels are compiled when they are needed: %s", error)


def is_compiled(kernel: Any) -> bool:
    """Whether Numba's cache has it, and from the source as it is."""
    source, function = Path(kernel.py_func.__code__.co_filename), kernel.py_func.__name__
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    found = Path(kernel._cache.cache_path).glob(f"{source.stem}.{function}-*.{version}*.nbi")
    return any(index.stat().st_mtime >= source.stat().st_mtime for index in found)


def compile_part(part: str) -> None:
    """Use the kernels once, on a small set."""
    data, split = PROBE.load()
    name = next(iter(METHODS)) if part == "training" else "cvh"  # which has no kernels of its own
    hasher = make_method(name, bits=PROBE_BITS).fit(data.take(split.train))
    if part == "ranking":
        evaluate(hasher, data, split, "text", "image")


if __name__ == "__main__":
    compile_part(sys.argv[1])

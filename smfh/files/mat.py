""".mat files (MATLAB 4 to 7), parsed in a child process: a crafted file may kill it, not the app."""

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from numpy.typing import NDArray
from scipy import sparse

from smfh.files.arrays import read_npz
from smfh.files.content import Content, guarded, megabytes, name_of, opened
from smfh.types import InputError

CHILD = Path(__file__).with_name("mat_child.py")
MAX_MAT_BYTES = 1 << 29
SECONDS = 60.0
INTERPRETER_BYTES = 1 << 29  # address space of Python with NumPy and SciPy, before any data
REFUSED = 3  # the child's exit code when it says in words what is wrong

Variable = NDArray[Any] | sparse.csr_array


class MatContents(NamedTuple):
    """What of a .mat file can be read."""

    variables: Mapping[str, Variable]  # matrices of numbers, and lists of words
    left_out: tuple[str, ...]  # what else is in it, such as model (struct, 1 × 1)


def read_mat(
    content: Content,
    names: Sequence[str] | None = None,
    name: str = "",
    max_bytes: int = MAX_MAT_BYTES,
    seconds: float = SECONDS,
) -> MatContents:
    """All that can be read of the file, or the matrices of these names.

    Cells of words become a list of words, with | between those of one item; cells of matrices become a
    variable each, such as X (1) and X (2).
    """
    name = name_of(content, name)
    with guarded(name), opened(content, name, max_bytes) as file:
        _check_container(file, name)
        handed: dict[str, Any] = {"input": content} if isinstance(content, bytes) else {"stdin": file}
        return _collect(_run_child(handed, names, name, max_bytes, seconds), name, max_bytes)


def _run_child(
    handed: dict[str, Any], names: Sequence[str] | None, name: str, max_bytes: int, seconds: float
) -> bytes:
    """The .npz file that the child makes of what it is handed, by pipes: an upload never comes to a disk."""
    request = {
        "names": None if names is None else list(names),
        "max_bytes": max_bytes,
        "memory": INTERPRETER_BYTES + 3 * max_bytes,  # the file's bytes, the matrices, their conversion
    }
    command = [sys.executable, "-P", "-W", "ignore", str(CHILD), json.dumps(request)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # each thread would reserve address space
    try:
        child: subprocess.CompletedProcess[bytes] = subprocess.run(  # noqa: S603  our own file, no shell
            command, capture_output=True, timeout=seconds, env=environment, **handed
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{name} was not read within {seconds:g} s; it is damaged or too large.") from error
    if child.returncode == REFUSED:
        said = child.stderr.decode(errors="replace").strip()
        raise InputError([f"{name}: {line}" for line in said[:4000].splitlines()])
    if child.returncode != 0:
        how = signal.Signals(-child.returncode).name if child.returncode < 0 else f"code {child.returncode}"
        raise InputError(f"{name} makes the reader of .mat files crash ({how}); it is damaged or crafted.")
    return child.stdout


def _collect(written: bytes, name: str, max_bytes: int) -> MatContents:
    """What the child has written, checked as if a stranger had."""
    parts = read_npz(written, name=name, max_bytes=max_bytes)
    variables: dict[str, Variable] = {}
    for key in parts:
        variable, _, part = key.rpartition("/")
        if part in ("dense", "words"):
            variables[variable] = parts[key]
        elif part == "data":
            arrays = tuple(parts[f"{variable}/{piece}"] for piece in ("data", "indices", "indptr"))
            rows, columns = (int(n) for n in parts[f"{variable}/shape"])
            matrix = sparse.csr_array(arrays, shape=(rows, columns))
            matrix.check_format(full_check=True)
            variables[variable] = matrix
    return MatContents(variables, tuple(map(str, parts["/left_out"])))


def _check_container(file: BinaryIO, name: str) -> None:
    """Name the two ways in which a .mat file is often wrong: version 7.3, and cut short."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(128)
    if b"MATLAB 7.3" in head[:32] or head.startswith(b"\x89HDF"):
        raise InputError(f"{name} is a MATLAB 7.3 (HDF5) file; save it in MATLAB with -v7.")
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    if order is None:
        return  # version 4 has no such mark; SciPy decides
    position = 128
    while position < size:
        file.seek(position)
        tag = file.read(8)
        if len(tag) < 8:
            break
        kind, length = struct.unpack(order + "II", tag)
        # a tag with something in its upper half carries its value in its own eight bytes
        position += 8 if kind >> 16 else 8 + length
    if position != size:
        raise InputError(
            f"{name} is truncated or damaged: its parts need {position:,} bytes, it has {megabytes(size)} "
            f"({size:,} bytes). Fetch it again."
        )

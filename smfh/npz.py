"""Arrays in .npz files from anyone: no pickle, and every header checked before memory is asked for."""

import math
import os
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from smfh.types import InputError

MAX_BYTES = 4 << 30
MAX_MEMBERS = 1024

Array = NDArray[Any]


def read_npz(file: Path | IO[bytes], name: str | None = None, max_bytes: int = MAX_BYTES) -> dict[str, Array]:
    """All arrays by name; `name` is what errors call the file."""
    label = name or (file.name if isinstance(file, Path) else "The file")
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_archive(label, members, max_bytes)
            return {info.filename[: -len(".npy")]: _read_member(label, archive, info) for info in members}
    except InputError:
        raise
    except (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{label} cannot be read as .npz: {error or type(error).__name__}.") from error


def _check_archive(label: str, members: list[zipfile.ZipInfo], max_bytes: int) -> None:
    problems = []
    if len(members) > MAX_MEMBERS:
        problems.append(f"{label} holds {len(members)} arrays; at most {MAX_MEMBERS} are read.")
    if (size := sum(info.file_size for info in members)) > max_bytes:
        problems.append(f"{label} would need {size >> 20} MB; at most {max_bytes >> 20} MB are read.")
    problems += [f"{label}: {info.filename!r} is not a .npy array." for info in members if not _is_npy(info)]
    names = [info.filename for info in members]
    if len(set(names)) != len(names):
        problems.append(f"{label} holds two arrays of one name.")
    if problems:
        raise InputError(problems)


def _is_npy(info: zipfile.ZipInfo) -> bool:
    return info.filename.endswith(".npy") and not info.flag_bits & 0x1  # 0x1: encrypted


def _read_member(label: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    with archive.open(info) as member:
        return read_npy(member, info.file_size, f"{label}: {info.filename!r}")


def read_npy(file: IO[bytes], size: int, label: str) -> Array:
    """One array from a stream of `size` bytes; ValueError where it is no .npy stream."""
    versions = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if (version := npy.read_magic(file)) not in versions:
        raise InputError(f"{label} has version {version} of the .npy format; 1.0 and 2.0 are read.")
    shape, column_major, dtype = versions[version](file)
    if dtype.hasobject:
        raise InputError(f"{label} holds Python objects; only numbers are read.")
    wanted, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if wanted != there:
        raise InputError(f"{label} promises {wanted} bytes ({dtype} {shape}) but has {there}: it is damaged.")
    flat = np.frombuffer(file.read(wanted), dtype=dtype)
    return flat.reshape(shape, order="F" if column_major else "C")


def write_npz(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write beside the file and move into place, so that no reader ever meets a half of it."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

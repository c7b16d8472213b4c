""".npy and .npz: the header is checked before memory is asked for, and nothing is unpickled."""

import io
import math
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from smfh.files.archive import ArchiveLimits, open_archive
from smfh.files.content import Content, guarded, megabytes, name_of, opened
from smfh.files.whole import write_whole
from smfh.types import InputError

MAX_ARRAY_BYTES = 1 << 30
MAX_HEADER = 10_000
LONGEST_START = MAX_HEADER + 16  # bytes of a file before its first number: the magic, then the header
KINDS = "fiubU"  # numbers and words
SURROGATES = 0xD800 >> 11  # halves of characters, which mean nothing alone
# a matrix of few distinct counts compresses as a bomb does, so only its size is limited
NPZ_LIMITS = ArchiveLimits(members=1000, expanded=MAX_ARRAY_BYTES, ratio=1100)

Array = NDArray[Any]


def read_npy(content: Content, name: str = "", max_bytes: int = MAX_ARRAY_BYTES) -> Array:
    """One array of at most two dimensions, read-only."""
    name = name_of(content, name)
    with guarded(name), opened(content, name) as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        return _read_array(file, size, name, max_bytes)


def read_npz(
    content: Content, names: Sequence[str] | None = None, name: str = "", max_bytes: int = MAX_ARRAY_BYTES
) -> dict[str, Array]:
    """The arrays of these names, or all, each of at most two dimensions, read-only."""
    name = name_of(content, name)
    arrays: dict[str, Array] = {}
    problems: list[str] = []
    limits = replace(NPZ_LIMITS, expanded=max(NPZ_LIMITS.expanded, max_bytes))
    with open_archive(content, name, limits) as archive:
        there = {member.removesuffix(".npy"): member for member in archive.members if member.endswith(".npy")}
        wanted = list(there) if names is None else list(names)
        if absent := [key for key in wanted if key not in there]:
            raise InputError(f"{name} lacks {', '.join(absent)}; it has {', '.join(there) or 'no array'}.")
        asked = sum(archive.members[there[key]].file_size for key in wanted)
        if asked > max_bytes + len(wanted) * LONGEST_START:
            raise InputError(
                f"{name} unpacks to {megabytes(asked)} of arrays; at most {megabytes(max_bytes)} are read."
            )
        left = max_bytes
        for key in wanted:
            try:
                with archive.open(there[key]) as member:
                    size = archive.members[there[key]].file_size
                    arrays[key] = _read_array(member, size, f"{key} in {name}", left)
                left -= arrays[key].nbytes
            except InputError as error:
                problems += error.problems
    if problems:
        raise InputError(problems)
    return arrays


def write_npz(path: Path, arrays: Mapping[str, Array], level: int = 6) -> None:
    """The arrays as one file, compressed from 1 (fast) to 9 (small)."""
    write_whole(path, lambda file: pack_npz(file, arrays, level))


def pack_npz(file: BinaryIO, arrays: Mapping[str, Array], level: int = 6) -> None:
    """What `numpy.savez_compressed` writes, with a choice of the level."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _read_array(file: IO[bytes], size: int, name: str, max_bytes: int) -> Array:
    shape, fortran, dtype, start = _read_header(file, name)
    if dtype.hasobject:
        raise InputError(f"{name} holds pickled objects, which are never opened; save numbers or words.")
    if dtype.kind not in KINDS or dtype.names:
        raise InputError(f"{name} must hold real numbers or words; got {dtype}.")
    if len(shape) > 2 or min(shape, default=0) < 0:
        raise InputError(f"{name} must be a vector or a matrix; got shape {shape}.")
    items = math.prod(shape)
    if max(items * dtype.itemsize, items, *shape) > max_bytes:  # also of nothing there can be too many
        asked = megabytes(items * dtype.itemsize)
        raise InputError(f"{name} asks for {asked} (shape {shape}); at most {megabytes(max_bytes)} are read.")
    if start + items * dtype.itemsize > size:
        raise InputError(f"{name} is truncated: its header promises shape {shape}, the file is too short.")
    file.seek(start)
    array = np.frombuffer(file.read(items * dtype.itemsize), dtype, count=items)
    if dtype.kind == "U":
        _check_characters(array, name)
    return array.reshape(shape, order="F" if fortran else "C")


def _check_characters(words: Array, name: str) -> None:
    """Refuse what is no character before it becomes one: Python would end in a SystemError, or later."""
    points = words.view(np.dtype(np.uint32).newbyteorder(words.dtype.byteorder))
    if (strange := points[(points > sys.maxunicode) | (points >> 11 == SURROGATES)]).size:
        raise InputError(f"{name} has the character number {strange[0]:#x}, which Unicode has not.")


def _read_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    head = io.BytesIO(file.read(LONGEST_START))  # a header that claims to be longer ends here
    try:
        version = np.lib.format.read_magic(head)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, fortran, dtype = read[version](head, max_header_size=MAX_HEADER)
    except Exception as error:  # a crafted header makes the parser of Python literals raise nearly anything
        raise InputError(f"{name} is not a .npy array, or its header is damaged or truncated.") from error
    return shape, fortran, dtype, head.tell()

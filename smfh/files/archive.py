""".zip and .npz archives, checked against limits before unpacking.

Names of members are never used as paths, array headers are checked before memory is allocated, and nothing is
unpickled.
"""

import io
import math
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, starmap
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smfh.files.atomic import write_atomically
from smfh.files.content import Content, convert_errors, name_of, open_content
from smfh.files.limits import (
    MAX_ARRAY_BYTES,
    MAX_CHARACTERS,
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    Header,
    check_headers,
    check_size,
    max_unpacked,
    megabytes,
)
from smfh.types import InputError, collect_problems

END_OF_DIRECTORY, ZIP64_LOCATOR = b"PK\x05\x06", b"PK\x06\x07"
MAX_END_BYTES = 22 + 0xFFFF  # the largest end-of-directory record, with its comment
MAX_ENTRY_BYTES = 1024  # of one file in the list of files: a header of 46 bytes, name and extra fields
HARMLESS_BYTES = 1 << 26  # smaller members are accepted whatever their compression ratio
MAX_HEADER_BYTES = 10_000
MAX_START_BYTES = MAX_HEADER_BYTES + 16  # magic number and header
KINDS = "fiubU"  # numbers and strings
PART_BYTES = 1 << 22  # read at a time

Array = NDArray[Any]


@dataclass(frozen=True)
class ArchiveLimits:
    members: int = MAX_ENTRIES
    expanded: int = 1 << 30  # bytes of all members together
    ratio: int = 200  # limit of expanded size / compressed size


DEFAULT_LIMITS = ArchiveLimits()
# a matrix of few distinct counts compresses as strongly as a zip bomb, so the ratio may be high
NPZ_LIMITS = ArchiveLimits(members=1000, expanded=MAX_ARRAY_BYTES, ratio=1100)


@dataclass(frozen=True)
class Archive:
    """An open .zip archive that has passed all checks against the limits."""

    name: str
    members: dict[str, zipfile.ZipInfo]  # files by name, without folders
    _zip: zipfile.ZipFile

    @contextmanager
    def open(self, member: str) -> Iterator[IO[bytes]]:
        """Open a member as a stream that ends after its declared size."""
        with convert_errors(f"{member} in {self.name}"), self._zip.open(self.members[member]) as stream:
            yield stream

    def read(self, member: str) -> bytes:
        with self.open(member) as stream:
            return stream.read()


@contextmanager
def open_archive(content: Content, name: str = "", limits: ArchiveLimits = DEFAULT_LIMITS) -> Iterator[Archive]:
    """Open a .zip archive and check it; raise an InputError that lists every problem."""
    name = name_of(content, name)
    with open_content(content, name, max(MAX_FILE_BYTES, limits.expanded)) as file:
        with convert_errors(f"The list of files in {name}"):
            _check_directory_size(file, name, limits)
            archive = zipfile.ZipFile(file)
        with archive:
            members = [info for info in archive.infolist() if not info.filename.endswith("/")]
            if problems := _problems(members, name, limits):
                raise InputError(problems)
            yield Archive(name, {info.filename: info for info in members}, archive)


def _check_directory_size(file: BinaryIO, name: str, limits: ArchiveLimits) -> None:
    """Raise InputError if an archive lists too many files, because Python makes an object for each one."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - MAX_END_BYTES - 20))
    tail = file.read()
    file.seek(0)
    start = tail.find(END_OF_DIRECTORY)
    if start < 0:
        if file.read(4) == b"PK\x03\x04":
            raise InputError(f"{name} is truncated: its end is missing. Create or download it again.")
        raise InputError(f"{name} is not a .zip archive.")
    while start >= 0:  # check each record that a parser could use
        declared = int.from_bytes(tail[start + 12 : start + 16], "little")
        zip64 = tail[max(0, start - 20) : start].startswith(ZIP64_LOCATOR)
        if zip64 or declared > limits.members * MAX_ENTRY_BYTES:
            raise InputError(f"The list of files in {name} is too long; the limit is {limits.members:,} files.")
        start = tail.find(END_OF_DIRECTORY, start + 1)


def _problems(members: list[zipfile.ZipInfo], name: str, limits: ArchiveLimits) -> list[str]:
    problems = []
    if len(members) > limits.members:
        problems.append(f"{name} has {len(members):,} files; the limit is {limits.members:,}.")
    if (expanded := sum(info.file_size for info in members)) > limits.expanded:
        problems.append(f"{name} expands to {megabytes(expanded)}; the limit is {megabytes(limits.expanded)}.")
    for info in members:
        member = f"{info.filename} in {name}"
        if info.file_size > max(HARMLESS_BYTES, limits.ratio * info.compress_size):
            ratio = info.file_size // max(1, info.compress_size)
            problems.append(f"{member} expands {ratio:,}-fold; the limit is {limits.ratio}-fold.")
        if info.flag_bits & 1:
            problems.append(f"{member} is encrypted. Create the archive without a password.")
        # other compression methods can expand without limit in one step
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            problems.append(f"{member} uses compression method {info.compress_type}. Use the default, deflate.")
    names = Counter(info.filename for info in members)
    return problems + [f"{name} contains {member} more than once." for member in names if names[member] > 1]


def read_npz(
    content: Content,
    names: Sequence[str] | None = None,
    name: str = "",
    max_bytes: int = MAX_ARRAY_BYTES,
    is_data: bool = False,
) -> dict[str, Array]:
    """Read all arrays of a .npz file, or only those in `names`.

    The arrays are read-only and have at most two dimensions. In a user's data (`is_data`), the numbers of
    rows and columns and the size as float32 are limited, too.
    """
    name = name_of(content, name)
    limits = replace(NPZ_LIMITS, expanded=max(NPZ_LIMITS.expanded, max_bytes))
    with open_archive(content, name, limits) as archive:
        members = {member.removesuffix(".npy"): member for member in archive.members if member.endswith(".npy")}
        names = list(members) if names is None else names
        if missing := [key for key in names if key not in members]:
            raise InputError(f"{name} lacks {', '.join(missing)}; it has {', '.join(members) or 'no array'}.")
        sizes = [archive.members[members[key]].file_size for key in names]

        def header_of(key: str, size: int) -> ArrayHeader:
            with archive.open(members[key]) as member:
                return _read_header(member, size, f"{key} in {name}", max_bytes)

        def values_of(key: str, header: ArrayHeader) -> Array:
            with archive.open(members[key]) as member:
                return _read_values(member, header)

        headers = collect_problems(*(partial(header_of, *one) for one in zip(names, sizes, strict=True)))
        check_size(f"{name}, unpacked,", sum(header.bytes for header in headers), max_bytes)
        if is_data:
            _check_data(name, headers, max_unpacked(content, max_bytes))
        arrays = collect_problems(*(partial(values_of, *one) for one in zip(names, headers, strict=True)))
        return dict(zip(names, arrays, strict=True))


def read_npy(content: Content, name: str = "", max_bytes: int = MAX_ARRAY_BYTES) -> Array:
    """Read a .npy file of a user's data, with the limits of `read_npz`."""
    name = name_of(content, name)
    with convert_errors(name), open_content(content, name, max(MAX_FILE_BYTES, max_bytes)) as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        header = _read_header(file, size, f"The array in {name}", max_bytes)
        _check_data(name, [header], max_bytes)
        return _read_values(file, header)


def write_npz(path: Path, arrays: Mapping[str, Array], level: int = 6) -> None:
    """Write the arrays to a .npz file with compression level 1 (fast) to 9 (small)."""
    write_atomically(path, lambda file: pack_npz(file, arrays, level))


def pack_npz(file: BinaryIO, arrays: Mapping[str, Array], level: int = 6) -> None:
    """Write the arrays as `numpy.savez_compressed` does, but with the given compression level."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def join_bytes(items: Sequence[bytes]) -> tuple[Array, Array]:
    """Return byte strings as one array, and the end of each; `split_bytes` is the inverse."""
    return np.frombuffer(b"".join(items), dtype=np.uint8), np.cumsum([len(one) for one in items], dtype=np.int64)


def split_bytes(joined: Array, ends: Array) -> list[bytes]:
    """Return the byte strings that `join_bytes` joined."""
    content, places = joined.tobytes(), [0, *ends.tolist()]
    return [content[start:end] for start, end in pairwise(places)]


class ArrayHeader(NamedTuple):
    """The header of a .npy array."""

    name: str  # in messages
    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    start: int  # position of the first value in the file, in bytes

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def _check_data(name: str, headers: Sequence[ArrayHeader], max_bytes: int) -> None:
    """Raise InputError if an array in a user's data is too large, or needs too much space for strings."""
    inner = ((one.name.removesuffix(f" in {name}"), one.shape, one.dtype.itemsize) for one in headers)
    check_headers(name, starmap(Header, inner), max_bytes)
    if sum(one.bytes // 4 for one in headers if one.dtype.kind == "U") > MAX_CHARACTERS:
        raise InputError(
            f"The strings in {name} need space for more than {MAX_CHARACTERS:,} characters, because each "
            "string takes as much space as the longest one. Save fewer or shorter strings, or a .csv table."
        )


def _read_header(file: IO[bytes], size: int, name: str, max_bytes: int) -> ArrayHeader:
    """Read the header of a .npy file of `size` bytes; raise InputError unless it has numbers or strings."""
    head = io.BytesIO(file.read(MAX_START_BYTES))  # a longer header is cut off here, and refused
    try:
        version = np.lib.format.read_magic(head)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, fortran, dtype = read[version](head, max_header_size=MAX_HEADER_BYTES)
    except Exception as error:  # a crafted header makes the parser of Python literals raise nearly anything
        raise InputError(f"{name} is not a .npy array, or its header is damaged or truncated.") from error
    if dtype.hasobject:
        raise InputError(f"{name} contains pickled objects, which could run code. Save numbers or strings.")
    if dtype.kind not in KINDS or dtype.names:
        raise InputError(f"{name} must contain real numbers or strings; got {dtype}.")
    if len(shape) > 2 or min(shape, default=0) < 0:
        raise InputError(f"{name} must be a vector or a matrix; got shape {shape}.")
    header = ArrayHeader(name, shape, fortran, dtype, head.tell())
    if max(header.bytes, math.prod(shape), *shape) > max_bytes:  # arrays of zero bytes may have many items
        needs, limit = megabytes(header.bytes), megabytes(max_bytes)
        raise InputError(f"{name} needs {needs} (shape {shape}); the limit is {limit}.")
    if header.start + header.bytes > size:
        raise InputError(f"{name} is truncated: the file is too short for shape {shape}.")
    return header


def _read_values(file: IO[bytes], header: ArrayHeader) -> Array:
    file.seek(header.start)
    dtype, content, position = header.dtype, np.empty(header.bytes, dtype=np.uint8), 0
    while part := file.read(min(PART_BYTES, header.bytes - position)):  # a compressed file would be held twice
        content[position : position + len(part)] = np.frombuffer(part, dtype=np.uint8)
        position += len(part)
    if position < header.bytes:
        raise InputError(f"{header.name} is truncated: it has {position:,} of {header.bytes:,} bytes.")
    content.flags.writeable = False
    array = np.frombuffer(content, dtype, count=math.prod(header.shape))
    if dtype.kind == "U":  # Python could later raise a SystemError on invalid characters
        points = array.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        is_surrogate = points >> 11 == 0xD800 >> 11  # half of a character
        if (invalid := points[(points > sys.maxunicode) | is_surrogate]).size:
            raise InputError(f"{header.name} contains {invalid[0]:#x}, which is not a Unicode character.")
    return array.reshape(header.shape, order="F" if header.is_fortran else "C")

""".zip archives, limited before anything is unpacked. Member names are keys, never paths."""

import io
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, BinaryIO

from smfh.files.content import MAX_FILE_BYTES, Content, guarded, megabytes, name_of, opened
from smfh.types import InputError

END_OF_DIRECTORY = b"PK\x05\x06"
ZIP64_LOCATOR = b"PK\x06\x07"
LONGEST_END = 22 + 0xFFFF  # the end record and its comment
DIRECTORY_BYTES_A_MEMBER = 1024  # a header of 46 bytes, names and extra fields
HARMLESS_BYTES = 1 << 26  # what expands to less cannot hurt, however well it was compressed


@dataclass(frozen=True)
class ArchiveLimits:
    members: int = 20_000
    expanded: int = 1 << 30  # bytes, all members together
    ratio: int = 200  # expanded to compressed


DEFAULT_LIMITS = ArchiveLimits()


@dataclass(frozen=True)
class Archive:
    """An opened archive whose directory is within the limits."""

    name: str
    members: dict[str, zipfile.ZipInfo]  # without folders
    _zip: zipfile.ZipFile

    @contextmanager
    def open(self, member: str) -> Iterator[IO[bytes]]:
        """The member as a stream that ends after the size which the directory declares."""
        with guarded(f"{member} in {self.name}"), self._zip.open(self.members[member]) as stream:
            yield stream

    def read(self, member: str) -> bytes:
        with self.open(member) as stream:
            return stream.read()


@contextmanager
def open_archive(
    content: Content, name: str = "", limits: ArchiveLimits = DEFAULT_LIMITS
) -> Iterator[Archive]:
    """An archive, or all the reasons why it is refused."""
    name = name_of(content, name)
    with opened(content, name, max(MAX_FILE_BYTES, limits.expanded)) as file:
        with guarded(f"The directory of {name}"):
            _check_directory_size(file, name, limits)
            archive = zipfile.ZipFile(file)
        with archive:
            members = [info for info in archive.infolist() if not info.filename.endswith("/")]
            if problems := _problems(members, name, limits):
                raise InputError(problems)
            yield Archive(name, {info.filename: info for info in members}, archive)


def _check_directory_size(file: BinaryIO, name: str, limits: ArchiveLimits) -> None:
    """Refuse a directory too large to be parsed: Python builds an object for each entry."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - LONGEST_END - 20))
    tail = file.read()
    file.seek(0)
    start = tail.find(END_OF_DIRECTORY)
    if start < 0:
        if file.read(4) == b"PK\x03\x04":
            raise InputError(f"{name} is truncated: the directory at its end is missing. Fetch it again.")
        raise InputError(f"{name} is not a .zip archive.")
    while start >= 0:  # every record that a reader could take for the real one
        declared = int.from_bytes(tail[start + 12 : start + 16], "little")
        zip64 = tail[max(0, start - 20) : start].startswith(ZIP64_LOCATOR)
        if zip64 or declared > limits.members * DIRECTORY_BYTES_A_MEMBER:
            raise InputError(f"{name} has too large a directory; at most {limits.members:,} files are read.")
        start = tail.find(END_OF_DIRECTORY, start + 1)


def _problems(members: list[zipfile.ZipInfo], name: str, limits: ArchiveLimits) -> list[str]:
    problems = []
    if len(members) > limits.members:
        problems.append(f"{name} holds {len(members):,} files; at most {limits.members:,} are read.")
    expanded = sum(info.file_size for info in members)
    if expanded > limits.expanded:
        problems.append(
            f"{name} expands to {megabytes(expanded)}; at most {megabytes(limits.expanded)} are read."
        )
    for info in members:
        if info.file_size > max(HARMLESS_BYTES, limits.ratio * info.compress_size):
            problems.append(
                f"{info.filename} in {name} expands {info.file_size // max(1, info.compress_size):,}-fold, "
                f"as a zip bomb does; at most {limits.ratio}-fold is read."
            )
        if info.flag_bits & 1:
            problems.append(f"{info.filename} in {name} is encrypted; make the archive without a password.")
        # the other methods unpack without a bound on what one step may produce
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            problems.append(
                f"{info.filename} in {name} is compressed by method {info.compress_type}; "
                "make the archive with the usual one (deflate)."
            )
    twice = [member for member, times in Counter(info.filename for info in members).items() if times > 1]
    problems += [f"{member} stands more than once in {name}." for member in twice]
    return problems

"""One's own pictures: a folder or .zip with a table of file, caption and labels."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from smfh.datasets.own_rows import Parsed, split_labels
from smfh.features.pictures import decode_image
from smfh.files import Archive, Content, open_archive, read_table
from smfh.files.content import megabytes, opened
from smfh.types import InputError

MAX_PICTURES = 20_000
MAX_FILE_BYTES = 1 << 26
MAX_TOTAL_PIXELS = 10_000_000_000  # some minutes of decoding


class Files(Protocol):
    """Files by name. A name is looked up among those that are there, and never leads elsewhere."""

    @property
    def names(self) -> Sequence[str]: ...

    def read(self, name: str) -> bytes: ...


@dataclass(frozen=True)
class Folder:
    """The files below a folder, without links that lead out of it."""

    paths: Mapping[str, Path]

    @property
    def names(self) -> Sequence[str]:
        return tuple(self.paths)

    def read(self, name: str) -> bytes:
        with opened(self.paths[name], name, MAX_FILE_BYTES) as file:
            return file.read()


@dataclass(frozen=True)
class Zip:
    """The members of an archive."""

    archive: Archive

    @property
    def names(self) -> Sequence[str]:
        return tuple(self.archive.members)

    def read(self, name: str) -> bytes:
        if (size := self.archive.members[name].file_size) > MAX_FILE_BYTES:
            raise InputError(f"{name} has {megabytes(size)}; at most {megabytes(MAX_FILE_BYTES)} are read.")
        return self.archive.read(name)


@contextmanager
def open_files(content: Content, name: str) -> Iterator[Files]:
    """The files of a folder or of a .zip archive."""
    if isinstance(content, Path) and content.is_dir():
        paths = (path for path in sorted(content.rglob("*")) if path.is_file() and not path.is_symlink())
        yield Folder({path.relative_to(content).as_posix(): path for path in paths})
    else:
        with open_archive(content, name) as archive:
            yield Zip(archive)


def parse_pictures(files: Files) -> Parsed:
    """The rows of the one .csv among the files; every picture is decoded, to see that it is whole."""
    tables = [name for name in files.names if name.lower().endswith(".csv") and not _is_hidden(name)]
    if len(tables) != 1:
        raise InputError(
            "Beside the pictures there must be one .csv table with the columns file, caption and labels; "
            f"there {'is none' if not tables else 'are ' + ', '.join(tables[:5])}."
        )
    table = read_table(files.read(tables[0]), tables[0])
    table = replace(table, header=tuple(heading.lower() for heading in table.header))
    needed = ("file", "caption", "labels")
    if absent := [column for column in needed if column not in table.header]:
        raise InputError(
            f"{table.name} lacks the column {' and '.join(absent)}; it has {', '.join(table.header)}."
        )
    problems = table.problems()
    rows = [number for number, _ in table.rows()]
    if len(rows) > MAX_PICTURES:
        raise InputError(f"{table.name} has {len(rows):,} rows; at most {MAX_PICTURES:,} pictures are read.")
    labels = [split_labels(cell) for cell in table.column("labels")]
    texts = [column for column in table.header if column.startswith("caption")]
    captions = {_modality(column): table.column(column) for column in texts}
    pictures = _find_pictures(table.column("file"), tables[0], files.names)
    for row, (file, picture) in enumerate(zip(table.column("file"), pictures, strict=True)):
        place = f"Row {rows[row]} of {table.name}"
        if not labels[row]:
            problems.append(f"{place} has no label; write one or more, separated by |.")
        problems += [f"{place} has no text for {name}." for name, cells in captions.items() if not cells[row]]
        if not picture:
            problems.append(f"{place}: there is no picture {file!r} beside the table.")
    problems += _picture_problems(files, pictures, [f"Row {row} of {table.name}" for row in rows])
    return Parsed(labels, captions, pictures, offered=["image", *captions], problems=problems)


def _find_pictures(given: Sequence[str], table: str, names: Sequence[str]) -> list[str]:
    """The names among the files that are meant: as written, or seen from the table's folder; else empty."""
    there = {name.replace("\\", "/"): name for name in names}
    folder = posixpath.dirname(table)
    written = [file.replace("\\", "/").removeprefix("./") for file in given]
    return [there.get(posixpath.join(folder, file)) or there.get(file) or "" for file in written]


def _picture_problems(files: Files, pictures: Sequence[str], places: Sequence[str]) -> list[str]:
    """The rows whose picture cannot be decoded, and the end of patience with pixels."""
    problems: list[str] = []
    pixels: dict[str, int] = {"": 0}
    total = 0
    for picture, place in zip(pictures, places, strict=True):
        if picture not in pixels:
            pixels[picture] = 0
            try:
                pixels[picture] = decode_image(files.read(picture), picture).size // 3
            except InputError as error:
                problems += [f"{place}: {problem}" for problem in error.problems]
        total += pixels[picture]
        if total > MAX_TOTAL_PIXELS:
            limit = f"{MAX_TOTAL_PIXELS // 1_000_000:,} million pixels"
            return [*problems, f"{place}: up to here the pictures have more than {limit}. Save them smaller."]
    return problems


def _modality(column: str) -> str:
    """`caption` is the text; `caption (ja)` is the text (ja)"""
    return column.replace("caption", "text", 1)


def _is_hidden(name: str) -> bool:
    """What systems put beside a person's files, as __MACOSX/ and .DS_Store."""
    return any(part.startswith((".", "__")) for part in name.split("/"))

"""One's own pictures: a folder or .zip with a table that names their files, captions and labels."""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from smfh.datasets.captioned import Looks
from smfh.datasets.own_rows import (
    Columns,
    Parsed,
    column_problems,
    guess_columns,
    name_modalities,
    split_cells,
)
from smfh.datasets.source import OnProgress
from smfh.files import Archive, Content, open_archive, read_table
from smfh.files.content import megabytes, opened
from smfh.types import InputError

MAX_PICTURES = 20_000
MAX_FILE_BYTES = 1 << 26
MODALITIES = ("image", "text")


@dataclass(frozen=True)
class Files:
    """Files by name. A name is looked up among those that are there, and never leads elsewhere."""

    names: Sequence[str]
    read: Callable[[str], bytes]


@contextmanager
def open_files(content: Content, name: str) -> Iterator[Files]:
    """The files of a .zip archive, or below a folder without links that lead out of it."""
    if isinstance(content, Path) and content.is_dir():
        there = (path for path in sorted(content.rglob("*")) if path.is_file() and not path.is_symlink())
        paths = {path.relative_to(content).as_posix(): path for path in there}
        yield Files(tuple(paths), lambda file: _read_file(paths[file], file))
    else:
        with open_archive(content, name) as archive:
            yield Files(tuple(archive.members), lambda member: _read_member(archive, member))


def _read_file(path: Path, name: str) -> bytes:
    with opened(path, name, MAX_FILE_BYTES) as file:
        return file.read()


def _read_member(archive: Archive, name: str) -> bytes:
    if (size := archive.members[name].file_size) > MAX_FILE_BYTES:
        raise InputError(f"{name} has {megabytes(size)}; at most {megabytes(MAX_FILE_BYTES)} are read.")
    return archive.read(name)


def parse_pictures(
    files: Files,
    looks: Looks,
    columns: Columns | None = None,
    separator: str = "",
    on_progress: OnProgress | None = None,
) -> Parsed:
    """The rows of the one .csv among the files, read as is said or guessed, and a look at every picture."""
    tables = [name for name in files.names if name.lower().endswith(".csv") and not _is_hidden(name)]
    if len(tables) != 1:
        raise InputError(
            "Beside the pictures there must be one .csv table with the columns file, caption and labels; "
            f"there {'is none' if not tables else 'are ' + ', '.join(tables[:5])}."
        )
    table = read_table(files.read(tables[0]), tables[0])
    columns = columns or guess_columns(table)
    if problems := column_problems(table, columns):
        return Parsed(offered=MODALITIES, problems=problems, headings=table.header, columns=columns)
    rows = [number for number, _ in table.rows()]
    if len(rows) > MAX_PICTURES:
        raise InputError(f"{table.name} has {len(rows):,} rows; at most {MAX_PICTURES:,} pictures are read.")
    given = table.column(columns.picture)
    labels, separator = split_cells(table.column(columns.labels), separator)
    captions = {name: table.column(heading) for name, heading in name_modalities(columns.captions).items()}
    found = find_pictures(given, tables[0], files.names)
    looks.look_at(filter(None, found), files.read, on_progress)
    problems = table.problems() + _absent_pictures(table.name, rows, given, found)
    told: set[str] = set()
    for row, number in enumerate(rows):
        place = f"Row {number} of {table.name}"
        if not labels[row]:
            problems.append(f"{place} has no label; write one or more, separated by {separator}.")
        problems += [f"{place} has no text for {name}." for name, texts in captions.items() if not texts[row]]
        if found[row] not in told:
            problems += [f"{place}: {problem}" for problem in looks.problems.get(found[row], ())]
        told.add(found[row])
    pictures = [looks.seen.get(name) for name in found]
    offered = ["image", *captions]
    return Parsed(labels, captions, pictures, {}, offered, problems, table.header, columns, separator)


def find_pictures(given: Sequence[str], table: str, names: Sequence[str]) -> list[str]:
    """The names among the files that are meant, empty where none is.

    A file is found as it is written, or seen from the table's folder, or in any folder by its own name alone
    where no other has it, with or without its ending.
    """
    there = {name.replace("\\", "/"): name for name in names if not _is_hidden(name) and name != table}
    own: dict[str, set[str]] = {}
    for path, name in there.items():
        base = posixpath.basename(path).casefold()
        for key in (base, posixpath.splitext(base)[0]):
            own.setdefault(key, set()).add(name)
    folder = posixpath.dirname(table)
    found = []
    for written in (file.replace("\\", "/").removeprefix("./") for file in given):
        alike = own.get(posixpath.basename(written).casefold(), set())
        alone = next(iter(alike)) if len(alike) == 1 else ""
        found.append(there.get(posixpath.join(folder, written)) or there.get(written) or alone)
    return found


def _absent_pictures(
    table: str, rows: Sequence[int], given: Sequence[str], found: Sequence[str]
) -> list[str]:
    """The files that are not there, or that are there more than once, in one sentence."""
    absent = [f"{file!r} (row {row})" for row, file, name in zip(rows, given, found, strict=True) if not name]
    if not absent:
        return []
    more = f" and {len(absent) - 3:,} more" if len(absent) > 3 else ""
    return [
        f"{len(absent):,} of the {len(rows):,} pictures of {table} are not among the files, or in several "
        f"folders: {', '.join(absent[:3])}{more}."
    ]


def _is_hidden(name: str) -> bool:
    """What systems put beside a person's files, as __MACOSX/ and .DS_Store."""
    return any(part.startswith((".", "__")) for part in name.split("/"))

"""Rows that somebody handed in, as plain values with everything that is wrong with them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from smfh.datasets.captioned import Look
from smfh.files import Table
from smfh.types import Matrix

PICTURE = ("file", "picture", "image", "filename", "file name", "image file", "image name", "path", "photo")
CAPTION = ("caption", "text", "description", "sentence", "title")
LABELS = ("labels", "label", "tags", "tag", "categories", "category", "classes", "class", "keywords")
SEPARATORS = ("|", ";", ",")
ROW = re.compile(r"Row (\d[\d,]*)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Columns:
    """Which headings of a table of pictures hold what; empty where none does."""

    picture: str
    captions: tuple[str, ...]  # each is a modality of its own
    labels: str


@dataclass(frozen=True, eq=False)
class Parsed:
    """Rows as they were handed in; a row's labels are empty where they could not be read."""

    labels: Sequence[tuple[str, ...]] = ()
    captions: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by modality
    pictures: Sequence[Look | None] = ()  # row by row, None where it could not be decoded
    matrices: Mapping[str, Matrix] = field(default_factory=dict)
    offered: Sequence[str] = ()  # names of the modalities, also of those that could not be read
    problems: Sequence[str] = ()
    headings: tuple[str, ...] = ()  # of a table of pictures, and how it was read
    columns: Columns | None = None
    separator: str = ""
    notes: Sequence[str] = ()  # what a person should know about how it was read
    training_items: int | None = None  # the first rows, where a split was handed in


def guess_columns(table: Table) -> Columns:
    """The columns that are meant by their names, whatever their case; captions may come in many languages."""
    spoken = next((word for word in CAPTION if any(_follows(h, word) is not None for h in table.header)), "")
    captions = tuple(h for h in table.header if spoken and _follows(h, spoken) is not None)
    return Columns(find_column(table, PICTURE), captions, find_column(table, LABELS))


def find_column(table: Table, names: Sequence[str]) -> str:
    """The heading that is one of these names, the first name before the next; empty if there is none."""
    there = {re.sub(r"[\s_-]+", " ", heading.casefold()): heading for heading in table.header}
    return next((there[name] for name in names if name in there), "")


def column_problems(table: Table, columns: Columns) -> list[str]:
    """The columns that are neither named nor guessed, and what can be done."""
    has = f"it has {', '.join(table.header)}"
    wanted = {"pictures": (columns.picture, PICTURE), "captions": (*columns.captions[:1], CAPTION)}
    problems = [
        f"{table.name} has no column of {what}, such as {', '.join(names[:4])}; {has}."
        for what, (*chosen, names) in wanted.items()
        if not any(chosen)
    ]
    if not columns.labels:
        problems.append(
            f"{table.name} has no column of labels, such as {', '.join(LABELS[:4])}; {has}. Codes are learnt "
            "from labels: add a column with one rough class for each row, or name the one that holds them."
        )
    strange = [h for h in (columns.picture, *columns.captions, columns.labels) if h and h not in table.header]
    return problems + [f"{table.name} has no column {heading!r}; {has}." for heading in strange]


def name_modalities(headings: Sequence[str]) -> dict[str, str]:
    """Name → heading: `caption` is the text, `Caption (ja)` the text (ja); no name stands for two."""
    named: dict[str, str] = {}
    for heading in headings:
        endings = [ending for word in CAPTION if (ending := _follows(heading, word)) is not None]
        name = f"text{endings[0] if endings else ''}"
        named[f"text ({heading})" if name in named else name] = heading
    return named


def split_cells(cells: Sequence[str], separator: str = "") -> tuple[list[tuple[str, ...]], str]:
    """The labels of each cell, and what stands between them: guessed by most cells where nothing is said."""
    separator = separator or max(SEPARATORS, key=lambda mark: sum(mark in cell for cell in cells))
    return [split_labels(cell, separator) for cell in cells], separator


def split_labels(cell: str, separator: str = "|") -> tuple[str, ...]:
    """The labels of a cell, each once, in their order."""
    return tuple(dict.fromkeys(label.strip() for label in cell.split(separator) if label.strip()))


def grouped(problems: Sequence[str]) -> list[str]:
    """Each problem once: what is wrong with many rows is told of the first, with the others' number."""
    rows: dict[str, list[str]] = {}
    for problem in problems:
        found = ROW.fullmatch(problem)
        rows.setdefault(found[2] if found else f"\0{problem}", []).append(found[1] if found else "")
    told = []
    for text, (first, *others) in rows.items():
        more = f"{', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
        told.append(f"Row {first}{text}" if first else text[1:])
        if first and others:
            told[-1] += f" The same holds for {len(others):,} more ({more})."
    return told


def _follows(heading: str, word: str) -> str | None:
    """What follows the word in a heading that begins with it; None if it does not."""
    ending = heading.casefold().removeprefix(word)
    begins = len(ending) < len(heading.casefold()) and not ending[:1].isalnum()
    return ending if begins else None

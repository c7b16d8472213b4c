"""What the readers of user data return, and how columns, labels and parts are recognised by their names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from smfh.datasets.user_pictures import DecodedPicture
from smfh.types import IntArray, Matrix, Split

PICTURE = (
    *("file", "picture", "image", "filename", "file name", "image file", "image name", "path", "photo"),
    *("file path", "image path", "img", "image id"),
)
CAPTION = (
    "caption",
    "text",
    "description",
    "sentence",
    "title",
    "comment",
    "captions",
    "sentences",
    "texts",
    "raw",
)
LABELS = (
    *("labels", "label", "tags", "tag", "categories", "category", "classes", "class", "keywords"),
    *("class name", "category name", "topic", "topics", "fine label", "target"),
)
SEPARATORS = ("|", ";", ",")
PARTS = {
    **dict.fromkeys(("train", "training", "tr"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "te", "query", "queries"), "test"),
}


class Skipped(NamedTuple):
    """An item that cannot be used."""

    item: str  # a file name, or a row of a table
    kind: str  # such as "missing" or "unreadable"
    reason: str


@dataclass(frozen=True)
class Columns:
    """The headings of a picture table by role; a role without a column is empty."""

    picture: str
    captions: tuple[str, ...]  # each becomes one modality
    labels: str


@dataclass(frozen=True, eq=False)
class UploadedRows:
    """What there is in an upload, row by row: pictures or matrices, captions, and labels or none."""

    layout: str = ""  # in words
    labels: Sequence[tuple[str, ...]] | None = None  # of each row; None: there are none
    captions: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by modality
    pictures: Sequence[DecodedPicture] = ()  # of each row
    matrices: Mapping[str, Matrix] = field(default_factory=dict)  # by modality
    names: Sequence[str] = ()  # of the pictures' files
    label_kind: str = "files"  # where the labels come from: files, topics, groups, hand, edited or none
    parts: Sequence[str] = ()  # train, validation, test or "" for each row; empty: no split
    groups: Sequence[int] = ()  # rows with the same number have the same picture; empty: all differ
    skipped: Sequence[Skipped] = ()  # items that are not among the rows
    problems: Sequence[str] = ()  # that prevent the use of all rows
    notes: Sequence[str] = ()  # how the files were read
    headings: tuple[str, ...] = ()  # of a picture table
    columns: Columns | None = None
    separator: str = ""  # between the labels of a cell
    has_several_captions: bool = False  # whether pictures have several captions

    @property
    def items(self) -> int:
        first = next(iter((*self.matrices.values(), *self.captions.values())), None)
        rows = 0 if first is None else first.shape[0] if hasattr(first, "shape") else len(first)
        return len(self.labels or self.pictures) or int(rows)

    @property
    def modalities(self) -> tuple[str, ...]:
        return ("image", *self.captions) if self.pictures else tuple(self.matrices)

    @property
    def texts(self) -> list[str]:
        """The first caption of each row; captions of the same picture are joined. Empty: there are none."""
        texts = list(next(iter(self.captions.values()), []))
        if not self.groups or not any(texts):
            return texts if any(texts) else []
        joined: dict[int, list[str]] = {}
        for group, text in zip(self.groups, texts, strict=True):
            joined.setdefault(group, []).append(text)
        return [" ".join(joined[group]) for group in self.groups]

    @property
    def split(self) -> Split | None:
        """The split of the files; validation rows are queries only if there are no test rows."""
        parts = np.array(self.parts)
        queries = parts == ("test" if "test" in self.parts else "validation")
        if not len(parts) or queries.all() or not queries.any():
            return None
        return Split(np.flatnonzero(~queries), np.flatnonzero(queries))

    def take(self, rows: IntArray) -> "UploadedRows":
        """Return only these rows."""

        def chosen(values: Sequence[Any]) -> list[Any]:
            return [values[row] for row in rows] if values else []

        return replace(
            self,
            labels=None if self.labels is None else chosen(self.labels),
            captions={name: chosen(texts) for name, texts in self.captions.items()},
            pictures=chosen(self.pictures),
            names=chosen(self.names),
            matrices={name: X[rows] for name, X in self.matrices.items()},
            parts=chosen(self.parts),
            groups=chosen(self.groups),
        )

    def skip(self, problems: Mapping[int, str], kind: str, item: str) -> "UploadedRows":
        """Return the rows without those that have problems, which are listed; `item` may contain {row}."""
        if not problems:
            return self
        keep = np.setdiff1d(np.arange(self.items), list(problems))
        skipped = [
            Skipped(item.format(row=row + 1), kind, reason) for row, reason in sorted(problems.items())
        ]
        return replace(self.take(keep), skipped=[*self.skipped, *skipped])


def expand_split(split: Split, groups: Sequence[int]) -> Split:
    """Return a split of rows from a split of groups, so that one picture is never in two parts."""
    numbers = np.array(groups)
    inside = [
        np.flatnonzero(np.isin(numbers, part)) for part in (split.train, split.queries, split.validation)
    ]
    return Split(*inside)


def find_column(header: Sequence[str], names: Sequence[str]) -> str:
    """Return the heading that equals the first possible of these names, without case; "" if none does."""
    headings = {re.sub(r"[\s_-]+", " ", heading.casefold()).strip(): heading for heading in header}
    return next((headings[name] for name in names if name in headings), "")


def find_captions(header: Sequence[str]) -> tuple[str, ...]:
    """Return all headings that begin with the first possible caption word, such as `caption (ja)`."""
    word = next((word for word in CAPTION if any(_ending(h, word) is not None for h in header)), "")
    return tuple(h for h in header if word and _ending(h, word) is not None)


def name_modalities(headings: Sequence[str]) -> dict[str, str]:
    """Map modality names to caption headings: text to `caption`, text (ja) to `Caption (ja)`."""
    names: dict[str, str] = {}
    for heading in headings:
        endings = [ending for word in CAPTION if (ending := _ending(heading, word)) is not None]
        name = f"text{endings[0] if endings else ''}"
        names[f"text ({heading})" if name in names else name] = heading
    return names


def split_cells(cells: Sequence[Any], separator: str = "") -> tuple[list[tuple[str, ...]], str]:
    """Return the labels of each cell, each once, and the separator: given, or else the most frequent.

    A cell may also be a list of labels.
    """
    texts = [cell for cell in cells if isinstance(cell, str)]
    separator = separator or max(SEPARATORS, key=lambda mark: sum(mark in text for text in texts))

    def labels_of(cell: Any) -> list[Any]:
        if isinstance(cell, list | np.ndarray):
            return list(cell)
        return cell.split(separator) if isinstance(cell, str) else [cell]

    named = [[label_text(label) for label in labels_of(cell)] for cell in cells]
    return [tuple(dict.fromkeys(filter(None, labels))) for labels in named], separator


def label_text(value: Any) -> str:
    """Return a label as text; 3.0 becomes "3", NaN, None and infinity become ""."""
    if isinstance(value, float | np.floating):
        return "" if not np.isfinite(value) else f"{value + 0.0:.0f}" if value == int(value) else str(value)
    if isinstance(value, dict | list | bytes) or value is None:
        return ""
    return str(value).strip()


def part_of(text: str) -> str:
    """Return train, validation or test if a name says so, such as `train` or `val2017`; else ""."""
    return PARTS.get(text.casefold().strip().rstrip("0123456789"), "")


def class_text(labels: Sequence[str]) -> str:
    """Return class names as a text, such as `red circle` for red_circle."""
    return ", ".join(re.sub(r"[_\-]+", " ", label) for label in labels)


def _ending(heading: str, word: str) -> str | None:
    """Return what follows the word at the start of a heading; None if the heading starts otherwise."""
    ending = heading.casefold().removeprefix(word)
    return ending if len(ending) < len(heading.casefold()) and not ending[:1].isalnum() else None

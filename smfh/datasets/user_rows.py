"""The rows of an upload, and functions that recognise columns, labels and parts of the split by name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from smfh.datasets.user_pictures import DecodedPicture
from smfh.types import Matrix, Split

PICTURE = (
    *("file", "picture", "image", "filename", "file name", "image file", "image name", "path", "photo"),
    *("file path", "image path", "img", "image id"),
)
CAPTION = ("caption", "text", "description", "sentence", "title", "comment", "captions", "sentences", "texts", "raw")
LABELS = (
    *("labels", "label", "tags", "tag", "categories", "category", "classes", "class", "keywords"),
    *("class name", "category name", "topic", "topics", "fine label", "target"),
)
SPLIT = ("split", "part", "subset")
SEPARATORS = ("|", ";", ",")
NO_CAPTION = re.compile(r"[\s_-]*(id|ids|no|num|number|index|count|length|url)")  # the rest of a heading
PARTS = {
    **dict.fromkeys(("train", "training", "tr"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "te", "query", "queries"), "test"),
}


class Skipped(NamedTuple):
    """An item of an upload that cannot be used, with the reason."""

    item: str  # a file name, or a row of a table
    kind: str  # for example "missing picture" or "unreadable"
    reason: str


@dataclass(frozen=True)
class Columns:
    """The headings of a picture table by role; a role without a column is empty."""

    picture: str
    captions: tuple[str, ...]  # each becomes one modality
    labels: str


@dataclass(frozen=True, eq=False)
class UploadedRows:
    """The rows of an upload: pictures or matrices, with captions and labels if the upload has them."""

    labels: Sequence[tuple[str, ...]] | None = None  # of each row; None if the upload has no labels
    captions: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by modality
    pictures: Sequence[DecodedPicture] = ()  # of each row
    matrices: Mapping[str, Matrix] = field(default_factory=dict)  # by modality
    names: Sequence[str] = ()  # of the pictures' files
    label_kind: str = "files"  # where the labels come from: files, topics, groups, hand, edited or none
    parts: Sequence[str] = ()  # train, validation, test or "" for each row; empty if there is no split
    groups: Sequence[int] = ()  # rows with the same number have the same picture; empty if all differ
    skipped: Sequence[Skipped] = ()  # items that are not among the rows
    problems: Sequence[str] = ()  # reasons why none of the rows can be used
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
        """The caption of each row in the first text modality; captions of the same picture are joined.

        The list is empty if there are no captions.
        """
        texts = list(next(iter(self.captions.values()), []))
        if not self.groups or not any(texts):
            return texts if any(texts) else []
        joined: dict[int, list[str]] = {}
        for group, text in zip(self.groups, texts, strict=True):
            joined.setdefault(group, []).append(text)
        return [" ".join(joined[group]) for group in self.groups]

    @property
    def split(self) -> Split | None:
        """The split given in the files; None if there is none.

        Queries are the test rows or, if there are none, the validation rows. All others are training rows.
        """
        parts = np.array(self.parts)
        queries = parts == ("test" if "test" in self.parts else "validation")
        if not len(parts) or queries.all() or not queries.any():
            return None
        return Split(np.flatnonzero(~queries), np.flatnonzero(queries))


def expand_split(split: Split, groups: Sequence[int]) -> Split:
    """Convert a split of groups to a split of rows, so that one picture is never in two parts."""
    numbers = np.array(groups)
    inside = [np.flatnonzero(np.isin(numbers, part)) for part in (split.train, split.queries, split.validation)]
    return Split(*inside)


def find_column(header: Sequence[str], names: Sequence[str]) -> str:
    """Return the heading that equals one of these names, the first one if possible; "" if none does.

    Upper and lower case are the same, and so are spaces, underscores and hyphens.
    """
    headings = {re.sub(r"[\s_-]+", " ", heading.casefold()).strip(): heading for heading in header}
    return next((headings[name] for name in names if name in headings), "")


def find_captions(header: Sequence[str]) -> tuple[str, ...]:
    """Return all headings that begin with the same caption word, for example `caption (ja)`.

    The word is the first one of CAPTION with which any heading begins.
    """
    word = next((word for word in CAPTION if any(_ending(h, word) is not None for h in header)), "")
    return tuple(h for h in header if word and _ending(h, word) is not None)


def name_modalities(headings: Sequence[str]) -> dict[str, str]:
    """Map modality names to caption headings, for example text to `caption`, text (ja) to `Caption (ja)`."""
    names: dict[str, str] = {}
    for heading in headings:
        endings = [ending for word in CAPTION if (ending := _ending(heading, word)) is not None]
        name = f"text{endings[0] if endings else ''}"
        names[f"text ({heading})" if name in names else name] = heading
    return names


def split_cells(cells: Sequence[Any], separator: str = "") -> tuple[list[tuple[str, ...]], str]:
    """Return the distinct labels of each cell, and the separator between them.

    If no separator is given, the most frequent one is used. A cell may also be a list of labels.
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
    """Return a label as a string; 3.0 becomes "3", and NaN, None and infinity become ""."""
    if isinstance(value, float | np.floating):
        return "" if not np.isfinite(value) else f"{value + 0.0:.0f}" if value == int(value) else str(value)
    if isinstance(value, dict | list | bytes) or value is None:
        return ""
    return str(value).strip()


def part_of(text: str) -> str:
    """Return train, validation or test if the text is a name of this part, like `val2017`; else ""."""
    return PARTS.get(text.casefold().strip().rstrip("0123456789"), "")


def class_text(labels: Sequence[str]) -> str:
    """Return class names as the text of a caption: red_circle becomes `red circle`."""
    return ", ".join(re.sub(r"[_\-]+", " ", label) for label in labels)


def _ending(heading: str, word: str) -> str | None:
    """Return the rest of a heading that begins with a word; None if it does not begin with this word."""
    ending = heading.casefold().removeprefix(word)
    is_other = ending[:1].isalnum() or NO_CAPTION.fullmatch(ending)
    return ending if len(ending) < len(heading.casefold()) and not is_other else None

"""One's own data: pictures with captions, or features from elsewhere; looked at before they are used."""

import io
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from smfh.datasets.captioned import Looks, captioned_pictures
from smfh.datasets.own_matrices import MAX_LABELS, parse_matrices
from smfh.datasets.own_pictures import open_files, parse_pictures
from smfh.datasets.own_rows import Columns, Parsed, grouped
from smfh.datasets.source import DatasetCard, DatasetSource, OnProgress, multi_hot
from smfh.datasets.splits import resolve_split
from smfh.features.image import split_signs
from smfh.files import Content, shortened
from smfh.files.arrays import MAX_ARRAY_BYTES
from smfh.types import InputError, MultimodalDataset, Split, unknown

MATRIX_FORMATS = (".npz", ".mat", ".csv")
MIN_ITEMS, MAX_CLASSES = 4, 2_000
PREVIEWED_ITEMS = 6
MAX_NAME = 40
MODALITY_NAME = re.compile(rf"\w[\w .()-]{{0,{MAX_NAME - 1}}}")  # it becomes part of headings


@dataclass(frozen=True)
class PreviewItem:
    """A row as a person can look at it: plain text, whatever it looks like."""

    captions: tuple[str, ...]
    labels: tuple[str, ...]
    thumbnail: bytes | None = None


@dataclass(frozen=True)
class Preview:
    """What is in the file, before it is used; with problems it cannot be."""

    items: int = 0
    modalities: tuple[tuple[str, str], ...] = ()  # name, what it holds
    classes: tuple[tuple[str, int], ...] = ()  # name, items; largest first
    first: tuple[PreviewItem, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()  # of a table of pictures
    columns: Columns | None = None  # how it was read, as said or guessed
    separator: str = ""  # between its labels


@dataclass(frozen=True)
class OwnData(DatasetSource):
    """A file that a person hands in, or a folder that the person who runs the program names."""

    name = "own"
    card = DatasetCard(
        title="Own data",
        about="Pictures with captions and labels, whose features are computed here, or features from "
        "elsewhere: matrices with a row for each item, and labels.",
        size="Up to 20,000 pictures, or matrices of up to 1 GB",
        terms="Yours.",
        origin="A folder or .zip of pictures with a table (file, caption, labels); .npz, .mat or .csv with a "
        "matrix for each modality and labels; or I_tr, I_te, T_tr, T_te, L_tr, L_te, as is usual in this "
        "field. There is a template to start from.",
    )

    content: Content | None = field(default=None, repr=False)
    file_name: str = ""  # tells the format and is used in messages, never as a path
    columns: Columns | None = None  # of the table beside pictures; guessed where nothing is said
    separator: str = ""  # between the labels of a row; guessed where nothing is said
    most_bytes: int = MAX_ARRAY_BYTES  # that its matrices may unpack to, all together

    def missing(self) -> list[str]:
        return [] if self.content is not None else [f"Own data needs a file. {self.card.origin}"]

    def read_as(self, columns: Columns, separator: str) -> "OwnData":
        """The same file read in another way; what was seen of its pictures stays known."""
        other = replace(self, columns=columns, separator=separator)
        other.remember(self._looks)
        return other

    def look(self, on_progress: OnProgress | None = None) -> tuple[Preview, Looks]:
        """The preview, and what was seen of the pictures, for whoever had it looked at elsewhere."""
        return self.preview(on_progress), self._looks

    def remember(self, looks: Looks) -> None:
        """These pictures were seen."""
        vars(self)["_looks"] = looks

    def preview(self, on_progress: OnProgress | None = None) -> Preview:
        """What can be seen of the data, and all that is wrong with it; never an error."""
        try:
            parsed = self._parse(on_progress)
        except InputError as error:
            return Preview(problems=tuple(shortened(grouped(error.problems))))
        problems = (*parsed.problems, *set_problems(parsed))
        pictures = (("image", "pictures"),) if parsed.pictures else ()
        texts = tuple((name, "captions") for name in parsed.captions) if parsed.pictures else ()
        matrices = tuple((name, f"{X.shape[1]:,} dimensions") for name, X in parsed.matrices.items())
        counts = Counter(label for own in parsed.labels for label in own)
        return Preview(
            items=len(parsed.labels),
            modalities=pictures + texts + matrices,
            classes=tuple(counts.most_common()),
            first=first_items(parsed),
            notes=tuple(set_notes(parsed, counts)),
            problems=tuple(shortened(grouped(problems))),
            headings=parsed.headings,
            columns=parsed.columns,
            separator=parsed.separator,
        )

    def load(
        self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress | None = None
    ) -> tuple[MultimodalDataset, Split]:
        """Features of pictures and captions are fitted on the training rows; matrices are used as they are,
        but where one has negative values, its positive and negative halves are put side by side."""
        parsed = self._parse(on_progress)
        if problems := [*parsed.problems, *set_problems(parsed)]:
            raise InputError(shortened(grouped(problems)))
        classes = classes_of(parsed.labels)
        labels = multi_hot(parsed.labels, classes)
        rows = resolve_split(split, seed, len(labels), given_split(parsed))
        if pictures := [look for look in parsed.pictures if look]:
            texts = parsed.captions
            return captioned_pictures(self.name, pictures, texts, labels, classes, rows.train, seed), rows
        captions = next(iter(parsed.captions.values()), None)
        modalities = {name: split_signs(X) if X.min() < 0 else X for name, X in parsed.matrices.items()}
        return MultimodalDataset(self.name, modalities, labels, classes, captions), rows

    @property
    def _label(self) -> str:
        return self.file_name or (self.content.name if isinstance(self.content, Path) else "the file")

    @cached_property
    def _looks(self) -> Looks:
        """What was seen of the pictures: looking at the data and using it decodes each once."""
        return Looks()

    def _parse(self, on_progress: OnProgress | None) -> Parsed:
        if self.content is None:
            raise InputError(self.missing())
        suffix = Path(self._label).suffix.lower()
        is_folder = isinstance(self.content, Path) and self.content.is_dir()
        if not is_folder and suffix in MATRIX_FORMATS:
            return parse_matrices(self.content, self._label, self.most_bytes)
        if not is_folder and suffix != ".zip":
            raise unknown("kind of file", self._label, (".zip", *MATRIX_FORMATS))
        with open_files(self.content, self._label) as files:
            return parse_pictures(files, self._looks, self.columns, self.separator, on_progress)


def first_items(parsed: Parsed) -> tuple[PreviewItem, ...]:
    """The first rows, with a picture where it could be decoded."""
    texts = list(parsed.captions.values())
    items = []
    for row, labels in enumerate(parsed.labels[:PREVIEWED_ITEMS]):
        captions = tuple(cells[row] for cells in texts if row < len(cells))
        look = parsed.pictures[row] if parsed.pictures else None
        items.append(PreviewItem(captions, labels, look.thumbnail if look else None))
    return tuple(items)


def set_problems(parsed: Parsed) -> list[str]:
    """What is wrong with the rows as a whole."""
    items = len(parsed.labels)
    problems = []
    for name, X in parsed.matrices.items():
        if items and X.shape[0] != items:
            problems.append(f"{name} has {X.shape[0]:,} rows; there are labels for {items:,}.")
    for name, cells in parsed.captions.items():
        if items and len(cells) != items:
            problems.append(f"There are {len(cells):,} {name} for {items:,} items.")
    if len(parsed.offered) < 2:
        there = ", ".join(parsed.offered) or "none"
        problems.append(f"Searching across modalities needs two matrices or more; there is {there}.")
    problems += [
        f"A modality's name has letters, digits, spaces and .()-, at most {MAX_NAME}; got {name[:80]!r}."
        for name in parsed.offered
        if not MODALITY_NAME.fullmatch(name)
    ]
    if parsed.training_items is not None and not 0 < parsed.training_items < items:
        problems.append("The file keeps training items and queries apart; there must be some of either.")
    classes = len({label for own in parsed.labels for label in own})
    if classes > MAX_CLASSES or classes * items > MAX_LABELS:
        problems.append(f"There are {classes:,} classes; at most {MAX_CLASSES:,} are told apart.")
    if 0 < items < MIN_ITEMS:
        problems.append(f"There are {items} items; at least {MIN_ITEMS} are needed to train and to ask.")
    return problems


def set_notes(parsed: Parsed, counts: Counter[str]) -> list[str]:
    """What is done to the data, and what may surprise."""
    notes = list(parsed.notes)
    if (split := given_split(parsed)) is not None:
        notes.append(
            f"The file's own split is used: {len(split.train):,} items to train and to search, "
            f"{len(split.queries):,} to ask."
        )
    notes += [
        f"{name} has negative values: its positive and negative halves are put side by side "
        f"({X.shape[1]:,} → {2 * X.shape[1]:,} dimensions)."
        for name, X in parsed.matrices.items()
        if X.shape[0] and X.min() < 0
    ]
    if single := [label for label, items in counts.items() if items == 1]:
        notes.append(f"{len(single)} of {len(counts)} classes have one item only: nothing is like it.")
    return notes


def given_split(parsed: Parsed) -> Split | None:
    """The split that was handed in: first the training items, then the queries."""
    rows = np.arange(len(parsed.labels))
    if parsed.training_items is None or not 0 < parsed.training_items < len(rows):
        return None
    return Split(rows[: parsed.training_items], rows[parsed.training_items :])


def classes_of(labels: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """All classes: numbers in their order, then words in the alphabet's."""
    every = {label for own in labels for label in own}
    return tuple(sorted(every, key=lambda label: (float(label) if label.isdecimal() else np.inf, label)))


def example_archive() -> bytes:
    """A small .zip to start from, which can be loaded as it is: twelve drawings with a table."""
    from PIL import Image, ImageDraw

    shapes = {"triangle": 3, "square": 4, "circle": 60}  # sides
    lines = ["file,caption,labels"]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for shape, sides in shapes.items():
            for colour in ("red", "green", "blue", "orange"):
                image = Image.new("RGB", (96, 96), "white")
                ImageDraw.Draw(image).regular_polygon((48, 48, 32), sides, fill=colour)
                picture = io.BytesIO()
                image.save(picture, "PNG")
                archive.writestr(f"pictures/{colour}_{shape}.png", picture.getvalue())
                lines.append(f"pictures/{colour}_{shape}.png,a {colour} {shape} on white,{shape}|{colour}")
        archive.writestr("items.csv", "\n".join(lines) + "\n")
    return file.getvalue()

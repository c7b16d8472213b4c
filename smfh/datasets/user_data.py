"""Data of a user: pictures with captions or labels, or feature matrices, with a preview of their contents."""

import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from smfh.datasets.picture_layouts import HEIC_SUFFIXES, PICTURE_SUFFIXES, has_pictures, parse_pictures
from smfh.datasets.source import DatasetCard, DatasetSource, Loaded, OnProgress, class_names_of, multi_hot
from smfh.datasets.splits import resolve_split
from smfh.datasets.user_labels import LABEL_SOURCES, MAX_TOPICS, ORIGINS, label_rows
from smfh.datasets.user_matrices import ARRAY_SUFFIXES, parse_matrices
from smfh.datasets.user_pictures import MAX_TOTAL_PIXELS, PictureCache, captioned_pictures, storing
from smfh.datasets.user_rows import Columns, Skipped, UploadedRows, expand_split
from smfh.features.embedding import check_encoder, load_model
from smfh.files import TABLE_SUFFIXES, Content, Uploads, open_listing, shortened
from smfh.files.content import name_of
from smfh.files.limits import MAX_ARRAY_BYTES, MAX_LABEL_CELLS
from smfh.types import InputError, MultimodalDataset, Split, unknown

FORMATS = (".zip", *ARRAY_SUFFIXES, *TABLE_SUFFIXES, ".json", ".txt", ".token", *PICTURE_SUFFIXES)
MIN_ITEMS, MAX_CLASSES = 4, 2_000
PREVIEW_ITEMS = 6
MAX_NAME_CHARACTERS = 40
MODALITY_NAME = re.compile(rf"\w[\w .()-]{{0,{MAX_NAME_CHARACTERS - 1}}}")  # since names appear in headings


@dataclass(frozen=True)
class PreviewItem:
    """One row in the preview of an upload: its captions, labels and thumbnail."""

    captions: tuple[str, ...]
    labels: tuple[str, ...]
    thumbnail: bytes | None = None


@dataclass(frozen=True)
class Preview:
    """A summary of an upload. If `problems` is empty, the upload can be used, without the skipped items."""

    items: int = 0
    modalities: tuple[tuple[str, str], ...] = ()  # name, and "pictures", "captions" or the dimensions
    classes: tuple[tuple[str, int], ...] = ()  # name, number of items; largest first
    first: tuple[PreviewItem, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()  # why items cannot be used, a line for each kind of reason
    skipped_items: int = 0
    problems: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()  # of a picture table
    columns: Columns | None = None  # of a picture table, given or guessed
    separator: str = ""  # between labels
    has_several_captions: bool = False  # whether pictures have several captions
    label_kind: str = "files"  # where the labels come from: files, topics, groups, hand, edited or none
    unlabelled: int = 0  # number of pictures without a label beside others that have one
    label_sources: tuple[str, ...] = ()  # what can be used as labels: keys of LABEL_SOURCES


@dataclass(frozen=True)
class UserDataset(DatasetSource):
    """A data set of the user: uploaded files, or a file or folder on disk."""

    name = "own"
    card = DatasetCard(
        title="Your data",
        about="Pictures with captions or labels, whose features are computed here, or feature matrices with labels.",
        size="Up to 20,000 pictures, or matrices of up to 1 GB",
        terms="Yours.",
        origin="A folder or .zip of pictures: one folder per class, a table (file, caption, labels), COCO or "
        "Flickr captions; Parquet with pictures; or matrices as .npz, .npy, .mat, .csv, .tsv or .parquet. "
        "The guide describes each layout; the Data page offers a template.",
    )

    OPTIONS: ClassVar[tuple[str, ...]] = ("label_source", "topics", "several_texts", "keep_unlabelled")  # in commands

    content: Content | Uploads | None = field(default=None, repr=False)
    file_name: str = ""  # determines the format and is used in messages, never as a path
    columns: Columns | None = None  # of a picture table; guessed if not given
    separator: str = ""  # between the labels of a cell; guessed if not given
    several_texts: bool = False  # whether several captions of a picture are several texts
    keep_unlabelled: bool = False  # whether to use captioned pictures without a label, to label them by hand
    label_source: str = ""  # a key of LABEL_SOURCES; guessed if not given
    topics: int = 0  # number of topics if captions are clustered; 0 to guess it
    hand_labels: tuple[tuple[str, ...], ...] | None = field(default=None, repr=False)  # by row
    encoder: str = ""  # of pictures and captions: clip, siglip2, clip=FOLDER; default: built-in features
    max_bytes: int = MAX_ARRAY_BYTES  # of all matrices together, unpacked

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.label_source and self.label_source not in LABEL_SOURCES:
            raise unknown("source of labels", self.label_source, LABEL_SOURCES)
        if self.encoder:
            check_encoder(self.encoder)
        if not 0 <= self.topics <= MAX_TOPICS or self.topics == 1:
            raise InputError(f"topics must be 2 to {MAX_TOPICS}, or 0 to guess their number; got {self.topics}.")

    def missing(self) -> list[str]:
        return [] if self.content is not None else [f"{self.card.title} needs a file. {self.card.origin}"]

    @property
    def local_folder(self) -> Path | None:
        """The local folder of the data, whose decoded pictures are stored on disk; None for other data."""
        return self.content if isinstance(self.content, Path) and self.content.is_dir() else None

    def read_as(self, **changes: Any) -> "UserDataset":
        """Return a data set of the same files with other options, which reuses the decoded pictures.

        Labels assigned by hand are dropped unless `changes` contains them, because the rows may differ.
        """
        other = replace(self, **({"hand_labels": None} | changes))
        if other.encoder == self.encoder:
            other.remember(self._pictures)
        return other

    def inspect(self, on_progress: OnProgress = None) -> tuple[Preview, PictureCache]:
        """Return the preview and the decoded pictures; called in a worker process."""
        return self.preview(on_progress), self._pictures

    def remember(self, pictures: PictureCache) -> None:
        """Store pictures in the cache of this data set, after a worker process has decoded them."""
        vars(self)["_pictures"] = pictures

    def preview(self, on_progress: OnProgress = None) -> Preview:
        """Describe the contents and list all problems; a file that cannot be read is listed, not raised."""
        try:
            files = self.read_files(on_progress)
            rows = label_rows(files, self.label_source, self.topics, self.hand_labels)
        except InputError as error:
            return Preview(problems=tuple(shortened(error.problems)))
        possible = {"files": files.labels is not None, "topics": bool(files.texts)}
        possible["none"] = len(files.modalities) > 1
        pictures = (("image", "pictures"), *((name, "captions") for name in rows.captions))
        matrices = tuple((name, f"{X.shape[1]:,} dimensions") for name, X in rows.matrices.items())
        labels = rows.labels or ()
        counts = Counter(label for names in labels for label in names)
        first = []
        for row in range(min(rows.items, PREVIEW_ITEMS)):
            captions = tuple(texts[row] for texts in rows.captions.values() if row < len(texts))
            picture = rows.pictures[row].thumbnail if rows.pictures else None
            first.append(PreviewItem(captions, labels[row] if row < len(labels) else (), picture))
        return Preview(
            items=rows.items,
            modalities=pictures if rows.pictures else matrices,
            classes=tuple(counts.most_common()),
            first=tuple(first),
            notes=tuple(_notes(rows, counts)),
            skipped=tuple(group_skipped(rows.skipped)),
            skipped_items=len(rows.skipped),
            problems=tuple(shortened([*rows.problems, *check_rows(rows)])),
            headings=rows.headings,
            columns=rows.columns,
            separator=rows.separator,
            has_several_captions=rows.has_several_captions,
            label_kind=rows.label_kind,
            unlabelled=sum(not own for own in labels) + sum(one.kind == "no label" for one in rows.skipped),
            label_sources=tuple(source for source, is_possible in possible.items() if is_possible),
        )

    def load(self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress = None) -> Loaded:
        """Load items and split, and warn of skipped items; features are fitted on the training rows."""
        rows = self.read(on_progress)
        if problems := [*rows.problems, *check_rows(rows)]:
            raise InputError(shortened(problems))
        classes = class_names_of(rows.labels or ())
        labels: Any = None if rows.labels is None else multi_hot(rows.labels, classes)
        if rows.groups and rows.split is None and not isinstance(split, Split):
            chosen = expand_split(resolve_split(split, seed, max(rows.groups) + 1), rows.groups)
        else:
            chosen = resolve_split(split, seed, rows.items, rows.split)
        if labels is not None and not isinstance(split, Split) and not (is_known := labels.any(axis=1)).all():
            groups = np.array(rows.groups or range(rows.items))
            queries = chosen.queries[is_known[chosen.queries]]
            if not len(queries):
                queries = np.flatnonzero(np.isin(groups, np.unique(groups[is_known])[::4]))
            chosen = Split(np.setdiff1d(np.arange(rows.items), queries), queries)
        about: dict[str, Any] = {
            "class_names": classes,
            "label_origin": ORIGINS.get(rows.label_kind, ""),
            "item_names": rows.names or None,
        }
        if rows.pictures:
            parts = (self.name, rows.pictures, rows.captions, labels, chosen.train, seed, self.encoder)
            data = captioned_pictures(*parts, **about)
        else:
            captions = next(iter(rows.captions.values()), None)
            data = MultimodalDataset(self.name, rows.matrices, labels, captions=captions, **about)
        if rows.skipped:
            reasons = "; ".join(group_skipped(rows.skipped))
            warnings.warn(f"{len(rows.skipped):,} items skipped: {reasons}", stacklevel=2)
        return data, chosen

    @cached_property
    def _pictures(self) -> PictureCache:
        return PictureCache(self.encoder)

    def read(self, on_progress: OnProgress = None) -> UploadedRows:
        """Return the rows of the files, with labels from the files, from clustering or assigned by hand."""
        return label_rows(self.read_files(on_progress), self.label_source, self.topics, self.hand_labels)

    def read_files(self, on_progress: OnProgress = None) -> UploadedRows:
        """Return the contents of the files: pictures or matrices, and any captions and labels."""
        if self.content is None:
            raise InputError(self.missing())
        name = self.file_name if isinstance(self.content, tuple) else name_of(self.content, self.file_name)
        with open_listing(self.content, name) as files:
            if not files.ending(*FORMATS):
                if files.links:
                    raise InputError(
                        f"{name} has only links to files, such as {files.links[0]}; they are not followed."
                    )
                raise unknown("kind of file", name, FORMATS)
            skipped = [Skipped(link, "link", "is a link, and links are not followed") for link in files.links]
            if not has_pictures(files):
                rows = parse_matrices(files, self.max_bytes)
                return replace(rows, skipped=[*rows.skipped, *skipped])
            for part in ("pictures", "texts") if self.encoder else ():
                load_model(self.encoder, part)  # so that a missing model is one problem, not one per picture
            folder, cache = self.local_folder, self._pictures
            max_pixels = inf if isinstance(self.content, Path) else MAX_TOTAL_PIXELS
            options = (self.columns, self.separator, self.several_texts, self.keep_unlabelled, max_pixels)
            with storing(folder, cache, on_progress) if folder else nullcontext(on_progress) as report:
                rows = parse_pictures(files, cache, *options, report)
                return replace(rows, skipped=[*rows.skipped, *skipped])


def check_rows(rows: UploadedRows) -> list[str]:
    """List problems that concern all rows: labels, modalities, and the numbers of items and classes."""
    if rows.problems:
        return []
    items, problems = rows.items, []
    if len(rows.modalities) < 2:
        got = ", ".join(rows.modalities) or "none"
        problems.append(f"Cross-modal search needs at least two modalities; got {got}.")
    problems += [
        f"The name of a modality may have at most {MAX_NAME_CHARACTERS} letters, digits, spaces and .()-; "
        f"got {name[:80]!r}."
        for name in rows.modalities
        if not MODALITY_NAME.fullmatch(name)
    ]
    classes = len({label for names in rows.labels or () for label in names})
    if classes > MAX_CLASSES or classes * items > MAX_LABEL_CELLS:
        problems.append(f"There are {classes:,} classes; the limit is {MAX_CLASSES:,}.")
    if (different := len(set(rows.groups)) or items) < MIN_ITEMS:  # the captions of a picture are one item
        usable = " that can be used" if rows.skipped else ""
        problems.append(f"There are {different} items{usable}; training and queries need at least {MIN_ITEMS}.")
    return problems


def group_skipped(skipped: Sequence[Skipped], examples: int = 3) -> list[str]:
    """Group skipped items by the kind of problem; return a line for each with their number and examples."""
    kinds: dict[str, list[Skipped]] = {}
    for one in skipped:
        kinds.setdefault(one.kind, []).append(one)
    lines = []
    for kind, found in kinds.items():
        named = [f"{one.item}{':' if one.item.startswith('Row ') else ''} {one.reason}" for one in found[:examples]]
        more = f" … and {len(found) - examples:,} more" if len(found) > examples else ""
        lines.append(f"{len(found):,} {kind}: {'; '.join(text.rstrip('.') for text in named)}{more}")
    return lines


def _notes(rows: UploadedRows, counts: Counter[str]) -> list[str]:
    notes = list(rows.notes)
    if (split := rows.split) is not None:
        notes.append(
            f"The split in the files is used: {len(split.train):,} training items, {len(split.queries):,} queries."
        )
    if without := sum(not own for own in rows.labels or ()):
        notes.append(
            f"Items without a label: {without:,}. They are never used as queries. You can label them in Browse pairs."
        )
    if rows.has_several_captions:
        how = "each is a separate text" if rows.groups else "they are joined into one text"
        notes.append(f"Pictures have several captions; {how}.")
    if any(one.item.lower().endswith(HEIC_SUFFIXES) for one in rows.skipped):
        notes.append("HEIC pictures are read if the package pillow-heif is installed.")
    notes += [
        f"{name} has negative values. Most methods use them as they are; SMFH, which needs features ≥ 0, "
        "splits them into positive and negative parts."
        for name, X in rows.matrices.items()
        if X.shape[0] and X.min() < 0
    ]
    if single := [label for label, items in counts.items() if items == 1]:
        notes.append(f"{len(single)} of {len(counts)} classes have only one item, so no other item is relevant to it.")
    return notes


def example_archive() -> bytes:
    """Return a small .zip as a template: twelve drawings and a table of files, captions and labels."""
    from PIL import Image, ImageDraw

    lines = ["file,caption,labels"]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for shape, sides in {"triangle": 3, "square": 4, "circle": 60}.items():
            for colour in ("red", "green", "blue", "orange"):
                image = Image.new("RGB", (96, 96), "white")
                ImageDraw.Draw(image).regular_polygon((48, 48, 32), sides, fill=colour)
                picture = io.BytesIO()
                image.save(picture, "PNG")
                archive.writestr(f"pictures/{colour}_{shape}.png", picture.getvalue())
                lines.append(f"pictures/{colour}_{shape}.png,a {colour} {shape} on white,{shape}|{colour}")
        archive.writestr("items.csv", "\n".join(lines) + "\n")
    return file.getvalue()

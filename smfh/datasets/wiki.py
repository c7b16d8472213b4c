"""The Wikipedia benchmark (Rasiwasia et al., 2010), read from its original files and features."""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from smfh.datasets.download import download, unpack
from smfh.datasets.source import DatasetCard, DatasetSource, Loaded, OnProgress
from smfh.datasets.splits import resolve_split
from smfh.features.pictures import thumbnail
from smfh.files import Variable, read_mat, read_text, shortened
from smfh.folders import data_folders
from smfh.types import FloatArray, InputError, MultimodalDataset, Split

FOLDER = "wiki"
PARTS = ("trainset_txt_img_cat.list", "testset_txt_img_cat.list")
ARCHIVE = "https://www.svcl.ucsd.edu/projects/crossmodal/wikipedia_dataset.zip"
CHECKSUMS: Mapping[str, str] = MappingProxyType(
    {
        "raw_features.mat": "ca628f765a69575e168ab29eb97f5ade12fadf47b31de1328c7ff631c7f225ae",
        PARTS[0]: "30c1ba8afbe90da5986de9b12496b6dd2e4680d3876b79ab7aae2e437d5819a3",
        PARTS[1]: "ec3123ee31cc89dd95fbeb23eb73b2ecfd1d8909bba863723471aad99408c1eb",
        "categories.list": "4929f3ee00e9de9ffe11f9ab18fc8919b0f6182cc801309409df2f2d05e2b0f5",
    }
)
IDENTIFIER = re.compile(r"[0-9a-zA-Z][0-9a-zA-Z._-]*")  # safe as part of a path
TEXT = re.compile(rb"<text>(.*?)</text>", re.DOTALL)
MAX_TEXT_BYTES = 1 << 20
MAX_CAPTION_CHARACTERS = 300


class Pair(NamedTuple):
    """A text, its picture and their class: one line of a .list file."""

    text: str  # file name without extension, as is `image`
    image: str
    label: int  # counted from 0


@dataclass(frozen=True)
class Wiki(DatasetSource):
    """2,866 Wikipedia sections with one picture each, in ten classes."""

    name = "wiki"
    is_light = True
    card = DatasetCard(
        title="Wiki",
        about="Sections of featured Wikipedia articles and their pictures, in ten classes. Picture features: SIFT bags "
        "of visual words. Text features: LDA topics.",
        size="2,866 pairs (2,173 training, 693 queries), 128 + 10 dimensions, 10 classes",
        terms="For research; the source states no licence.",
        origin="The archive “Wikipedia” on the cross-modal retrieval page of the Statistical Visual "
        "Computing Laboratory, UC San Diego. `python -m smfh data wiki --fetch` downloads it with "
        "its pictures and texts.",
        folder=FOLDER,
        files=tuple(CHECKSUMS),
    )

    def load(self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress = None) -> Loaded:
        """Load the items and their split: the official one, or a random one with 75 % for training."""
        folder = self.folder
        classes = read_classes(folder)
        features = read_mat(folder / "raw_features.mat").variables
        image, text = (_stack(features, letter) for letter in "IT")
        parts = [read_pairs(folder / part, len(classes)) for part in PARTS]
        pairs = [pair for part in parts for pair in part]
        labels = np.eye(len(classes), dtype=np.bool_)[[pair.label for pair in pairs]]
        captions = [
            read_caption(folder / "texts" / f"{pair.text}.xml") or f"{pair.text} / {pair.image}" for pair in pairs
        ]
        paths = tuple(folder / "images" / classes[pair.label] / f"{pair.image}.jpg" for pair in pairs)
        pictures = PictureFiles(paths) if all(path.is_file() for path in paths) else None
        modalities = {"image": image, "text": text}
        data = MultimodalDataset(self.name, modalities, labels, classes, captions, pictures)
        rows = np.arange(len(data))
        official = Split(train=rows[: len(parts[0])], queries=rows[len(parts[0]) :])
        return data, resolve_split(split, seed, len(data), official)

    def fetch(self, on_progress: OnProgress = None) -> Path:
        """Download the public archive, unpack the files that are used, and return their folder."""
        folder = data_folders()[0] / FOLDER
        archive = download(ARCHIVE, folder / "wikipedia_dataset.zip", on_progress=on_progress)
        unpack(archive, folder, CHECKSUMS)
        classes = read_classes(folder)
        pairs = [pair for part in PARTS for pair in read_pairs(folder / part, len(classes))]
        pictures = [f"images/{classes[pair.label]}/{pair.image}.jpg" for pair in pairs]
        unpack(archive, folder, pictures + [f"texts/{pair.text}.xml" for pair in pairs], required=False)
        archive.unlink()
        return folder


@dataclass(frozen=True)
class PictureFiles(Sequence[bytes]):
    """A sequence of thumbnails; each is made when it is accessed, because making all 2,866 takes a while."""

    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return PictureFiles(self.paths[index])
        try:
            return thumbnail(self.paths[index].read_bytes())
        except OSError as error:
            raise InputError(
                f"{self.paths[index].name} cannot be read any more ({error.strerror or error}). Restore the "
                "data folder, or choose another data set."
            ) from error


def read_caption(path: Path) -> str:
    """Return about the first 300 characters inside <text>, on one line; "" if the file does not exist."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        found = TEXT.search(file.read(MAX_TEXT_BYTES))
    words = " ".join(html.unescape(found[1].decode(errors="replace")).split()) if found else ""
    if len(words) <= MAX_CAPTION_CHARACTERS:
        return words
    return f"{words[:MAX_CAPTION_CHARACTERS].rsplit(' ', 1)[0]} …"


def read_classes(folder: Path) -> tuple[str, ...]:
    names = tuple(read_text(folder / "categories.list").split())
    if invalid := [name for name in names if not IDENTIFIER.fullmatch(name)]:
        listed = ", ".join(map(repr, invalid))
        raise InputError(f"categories.list: a class name must be letters, digits, '.', '_' or '-'; got {listed}.")
    return names


def read_pairs(path: Path, classes: int) -> list[Pair]:
    """Read tab-separated lines of text name, image name and class; classes count from 1 in the file."""
    pairs, problems = [], []
    for row, line in enumerate(read_text(path).splitlines(), start=1):
        cells = line.strip().split("\t")
        plain = len(cells) == 3 and all(IDENTIFIER.fullmatch(cell) for cell in cells)
        if plain and cells[2].isdecimal() and len(cells[2]) < 10 and 1 <= int(cells[2]) <= classes:
            pairs.append(Pair(cells[0], cells[1], int(cells[2]) - 1))
        else:
            problems.append(f"{path.name}, line {row}: expected text, image and a class from 1 to {classes}.")
    if problems:
        raise InputError(shortened(problems))
    return pairs


def _stack(features: Mapping[str, Variable], letter: str) -> FloatArray:
    """Stack the training and query rows of the matrices `letter`_tr and `letter`_te."""
    parts = [features.get(f"{letter}_{part}") for part in ("tr", "te")]
    is_dense = all(isinstance(part, np.ndarray) and part.dtype.kind in "fiub" for part in parts)
    if not is_dense or len({part.shape[1:] for part in parts if part is not None}) != 1:
        raise InputError(f"raw_features.mat: {letter}_tr and {letter}_te must be dense matrices of the same width.")
    return np.vstack([np.asarray(part) for part in parts]).astype(np.float32)

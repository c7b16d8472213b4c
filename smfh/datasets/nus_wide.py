"""NUS-WIDE (Chua et al., 2009) in its official files, by its ten largest concepts."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.datasets.source import DatasetCard, DatasetSource, OnProgress
from smfh.datasets.splits import resolve_split
from smfh.features.text import BagOfWords, Vocabulary
from smfh.types import BoolArray, InputError, MultimodalDataset, Split

FOLDER = "nus_wide"
WORDS_FILE = "Low_Level_Features/BoW_int.dat"
TAGS_FILE = "NUS_WID_Tags/AllTags1k.txt"
TAG_NAMES_FILE = "NUS_WID_Tags/TagList1k.txt"  # not needed, but names the tags
LABEL_FOLDER = "Groundtruth/AllLabels"
LARGEST = ("sky", "clouds", "person", "water", "animal", "grass", "buildings", "window", "plants", "lake")
CONCEPTS = 10
VISUAL_WORDS, TAGS = 500, 1_000
TRAIN_SHARE = 180_000 / 186_577
BLOCK = 1 << 22  # bytes of text parsed at once
MAX_COUNT = 1 << 31


@dataclass(frozen=True)
class NusWide(DatasetSource):
    """Photographs from Flickr with their tags; an item has one or more of ten concepts."""

    name = "nus-wide"
    card = DatasetCard(
        title="NUS-WIDE",
        about="Photographs from Flickr as SIFT bags of visual words, with their tags, in the ten largest of "
        "81 concepts. Items with none of the ten are left out; those without tags stay, as is usual.",
        size="186,577 pairs (180,000 training, 6,577 queries), 500 + 1,000 (sparse) dimensions, 10 concepts",
        terms="For research, by the terms of its authors; the photographs belong to their owners.",
        origin="It comes from the Lab for Media Search, National University of Singapore, as archives of "
        "low-level features, tags and ground truth, each unpacked as it is.",
        folder=FOLDER,
        files=(WORDS_FILE, TAGS_FILE, *(f"{LABEL_FOLDER}/Labels_{concept}.txt" for concept in LARGEST)),
    )

    def load(
        self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress | None = None
    ) -> tuple[MultimodalDataset, Split]:
        """The files are read in blocks: only the rows that stay, and only tags that are there, are kept."""
        folder = self.folder
        words = read_tag_names(folder / TAG_NAMES_FILE)
        concepts, labels = read_labels(folder / LABEL_FOLDER)
        keep: BoolArray = np.asarray(labels.any(axis=1))
        image = read_visual_words(folder / WORDS_FILE, keep, on_progress)
        tags = read_tags(folder / TAGS_FILE, keep, on_progress)
        data = MultimodalDataset(
            self.name,
            {"image": image, "text": tags},
            labels[keep],
            concepts,
            captions=name_tags(tags, words) if words else None,
            encoders={"text": BagOfWords(Vocabulary(words))} if words else {},
        )
        return data, resolve_split(split, seed, len(data), train_share=TRAIN_SHARE)


def read_labels(folder: Path) -> tuple[tuple[str, ...], BoolArray]:
    """The ten concepts with most items, largest first, and which items have them."""
    columns = {}
    for path in sorted(folder.glob("Labels_*.txt")):
        concept = path.stem.removeprefix("Labels_")
        columns[concept] = np.concatenate([block[:, 0] > 0 for block in read_counts(path, 1)])
    rows = {concept: len(column) for concept, column in columns.items()}
    if len(set(rows.values())) > 1:
        listed = ", ".join(f"Labels_{concept}.txt {count:,}" for concept, count in rows.items())
        raise InputError(f"The label files must have equally many lines; they have: {listed}.")
    largest = sorted(columns, key=lambda concept: (-np.count_nonzero(columns[concept]), concept))[:CONCEPTS]
    return tuple(largest), np.column_stack([columns[concept] for concept in largest])


def read_visual_words(path: Path, keep: BoolArray, on_progress: OnProgress | None) -> NDArray[np.float32]:
    """The counts of visual words, of the rows to keep."""
    X = np.empty((np.count_nonzero(keep), VISUAL_WORDS), dtype=np.float32)
    filled = 0
    for rows in _chosen_rows(path, VISUAL_WORDS, keep, on_progress):
        X[filled : filled + len(rows)] = rows
        filled += len(rows)
    return X


def read_tags(path: Path, keep: BoolArray, on_progress: OnProgress | None) -> sparse.csr_array:
    """Which tags an item has, of the rows to keep, never as a dense matrix."""
    parts = [sparse.csr_array(rows) for rows in _chosen_rows(path, TAGS, keep, on_progress)]
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def read_tag_names(path: Path) -> tuple[str, ...]:
    """The tags in the order of their columns; nothing if the list is not there."""
    words = tuple(path.read_text(encoding="utf-8", errors="replace").split()) if path.is_file() else ()
    if words and len(set(words)) != TAGS:
        raise InputError(f"{path.name} must have {TAGS:,} different tags; it has {len(set(words)):,}.")
    return words


def name_tags(tags: sparse.csr_array, words: tuple[str, ...]) -> list[str]:
    """The tags of each item in words."""
    bounds = zip(tags.indptr[:-1], tags.indptr[1:], strict=True)
    return [" ".join(words[column] for column in tags.indices[start:end]) for start, end in bounds]


def _chosen_rows(
    path: Path, columns: int, keep: BoolArray, on_progress: OnProgress | None
) -> Iterator[NDArray[np.float32]]:
    """The rows to keep, block after block; refuses a file of other length than the labels."""
    row = 0
    for block in read_counts(path, columns):
        chosen = keep[row : row + len(block)]
        row += len(block)
        if row > len(keep):
            break
        yield block[chosen]
        if on_progress:
            on_progress(row / len(keep), f"Reading {path.name}")
    if row != len(keep):
        came = f"{row:,}" if row < len(keep) else f"more than {len(keep):,}"
        raise InputError(f"{path.name} has {came} rows; the label files have {len(keep):,}.")


def read_counts(path: Path, columns: int) -> Iterator[NDArray[np.float32]]:
    """Rows of whole numbers separated by blanks or tabs, in blocks of lines."""
    line = 0
    with path.open("rb") as file:
        while text := file.read(BLOCK) + file.readline(BLOCK):
            block = parse_counts(text, columns)
            if block is None:
                raise InputError(_bad_line(text, columns, path.name, line))
            line += text.count(b"\n")
            yield block


def parse_counts(text: bytes, columns: int) -> NDArray[np.float32] | None:
    """Lines of so many whole numbers; None if some line has anything else."""
    if not text.strip():
        return np.empty((0, columns), dtype=np.float32)
    try:
        block = np.loadtxt(io.BytesIO(text), dtype=np.float32, comments=None, ndmin=2)
    except ValueError:
        return None
    are_counts = ((block >= 0) & (block < MAX_COUNT) & (block == np.floor(block))).all()
    return block if are_counts and block.shape[1] == columns else None


def _bad_line(text: bytes, columns: int, name: str, before: int) -> str:
    """What is wrong with the first line that cannot be parsed."""
    for number, line in enumerate(text.split(b"\n"), start=before + 1):
        if line.strip() and parse_counts(line, columns) is None:
            came = f"{len(line.split()):,}, beginning {line[:30].decode(errors='replace')!r}"
            return f"{name}, line {number:,}: expected {columns:,} whole numbers; got {came}."
    return f"{name} cannot be read after line {before:,}."

"""NUS-WIDE (Chua et al., 2009), read from its official files, with its ten largest concepts."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.datasets.source import DatasetCard, DatasetSource, Loaded, OnProgress
from smfh.datasets.splits import resolve_split
from smfh.features.text import TextEncoder, Vocabulary
from smfh.types import BoolArray, InputError, MultimodalDataset, Split

FOLDER = "nus_wide"
WORDS_FILE = "Low_Level_Features/BoW_int.dat"
TAGS_FILE = "NUS_WID_Tags/AllTags1k.txt"
TAG_NAMES_FILE = "NUS_WID_Tags/TagList1k.txt"  # optional
LABEL_FOLDER = "Groundtruth/AllLabels"
LARGEST = ("sky", "clouds", "person", "water", "animal", "grass", "buildings", "window", "plants", "lake")
CONCEPTS = 10
VISUAL_WORDS, TAGS = 500, 1_000
TRAIN_SHARE = 180_000 / 186_577
BLOCK_BYTES = 1 << 22  # amount of text parsed at once
MAX_COUNT = 1 << 31


@dataclass(frozen=True)
class NusWide(DatasetSource):
    """Photographs from Flickr with their tags; an item has one or more of ten concepts."""

    name = "nus-wide"
    card = DatasetCard(
        title="NUS-WIDE",
        about="Photographs from Flickr with their tags, labelled with the ten largest of 81 concepts. Picture "
        "features: SIFT bags of visual words. Items with none of the ten concepts are left out; items without tags are "
        "included, as is usual.",
        size="186,577 pairs (180,000 training, 6,577 queries), 500 + 1,000 (sparse) dimensions, 10 concepts",
        terms="For research, by the terms of its authors; the photographs belong to their owners.",
        origin="The Lab for Media Search, National University of Singapore, provides archives of "
        "low-level features, tags and ground truth; unpack all of them into the folder nus_wide.",
        folder=FOLDER,
        files=(WORDS_FILE, TAGS_FILE, *(f"{LABEL_FOLDER}/Labels_{concept}.txt" for concept in LARGEST)),
    )

    def load(self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress = None) -> Loaded:
        """Load the items that have one of the ten concepts; files are read in blocks to save memory."""
        folder = self.folder
        tag_file = folder / TAG_NAMES_FILE
        tag_text = tag_file.read_text(encoding="utf-8", errors="replace") if tag_file.is_file() else ""
        tag_names = tuple(tag_text.split())
        if tag_names and (different := len(set(tag_names))) != TAGS:
            raise InputError(f"{tag_file.name} must have {TAGS:,} different tags; it has {different:,}.")
        concepts, labels = read_labels(folder / LABEL_FOLDER)
        keep: BoolArray = np.asarray(labels.any(axis=1))
        image, filled = np.empty((np.count_nonzero(keep), VISUAL_WORDS), dtype=np.float32), 0
        for rows in _selected_rows(folder / WORDS_FILE, VISUAL_WORDS, keep, on_progress):
            image[filled : filled + len(rows)] = rows
            filled += len(rows)
        blocks = _selected_rows(folder / TAGS_FILE, TAGS, keep, on_progress)
        tags = sparse.csr_array(sparse.vstack([sparse.csr_array(rows) for rows in blocks], format="csr"))
        columns = np.split(tags.indices, tags.indptr[1:-1])  # of the tags of each item
        captions = [" ".join(tag_names[tag] for tag in row) for row in columns] if tag_names else None
        data = MultimodalDataset(
            self.name,
            {"image": image, "text": tags},
            labels[keep],
            concepts,
            captions=captions,
            encoders={"text": TextEncoder(Vocabulary(tag_names))} if tag_names else {},
        )
        return data, resolve_split(split, seed, len(data), train_share=TRAIN_SHARE)


def read_labels(folder: Path) -> tuple[tuple[str, ...], BoolArray]:
    """Return the ten concepts with the most items, largest first, and the (items, concepts) labels."""
    columns = {}
    for path in sorted(folder.glob("Labels_*.txt")):
        concept = path.stem.removeprefix("Labels_")
        columns[concept] = np.concatenate([block[:, 0] > 0 for block in read_counts(path, 1)])
    rows = {concept: len(column) for concept, column in columns.items()}
    if len(set(rows.values())) > 1:
        listed = ", ".join(f"Labels_{concept}.txt {count:,}" for concept, count in rows.items())
        raise InputError(f"The label files must have the same number of lines; they have: {listed}.")
    largest = sorted(columns, key=lambda concept: (-np.count_nonzero(columns[concept]), concept))[:CONCEPTS]
    return tuple(largest), np.column_stack([columns[concept] for concept in largest])


def _selected_rows(path: Path, columns: int, keep: BoolArray, on_progress: OnProgress) -> Iterator[NDArray[np.float32]]:
    """Yield the rows selected by `keep` in blocks; raise InputError unless the file has `len(keep)` rows."""
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
        count = f"{row:,}" if row < len(keep) else f"more than {len(keep):,}"
        raise InputError(f"{path.name} has {count} rows; the label files have {len(keep):,}.")


def read_counts(path: Path, columns: int) -> Iterator[NDArray[np.float32]]:
    """Yield blocks of rows from a file of whole numbers that are separated by spaces or tabs."""
    line = 0
    with path.open("rb") as file:
        while text := file.read(BLOCK_BYTES) + file.readline(BLOCK_BYTES):
            block = parse_counts(text, columns)
            if block is None:
                for number, bad in enumerate(text.split(b"\n"), start=line + 1):
                    if bad.strip() and parse_counts(bad, columns) is None:
                        got = f"{len(bad.split()):,}, beginning {bad[:30].decode(errors='replace')!r}"
                        expected = f"expected {columns:,} whole numbers; got {got}."
                        raise InputError(f"{path.name}, line {number:,}: {expected}")
                raise InputError(f"{path.name} cannot be read after line {line:,}.")
            line += text.count(b"\n")
            yield block


def parse_counts(text: bytes, columns: int) -> NDArray[np.float32] | None:
    """Parse lines of `columns` whole numbers each; None if a line contains anything else."""
    if not text.strip():
        return np.empty((0, columns), dtype=np.float32)
    try:
        block = np.loadtxt(io.BytesIO(text), dtype=np.float32, comments=None, ndmin=2)
    except ValueError:
        return None
    are_counts = ((block >= 0) & (block < MAX_COUNT) & (block == np.floor(block))).all()
    return block if are_counts and block.shape[1] == columns else None

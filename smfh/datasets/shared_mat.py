"""Benchmarks as newer work shares them: one .mat file with features and labels, often with its split."""

from dataclasses import dataclass

import numpy as np

from smfh.datasets.layouts import in_words, read_layout
from smfh.datasets.own import classes_of
from smfh.datasets.own_matrices import read_labels, to_float32
from smfh.datasets.source import DatasetCard, DatasetSource, OnProgress, multi_hot
from smfh.datasets.splits import resolve_split
from smfh.features.image import split_signs
from smfh.files import read_mat, shortened
from smfh.types import InputError, MultimodalDataset, Split

MAX_BYTES, SECONDS = 1 << 31, 600.0
MODALITIES = ("image", "text")
QUERIES = 2_000  # drawn where the file has no split, as is usual


def kept_as(folder: str, file: str) -> tuple[str, str, tuple[str, ...]]:
    """The end of a card: where a person gets the file, the folder that it belongs to, and the file."""
    origin = (
        "It is the one .mat file (I_tr, I_te, T_tr, T_te, L_tr, L_te, or IAll, TAll, LAll) that comes with "
        f"the programs of newer work on cross-modal hashing; put it there as {file}, saved with -v7 or older."
    )
    return origin, folder, (file,)


@dataclass(frozen=True)
class SharedMat(DatasetSource):
    """A file with I_tr, I_te, T_tr, T_te, L_tr, L_te, or with IAll, TAll, LAll, by any of their names."""

    def load(
        self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress | None = None
    ) -> tuple[MultimodalDataset, Split]:
        """The file's own split is the official one; without it 2,000 queries are drawn."""
        path = self.folder / self.card.files[0]
        contents = read_mat(path, max_bytes=MAX_BYTES, seconds=SECONDS)
        layout = read_layout(contents.variables)
        if layout.labels is None or not set(MODALITIES) <= layout.modalities.keys():
            raise InputError(
                f"{path.name} must have I_tr, I_te, T_tr, T_te, L_tr and L_te, or IAll, TAll and LAll; "
                f"it has {', '.join((in_words(contents.variables), *contents.left_out))}."
            )
        labels, problems = read_labels(layout, path.name)
        modalities = {}
        for name in MODALITIES:
            X, wrong = to_float32(layout.modalities[name], f"{name} in {path.name}")
            modalities[name] = split_signs(X) if X.min() < 0 else X
            problems += wrong
        if problems:
            raise InputError(shortened(problems))
        classes = classes_of(labels)
        data = MultimodalDataset(self.name, modalities, multi_hot(labels, classes), classes)
        rows, cut = np.arange(len(data)), layout.training_items
        official = None if cut is None else Split(rows[:cut], rows[cut:])
        share = 1 - min(QUERIES / len(data), 0.25)
        return data, resolve_split(split, seed, len(data), official, share)


@dataclass(frozen=True)
class MirFlickr(SharedMat):
    """Photographs from Flickr with their tags; an item has one or more of 24 concepts."""

    name = "mirflickr"
    card = DatasetCard(
        "MIRFlickr-25K",
        "Photographs from Flickr with their tags in 24 concepts: GIST or network features for pictures, the "
        "frequent tags for texts.",
        "20,015 pairs as most files have them, 512 or 4,096 + 1,386 dimensions, 24 concepts",
        "For research; the photographs belong to their owners.",
        *kept_as("mirflickr", "MIRFLICKR.mat"),
    )


@dataclass(frozen=True)
class IaprTc12(SharedMat):
    """Photographs with a description each; an item has one or more of 255 concepts."""

    name = "iapr-tc12"
    card = DatasetCard(
        "IAPR TC-12",
        "Photographs of places, people and animals with a description each in 255 concepts: GIST features "
        "for pictures, bags of words for texts.",
        "20,000 pairs as most files have them, 512 + 2,912 dimensions, 255 concepts",
        "For research, by the terms of its authors.",
        *kept_as("iapr_tc12", "IAPRTC-12.mat"),
    )

"""Benchmarks that are shared as one .mat file with features and labels, often with a split."""

from dataclasses import dataclass

from smfh.datasets.source import DatasetCard, DatasetSource, Loaded, OnProgress, class_names_of, multi_hot
from smfh.datasets.splits import resolve_split
from smfh.datasets.user_matrices import parse_matrices
from smfh.files import open_listing, shortened
from smfh.types import InputError, MultimodalDataset, Split

MAX_BYTES = 1 << 31
MODALITIES = ("image", "text")
RANDOM_QUERIES = 2_000  # the usual number, drawn if the file has no split


def _card(folder: str, file: str, **about: str) -> DatasetCard:
    origin = (
        "The data set is one .mat file (I_tr, I_te, T_tr, T_te, L_tr, L_te, or IAll, TAll, LAll) that is distributed "
        f"with the code of recent papers on cross-modal hashing. Save it in the data set's folder as {file}."
    )
    return DatasetCard(origin=origin, folder=folder, files=(file,), **about)


@dataclass(frozen=True)
class SharedMat(DatasetSource):
    """A .mat file in one of the layouts of `smfh.datasets.user_matrices`."""

    def load(self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress = None) -> Loaded:
        """Load data and split: the file's split, else 2,000 random queries (at most 25 % of the items)."""
        path = self.folder / self.card.files[0]
        with open_listing(path) as files:
            rows = parse_matrices(files, MAX_BYTES)
        problems = [*rows.problems, *(f"{item.item}: {item.reason}." for item in rows.skipped)]
        if rows.labels is None:
            problems.append(f"{path.name} lacks labels: L_tr and L_te, or LAll.")
        if not set(MODALITIES) <= set(rows.modalities):
            problems.append(f"{path.name} needs image and text features; it has {', '.join(rows.modalities)}.")
        if problems or rows.labels is None:
            raise InputError(shortened(problems))
        classes = class_names_of(rows.labels)
        modalities = {name: rows.matrices[name] for name in MODALITIES}
        data = MultimodalDataset(self.name, modalities, multi_hot(rows.labels, classes), classes)
        share = 1 - min(RANDOM_QUERIES / len(data), 0.25)
        return data, resolve_split(split, seed, len(data), rows.split, share)


@dataclass(frozen=True)
class MirFlickr(SharedMat):
    """Photographs from Flickr with their tags; an item has one or more of 24 concepts."""

    name = "mirflickr"
    card = _card(
        "mirflickr",
        "MIRFLICKR.mat",
        title="MIRFlickr-25K",
        about="Photographs from Flickr with their tags, labelled with 24 concepts. Picture features: GIST, or from "
        "a network. Text features: the most frequent tags.",
        size="20,015 pairs in most files, 512 or 4,096 + 1,386 dimensions, 24 concepts",
        terms="For research; the photographs belong to their owners.",
    )


@dataclass(frozen=True)
class IaprTc12(SharedMat):
    """Photographs, each with a description; an item has one or more of 255 concepts."""

    name = "iapr-tc12"
    card = _card(
        "iapr_tc12",
        "IAPRTC-12.mat",
        title="IAPR TC-12",
        about="Photographs of places, people and animals, each with a description, labelled with 255 concepts. "
        "Picture features: GIST. Text features: bags of words.",
        size="20,000 pairs in most files, 512 + 2,912 dimensions, 255 concepts",
        terms="For research, under the terms of its authors.",
    )

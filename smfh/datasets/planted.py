"""A small artificial data set with a known solution: binary topics planted in every modality."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from smfh.datasets.source import DatasetCard, DatasetSource, Loaded, OnProgress
from smfh.datasets.splits import resolve_split
from smfh.types import Matrix, MultimodalDataset, Split, parameter

NAMES = ("image", "text", "sound", "touch", "smell")


@dataclass(frozen=True)
class Planted(DatasetSource):
    """Items with the features X_t = Y Û_tᵀ + noise in modality t, with binary topics Y and a random basis Û_t.

    Each class has two topics; a topic is 1 in about 90 % of the items of its class.
    """

    name = "planted"
    is_light = True
    card = DatasetCard(
        title="Planted",
        about="Artificial data: each class switches on topics in all modalities, so the true factorisation "
        "and the relevant items are known.",
        size="400 items, 60 + 40 dimensions, 5 classes",
        terms="Generated when needed.",
        origin="Included in the program.",
    )

    items: int = parameter(400, "N", 10, 1_000_000, "Number of items.", "log")
    classes: int = parameter(5, "K", 2, 100, "Number of classes.")
    modalities: int = parameter(2, "n_t", 2, len(NAMES), "Number of modalities.")
    labels_per_item: int = parameter(1, "l", 1, 10, "Maximum number of labels per item.")
    noise: float = parameter(0.05, "σ", 0.0, 10.0, "Amount of noise in the features.")
    sparse_text: bool = False
    data_seed: int = parameter(0, "seed", 0, 2**32 - 1, "Random seed of the data.")

    def load(self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress = None) -> Loaded:
        rng = np.random.default_rng(self.data_seed)
        labels = np.zeros((self.items, self.classes), dtype=np.bool_)
        for row, count in enumerate(rng.integers(1, min(self.labels_per_item, self.classes) + 1, self.items)):
            labels[row, rng.choice(self.classes, count, replace=False)] = True
        topics = 2 * self.classes  # two per class; each is 1 in about 90 % of the items of its class
        Y = np.repeat(labels, 2, axis=1) * (rng.random((self.items, topics)) < 0.9)
        modalities: dict[str, Matrix] = {}
        for position, name in enumerate(NAMES[: self.modalities]):
            dimensions = 60 - 20 * (position % 2)
            basis = rng.random((topics, dimensions)) * (rng.random((topics, dimensions)) < 0.3)
            X = (Y @ basis + self.noise * rng.random((self.items, dimensions))).astype(np.float32)
            if name == "text" and self.sparse_text:
                modalities[name] = sparse.csr_array(np.where(X > self.noise, X, 0))
            else:
                modalities[name] = X
        names = tuple(f"class {k}" for k in range(self.classes))
        captions = [", ".join(np.array(names)[on]) for on in labels]
        data = MultimodalDataset(self.name, modalities, labels, names, captions)
        return data, resolve_split(split, seed, self.items)

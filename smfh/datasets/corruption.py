"""Corrupt training items on purpose: wrong labels, wrong pairs, missing modalities, unseen classes.

Queries and the labels that scores use are never changed. The same seed corrupts the same items, and the items
corrupted at a small share are also corrupted at a larger one, so that curves over the share are smooth.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from scipy import sparse

from smfh.types import InputError, IntArray, Matrix, MultimodalDataset, Split

CORRUPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "wrong_labels": "wrong labels",
        "unpaired": "unpaired items",
        "missing_modality": "missing modality",
        "unseen_classes": "unseen classes",
    }
)
MAX_DRAWS = 100  # attempts to draw another item without common labels
MIN_CLASSES = 2  # number of classes that always stay in training

Loaded = tuple[MultimodalDataset, Split]


def corrupt(data: MultimodalDataset, split: Split, shares: Mapping[str, float], seed: int = 0) -> Loaded:
    """Return the data and split with these shares of the training items (or of the classes) corrupted.

    Parameters
    ----------
    data, split
        The clean data and their split; neither is modified.
    shares
        The share of each corruption, from 0 to 1, by its name in CORRUPTIONS. *wrong_labels*: share of
        training items that get the labels of another item, with which they have no label in common.
        *unpaired*: share of training items whose features are exchanged among them, except in the first
        modality. *missing_modality*: share of training items that lose one modality, drawn at random; its
        features become the mean of the training items, or 0 if sparse. *unseen_classes*: share of classes
        whose items are left out of training; at least two classes stay.
    seed
        Random seed for drawing items, labels and classes.

    Raises
    ------
    InputError
        If no training item is left.
    """
    streams = {name: np.random.default_rng([seed, number]) for number, name in enumerate(CORRUPTIONS)}
    if share := shares.get("unseen_classes"):
        rng = streams["unseen_classes"]
        classes = rng.permutation(np.flatnonzero(data.labels[split.train].any(axis=0)))
        unseen = classes[: min(round(share * len(classes)), max(len(classes) - MIN_CLASSES, 0))]
        seen = split.train[~data.labels[np.ix_(split.train, unseen)].any(axis=1)]
        if not len(seen):
            raise InputError(
                f"Leaving out {len(unseen)} of {len(classes)} classes leaves no training item; leave out fewer."
            )
        split = replace(split, train=seen)
    train = split.train

    def draw(name: str, share: float) -> IntArray:
        """Draw training rows without replacement; a larger share contains all rows of a smaller one."""
        return streams[name].permutation(train)[: round(share * len(train))]

    if share := shares.get("wrong_labels"):
        wrong, rng = draw("wrong_labels", share), streams["wrong_labels"]
        donors, given = rng.choice(train, len(train))[: len(wrong)], data.labels.copy()
        for _ in range(MAX_DRAWS):
            alike = np.flatnonzero((data.labels[donors] & data.labels[wrong]).any(axis=1))
            if not len(alike):
                break
            donors[alike] = rng.choice(train, len(alike))
        given[wrong] = data.labels[donors]
        data = replace(data, training_labels=given)
    if share := shares.get("unpaired"):
        rows, order = draw("unpaired", share), np.arange(len(data))
        order[rows] = np.roll(rows, 1)
        first, *others = data.modalities
        shifted = {name: data.modalities[name][order] for name in others}
        data = replace(data, modalities={first: data.modalities[first], **shifted})
    if share := shares.get("missing_modality"):
        rows, rng = draw("missing_modality", share), streams["missing_modality"]
        lost = rng.integers(len(data.modalities), size=len(train))[: len(rows)]
        modalities: dict[str, Matrix] = {}
        for position, (name, X) in enumerate(data.modalities.items()):
            without = rows[lost == position]
            if sparse.issparse(X):
                present = np.ones(len(data), dtype=X.dtype)
                present[without] = 0
                left = sparse.csr_array(sparse.diags_array(present, dtype=X.dtype) @ X)
                left.eliminate_zeros()
                modalities[name] = left
            else:
                modalities[name] = np.array(X)
                modalities[name][without] = X[train].mean(axis=0)
        data = replace(data, modalities=modalities)
    return data, split

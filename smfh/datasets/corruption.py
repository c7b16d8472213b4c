"""Corrupt training items on purpose: wrong labels, wrong pairs, missing features, classes left out.

Queries and the labels that scores use are never changed. The same seed corrupts the same items, and the items
corrupted at a small share are also corrupted at a larger one, so that curves over the share are smooth.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from scipy import sparse

from smfh.types import BoolArray, InputError, IntArray, Matrix, MultimodalDataset, Split

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
        split = _without_classes(data, split, share, streams["unseen_classes"])
    if share := shares.get("wrong_labels"):
        given = _wrong_labels(data.labels, split.train, share, streams["wrong_labels"])
        data = replace(data, training_labels=given)
    if share := shares.get("unpaired"):
        data = _unpaired(data, _drawn(split.train, share, streams["unpaired"]))
    if share := shares.get("missing_modality"):
        data = _incomplete(data, split.train, share, streams["missing_modality"])
    return data, split


def _drawn(rows: IntArray, share: float, rng: np.random.Generator) -> IntArray:
    """Draw a share of the rows without replacement; a larger share contains all rows of a smaller one."""
    return rng.permutation(rows)[: round(share * len(rows))]


def _wrong_labels(labels: BoolArray, train: IntArray, share: float, rng: np.random.Generator) -> BoolArray:
    """Return the labels after a share of the training rows was given the labels of other rows.

    The other row has no label in common, unless MAX_DRAWS attempts do not find such a row.
    """
    wrong = _drawn(train, share, rng)
    donors, given = rng.choice(train, len(train))[: len(wrong)], labels.copy()
    for _ in range(MAX_DRAWS):
        alike = np.flatnonzero((labels[donors] & labels[wrong]).any(axis=1))
        if not len(alike):
            break
        donors[alike] = rng.choice(train, len(alike))
    given[wrong] = labels[donors]
    return given


def _unpaired(data: MultimodalDataset, rows: IntArray) -> MultimodalDataset:
    """Return the data with the features of these rows rotated among them, except in the first modality."""
    order = np.arange(len(data))
    order[rows] = np.roll(rows, 1)
    shifted = {t: X[order] for t, X in list(data.modalities.items())[1:]}
    return replace(data, modalities={**data.modalities, **shifted})


def _incomplete(data: MultimodalDataset, train: IntArray, share: float, rng: np.random.Generator) -> MultimodalDataset:
    """Return the data with one modality of a share of the training rows replaced by its mean, or by 0."""
    rows = _drawn(train, share, rng)
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
            filled = np.array(X)
            filled[without] = X[train].mean(axis=0)
            modalities[name] = filled
    return replace(data, modalities=modalities)


def _without_classes(data: MultimodalDataset, split: Split, share: float, rng: np.random.Generator) -> Split:
    """Return the split without the training items of a share of the classes."""
    classes = rng.permutation(np.flatnonzero(data.labels[split.train].any(axis=0)))
    unseen = classes[: min(round(share * len(classes)), max(len(classes) - MIN_CLASSES, 0))]
    seen = split.train[~data.labels[np.ix_(split.train, unseen)].any(axis=1)]
    if not len(seen):
        raise InputError(
            f"Leaving out {len(unseen)} of {len(classes)} classes leaves no training item; leave out fewer."
        )
    return replace(split, train=seen)

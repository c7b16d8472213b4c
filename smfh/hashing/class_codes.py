"""Where SMFH+ starts: a binary code for each class, and for each item the mean of those of its classes."""

import numpy as np

from smfh.types import BoolArray, FloatArray

CANDIDATES = 100  # partitions of the classes that compete for each bit of the start


def label_codes(labels: BoolArray, codes: FloatArray) -> FloatArray:
    """For each item the mean of the codes of its classes; an item without labels starts at ½."""
    counts = labels.sum(axis=1, keepdims=True)
    means: FloatArray = np.where(counts > 0, labels.astype(np.float64) @ codes / np.maximum(counts, 1), 0.5)
    return means


def class_codes(sizes: FloatArray, bits: int, rng: np.random.Generator) -> FloatArray:
    """A binary code per class, bits balanced over items, classes far apart.

    Each bit is the best of some random partitions into halves: it should cut where the codes so far are
    close, Σ_{a,b} 2^−d(a,b), and leave as many items on as off.
    """
    classes = len(sizes)
    codes = np.zeros((classes, bits))
    closeness = 1 - np.eye(classes)
    share = sizes / max(sizes.sum(), 1)
    for k in range(bits):
        halves = rng.permuted(np.tile(np.arange(classes) % 2, (CANDIDATES, 1)), axis=1)
        same_side = halves @ closeness * halves + (1 - halves) @ closeness * (1 - halves)
        imbalance = np.abs(halves @ share - 0.5)
        score = same_side.sum(axis=1) / max(closeness.sum(), 1e-300) + imbalance
        codes[:, k] = np.abs(halves[np.argmin(score)] - rng.integers(2))  # or its complement
        closeness *= np.where(codes[:, k, None] == codes[None, :, k], 1.0, 0.5)
        closeness /= max(closeness.max(), 1e-300)
    return codes

"""Balanced binary codes of classes: the start of SMFH+, and all that the baseline "class codes" learns."""

import numpy as np

from smfh.types import FloatArray

PARTITIONS = 100  # random partitions of the classes, of which the best becomes a bit


def class_codes(sizes: FloatArray, bits: int, rng: np.random.Generator) -> FloatArray:
    """Return a binary code for each class; codes are far apart, and bits balanced over the items.

    Each bit is the best of some random partitions of the classes into halves. It should separate classes a, b
    whose codes are still close, weighted by 2^−d(a,b), and be 1 for half of the items.
    """
    classes = len(sizes)
    codes = np.zeros((classes, bits))
    closeness = 1 - np.eye(classes)
    share = sizes / max(sizes.sum(), 1)
    for k in range(bits):
        halves = rng.permuted(np.tile(np.arange(classes) % 2, (PARTITIONS, 1)), axis=1)
        same_side = halves @ closeness * halves + (1 - halves) @ closeness * (1 - halves)
        imbalance = np.abs(halves @ share - 0.5)
        score = same_side.sum(axis=1) / max(closeness.sum(), 1e-300) + imbalance
        codes[:, k] = np.abs(halves[np.argmin(score)] - rng.integers(2))  # or its complement
        closeness *= np.where(codes[:, k, None] == codes[None, :, k], 1.0, 0.5)
        closeness /= max(closeness.max(), 1e-300)
    return codes

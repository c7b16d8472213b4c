"""Balanced binary codes of classes, from which SMFH+ starts and which the baseline "class codes" uses."""

import numpy as np

from smfh.types import FloatArray

PARTITIONS = 100  # random partitions of the classes, of which the best becomes a bit


def class_codes(sizes: FloatArray, bits: int, rng: np.random.Generator) -> FloatArray:
    """Return a binary code for each class; the codes are far apart, and each bit is balanced over the items.

    Each bit is the best of PARTITIONS random partitions of the classes into halves. The best one separates
    many pairs of classes a, b whose codes are still close (a pair has the weight 2^−d(a,b), where d is the
    distance of the codes so far), and is 1 for about half of the items.
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
        codes[:, k] = np.abs(halves[np.argmin(score)] - rng.integers(2))  # the partition or its complement
        closeness *= np.where(codes[:, k, None] == codes[None, :, k], 1.0, 0.5)
        closeness /= max(closeness.max(), 1e-300)
    return codes

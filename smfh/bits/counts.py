"""What the bits of codes do: which say nothing, which say the same, and for which classes they are on."""

import numpy as np
from numpy.typing import NDArray

from smfh.types import BoolArray, FloatArray, InputError, IntArray

MOST_CLASSES = 40  # that a matrix of classes shows
BLOCK = 1 << 15  # items turned into floats at once; their counts are exact in single precision


def bit_kinds(codes: BoolArray) -> NDArray[np.str_]:
    """`dead` for a bit that is the same in all items, `twin` for one that equals or mirrors an earlier
    one, `live` for the rest; (bits,)."""
    check_items(codes=codes)
    kinds, seen = [], set()
    for bit in codes.T:
        if len(bit) == 0 or bit.all() or not bit.any():
            kinds.append("dead")
            continue
        content = np.packbits(bit ^ bit[0]).tobytes()  # the same for a bit and its mirror image
        kinds.append("twin" if content in seen else "live")
        seen.add(content)
    return np.array(kinds, dtype=np.str_)


def correlate(codes: BoolArray) -> FloatArray:
    """ρ_jk = (n_jk/N − p_j p_k) / √(p_j (1 − p_j) p_k (1 − p_k)); not a number for a dead bit."""
    N = max(len(codes), 1)
    p = codes.sum(axis=0) / N
    deviation = np.sqrt(p * (1 - p))
    scale = np.outer(deviation, deviation)
    covariance = cross_counts(codes, codes) / N - np.outer(p, p)
    correlation: FloatArray = np.divide(covariance, scale, where=scale > 0, out=np.full(scale.shape, np.nan))
    return correlation


def class_shares(codes: BoolArray, labels: BoolArray) -> FloatArray:
    """P(on | class) of each class and bit, (classes, bits); 0 for a class of none."""
    check_items(codes=codes, labels=labels)
    shares: FloatArray = cross_counts(labels, codes) / np.maximum(labels.sum(axis=0), 1)[:, None]
    return shares


def class_contrast(codes: BoolArray, labels: BoolArray) -> FloatArray:
    """P(on | class) − P(on | others) of each class and bit, (classes, bits); 0 for a class of none or all."""
    return contrast(cross_counts(labels, codes), labels.sum(axis=0), codes)


def contrast(both: FloatArray, having: IntArray, codes: BoolArray) -> FloatArray:
    """P(on | has) − P(on | has not) of each feature and bit, from how many items have `both`; 0 where all or
    none of the items have the feature."""
    n = having[:, None]
    others = len(codes) - n
    difference = both / np.maximum(n, 1) - (codes.sum(axis=0) - both) / np.maximum(others, 1)
    return np.where((n > 0) & (others > 0), difference, 0)


def largest_classes(labels: BoolArray, most: int = MOST_CLASSES) -> IntArray:
    """The columns of the classes with the most items, the largest first; none without any item."""
    sizes: IntArray = labels.sum(axis=0)
    order: IntArray = np.argsort(-sizes, kind="stable")[:most]  # stable: equal classes keep their order
    return order[sizes[order] > 0]


def confusion_shares(rows: IntArray, asked: BoolArray, labels: BoolArray, top: int = 100) -> FloatArray:
    """For the queries of each class, the share of their first `top` answers that carry each class.

    `asked` are the classes of the queries, the answers are `rows` (queries, depth) of `labels`, nearest
    first; (classes, classes).
    """
    first = rows[:, :top]
    answered = np.zeros(asked.shape)
    for column in first.T:  # answer by answer: queries × answers × classes would be large
        answered += labels[column]
    answers = asked.sum(axis=0)[:, None] * first.shape[1]
    shares: FloatArray = asked.T.astype(np.float64) @ answered / np.maximum(answers, 1)
    return shares


def cross_counts(A: BoolArray, B: BoolArray) -> FloatArray:
    """AᵀB: how many items have both feature j of A and feature k of B."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, len(A), BLOCK):
        part = slice(start, start + BLOCK)
        total += A[part].T.astype(np.float32) @ B[part].astype(np.float32)
    return total


def check_items(**matrices: BoolArray) -> None:
    """Refuse what is no boolean matrix, and matrices of different numbers of items."""
    problems = [
        f"The {name} must be a boolean items × columns matrix; got {matrix.dtype} of shape {matrix.shape}."
        for name, matrix in matrices.items()
        if matrix.ndim != 2 or matrix.dtype != np.bool_
    ]
    if not problems and len({len(matrix) for matrix in matrices.values()}) > 1:
        told = " and ".join(f"{len(matrix)} rows of {name}" for name, matrix in matrices.items())
        problems.append(f"Each item has one row everywhere; got {told}.")
    if problems:
        raise InputError(problems)

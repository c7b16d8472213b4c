"""Counting pairs in boolean matrices, however many items there are."""

import numpy as np

from smfh.types import BoolArray, FloatArray, InputError

BLOCK = 1 << 15  # items turned into floats at once; their counts are exact in single precision


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

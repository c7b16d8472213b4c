"""Symmetric positive systems, factored once and solved often."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import dpotri

from smfh.hashing.products import one_blas_thread
from smfh.types import FloatArray

GROWTH = 10.0  # of a ridge that does not suffice
ROUNDING = 1e-15  # the least share of the trace that is worth trying instead


@dataclass(frozen=True, eq=False)
class Factor:
    """L with L Lᵀ = S + εI, lower triangular; ε is as asked for unless rounding has left S indefinite."""

    root: FloatArray  # L
    ridge: float  # ε
    note: str = ""  # says so where ε had to grow

    @staticmethod
    def of(system: FloatArray, ridge: float) -> "Factor":
        """Factor S + εI with the first ε of `ridge`, 10 `ridge`, … for which that can be done."""
        trace, grown = float(np.trace(system)), ridge
        with one_blas_thread():
            while True:
                shifted = system.copy()
                shifted[np.diag_indices_from(shifted)] += grown
                try:
                    root = cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
                except np.linalg.LinAlgError:
                    if not grown < trace:  # larger than all of S: this is no rounding
                        raise
                    grown = max(GROWTH * grown, ROUNDING * trace)
                else:
                    note = f"ridge {grown:.1g} instead of {ridge:.1g}, with which a system was singular"
                    return Factor(root, grown, note if grown > ridge else "")

    @cached_property
    def inverse(self) -> FloatArray:
        """(S + εI)⁻¹; a product with it takes a third of the time of a solution, where many are to come."""
        with one_blas_thread():
            lower, _ = dpotri(self.root.astype(np.float64), lower=1)
        inverse: FloatArray = np.tril(lower) + np.tril(lower, -1).T
        return inverse

    def solve(self, B: FloatArray) -> FloatArray:
        """(S + εI)⁻¹B"""
        with one_blas_thread():
            solved: FloatArray = cho_solve((self.root, True), B, check_finite=False)
        return solved


def told(factors: Iterable[Factor]) -> str:
    """What the factors have to say, each thing once."""
    return "; ".join(dict.fromkeys(factor.note for factor in factors if factor.note))

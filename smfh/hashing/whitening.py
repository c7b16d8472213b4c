"""What CVH, PDH and SMH share: directions of two views found where both are whitened."""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.linalg import solve_triangular, svd

from smfh.hashing.positive import Factor, told
from smfh.hashing.views import View, cross_covariance
from smfh.types import FloatArray


@dataclass(frozen=True, eq=False)
class Whitening:
    """L with L Lᵀ = XᵀX + εI, lower triangular: X L⁻ᵀ has uncorrelated columns of equal length."""

    factor: Factor

    @staticmethod
    def of(view: View, ridge: float) -> "Whitening":
        return Whitening(view.factor(ridge))

    def whiten(self, C: FloatArray) -> FloatArray:
        """L⁻¹C"""
        whitened: FloatArray = solve_triangular(self.factor.root, C, lower=True, check_finite=False)
        return whitened

    def directions(self, U: FloatArray) -> FloatArray:
        """A = L⁻ᵀU, so that Aᵀ(XᵀX + εI)A = UᵀU"""
        A: FloatArray = solve_triangular(self.factor.root, U, lower=True, trans="T", check_finite=False)
        return A


def whiten_both(R: FloatArray, x: Whitening, y: Whitening) -> FloatArray:
    """L_x⁻¹ R L_y⁻ᵀ"""
    return y.whiten(x.whiten(R).T).T


@dataclass(frozen=True, eq=False)
class CanonicalPairs:
    """U, ρ, V of L_x⁻¹ X_cᵀY_c L_y⁻ᵀ = U diag(ρ) Vᵀ: canonical correlation analysis, whitened."""

    whitenings: tuple[Whitening, Whitening]
    bases: tuple[FloatArray, FloatArray]  # U and V, (dimensions of the view, pairs)
    correlations: FloatArray  # ρ, (pairs,), falling

    @staticmethod
    def of(views: Sequence[View], ridge: float, at_most: int) -> "CanonicalPairs":
        """The `at_most` strongest of the min(d_x, d_y) pairs that there are."""
        x, y = views
        whitenings = (Whitening.of(x, ridge), Whitening.of(y, ridge))
        U, rho, Vt = svd(
            whiten_both(cross_covariance(x, y), *whitenings), full_matrices=False, check_finite=False
        )
        return CanonicalPairs(whitenings, (U[:, :at_most], Vt[:at_most].T), rho[:at_most])

    @property
    def note(self) -> str:
        return told(whitening.factor for whitening in self.whitenings)

    def directions(self, combinations: Sequence[FloatArray]) -> list[FloatArray]:
        """A = L_x⁻ᵀP and B = L_y⁻ᵀQ for whitened directions P and Q."""
        return [w.directions(P) for w, P in zip(self.whitenings, combinations, strict=True)]

    def mix(self, weights: FloatArray) -> list[FloatArray]:
        """A = L_x⁻ᵀUG and B = L_y⁻ᵀVG: the same mixes G (pairs, bits) of the pairs in both views."""
        return self.directions([basis @ weights for basis in self.bases])

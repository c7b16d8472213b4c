"""What the objectives of SMFH, SMFH+ and CMFH have in common: items in blocks, and sums over them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from smfh.hashing.blocks import Block, Codes, Items, Pass, Sums
from smfh.hashing.solvers import LabelGraph, feature_sums
from smfh.types import FloatArray


@dataclass(frozen=True, eq=False)
class BlockState:
    """The unknowns Y, U and W, and products that several steps use."""

    Y: Codes
    U: Mapping[str, FloatArray]
    W: Mapping[str, FloatArray]
    XtY: Mapping[str, FloatArray]
    YtY: FloatArray
    mean: FloatArray  # of the rows of Y, (bits,)


class BlockProblem:
    """The training items of a method, with sums of their features.

    The steps run functions on all blocks of items, on workers if the items are there. These functions are
    defined inside the steps and use local variables only, because everything they use is sent to the workers.
    """

    def __init__(self, data: Items, weights: Mapping[str, float], mu: float) -> None:
        self.data, self.weights, self.mu = data, weights, mu  # λ_t and μ
        self.items, self.dtype, self.sizes = len(data), data.dtype, data.sizes.astype(np.float64)

    def sum_features(
        self,
        graph: Callable[[Block], LabelGraph] | None = None,
        max_degree: float = 0.0,
        without_gram: Sequence[str] = (),
    ) -> None:
        """Compute `features`, the totals of `feature_sums` over all items, and the `means` of features."""
        arguments = {"items": self.items, "maxima": self.data.maxima, "graph": graph}
        step = Pass(feature_sums, 0, **arguments, max_degree=max_degree, without_gram=without_gram)
        _, self.features = self.data.run(step)
        self.means = {t: self.features["sum", t] / self.items for t in self.data.X}

    def centred_gram(self, t: str) -> FloatArray:
        """Return X_cᵀX_c = XᵀX − N x̄ x̄ᵀ for modality t."""
        gram: FloatArray = self.features["XtX", t] - self.items * np.outer(self.means[t], self.means[t])
        return gram

    def summed(self, Y: Codes, sums: Sums) -> dict[str, Any]:
        """Return those fields of a state that a pass over the items computes."""
        return {
            "Y": Y,
            "XtY": {t: sums["XtY", t].astype(self.dtype) for t in self.data.X},
            "YtY": sums["YtY", ""].astype(self.dtype),
            "mean": sums["sum", ""] / self.items,
        }

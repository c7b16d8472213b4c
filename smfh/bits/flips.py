"""The fewest bits of a query's code to flip so that a right answer comes first."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from smfh.types import BoolArray, IntArray


def fewest_flips(code: BoolArray, right: BoolArray, wrong: BoolArray) -> IntArray | None:
    """The bits to flip in `code` (bits,) so that one of the `right` codes (n, bits) is nearer to it than all
    the `wrong` ones (k, bits), as few as can be; None where every right code is also a wrong one's.

    A flip helps a right code r against a wrong one w only where r differs from the query, and then by 2
    where w does not. So for each r the fewest flips F among the bits D in which it differs are

        min |F|,  F ⊆ D,  2 |{b ∈ F : w_b = q_b}| > d(q, r) − d(q, w) for every w:

    a covering problem, solved exactly. Flips within D bring r to the query itself, so there is a solution
    unless w = r.
    """
    best: IntArray | None = None
    needs = [_needs(code, r, wrong) for r in right]
    for k in sorted(range(len(right)), key=lambda k: needs[k][1].max(initial=0)):
        helps, need = needs[k]
        if best is not None and need.max(initial=0) >= len(best):
            break
        if (helps.sum(axis=1) < need).any():  # a wrong one has this very code
            continue
        chosen = np.flatnonzero(code != right[k])[_cover(helps, need)]
        best = chosen if best is None or len(chosen) < len(best) else best
    return best


def _needs(q: BoolArray, r: BoolArray, wrong: BoolArray) -> tuple[BoolArray, IntArray]:
    """For every wrong code that is not yet behind r: which flips of D help, and how many of them it takes."""
    lead = np.count_nonzero(q != r) - np.count_nonzero(wrong != q, axis=1)  # d(q, r) − d(q, w)
    need = (lead // 2 + 1)[lead >= 0]
    helps = (wrong == q)[lead >= 0][:, q != r]
    rows, same = np.unique(helps, axis=0, return_inverse=True)
    most: IntArray = np.zeros(len(rows), dtype=np.int64)
    np.maximum.at(most, same.ravel(), need)
    return rows, most


def _cover(helps: BoolArray, need: IntArray) -> BoolArray:
    """The fewest columns of which every row has as many as it needs."""
    if not len(need):
        return np.zeros(helps.shape[1], dtype=np.bool_)
    ones = np.ones(helps.shape[1])
    enough = LinearConstraint(helps.astype(np.float64), lb=need)
    whole = np.ones(helps.shape[1], dtype=np.int64)
    solved = milp(ones, constraints=enough, integrality=whole, bounds=Bounds(0, 1))
    return np.asarray(solved.x) > 0.5

"""Bits that vote together: many bits may cast few votes, and then a long code is a short one written out."""

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from smfh.types import FloatArray, IntArray

TOGETHER = 0.9  # |ρ| of every two bits that count as one vote
Group = tuple[tuple[int, int], ...]  # bits by number; 1 for what says the same as the first, −1 the opposite


def group_votes(correlation: FloatArray, threshold: float = TOGETHER) -> tuple[Group, ...]:
    """Groups of bits of which every two have |ρ| ≥ threshold, the largest first; dead bits are in none.

    Complete linkage: a chain of bits, each like the next but the first unlike the last, is no group.
    """
    live = np.flatnonzero(~np.isnan(np.diagonal(correlation)))
    which: IntArray = np.arange(len(live))
    if len(live) > 1:
        apart = np.clip(1 - np.abs(correlation[np.ix_(live, live)]), 0, None)
        tree = linkage(squareform(apart, checks=False), "complete")
        which = fcluster(tree, 1 - threshold, "distance").astype(np.int64)
    members = [live[which == k] for k in np.unique(which)]
    groups = [
        tuple((int(bit), 1 if correlation[bits[0], bit] > 0 else -1) for bit in bits) for bits in members
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))


def seen_from(group: Group, bit: int) -> Group:
    """The other bits of the group; 1 for those that say the same as this one, −1 the opposite."""
    own = dict(group)[bit]
    return tuple((other, sign * own) for other, sign in group if other != bit)

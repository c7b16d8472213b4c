"""The database as a two-dimensional map of codes, and as buckets of items with identical codes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from smfh.hamming import distances, unpack
from smfh.retrieval.bits import sample_evenly
from smfh.types import EPS, BoolArray, FloatArray, IntArray, Words, unknown

KINDS: Mapping[str, str] = {
    "PCA": "the two directions in which the codes vary most",
    "t-SNE": "similar codes are close together; large distances mean little",
}
MAX_ITEMS = 4_000  # most items on a map
MAX_CODES = 600  # most codes on a t-SNE map, which takes a few seconds
PERPLEXITY, ITERATIONS = 30, 500
SPACING = 0.0075  # between two items with the same code, as a share of the map's width
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))  # between neighbouring items, so that they do not overlap


@dataclass(frozen=True, eq=False)
class CodeMap:
    """Items of the database on a plane; items with the same code surround the same point."""

    kind: str
    rows: IntArray  # rows of the data set, (items,)
    positions: FloatArray  # (items, 2)
    codes: Words  # distinct codes, (codes, words)
    centres: FloatArray  # positions of the distinct codes, (codes, 2)
    items: int  # number of items in the whole database

    def locate(self, code: Words) -> FloatArray:
        """Return the position (x, y) for `code`: the mean of the positions of its nearest codes on the map."""
        away = distances(code[None], self.codes)[0]
        mean: FloatArray = self.centres[away == away.min()].mean(axis=0)
        return mean

    def find(self, rows: IntArray) -> IntArray:
        """Return the indices of these rows in `self.rows`; rows that are not on the map are left out."""
        return np.flatnonzero(np.isin(self.rows, rows))


def map_codes(codes: Words, rows: IntArray, bits: int, kind: str, limit: int = MAX_ITEMS) -> CodeMap:
    """Return a map of the distinct codes; the items of a code surround it like the seeds of a sunflower.

    With more than `limit` items, or more than `MAX_CODES` codes for t-SNE, the map shows a sample.
    """
    if kind not in KINDS:
        raise unknown("map", kind, KINDS)
    chosen = sample_evenly(np.arange(len(codes)), limit)
    distinct, which = np.unique(codes[chosen], axis=0, return_inverse=True)
    if kind == "t-SNE" and len(distinct) > MAX_CODES:
        drawn = sample_evenly(np.arange(len(distinct)), MAX_CODES)
        chosen = chosen[np.isin(which, drawn)]
        distinct, which = np.unique(codes[chosen], axis=0, return_inverse=True)
    X = unpack(distinct, bits)
    middle, V = principal_directions(X, np.bincount(which))
    flat = (X - middle) @ V
    if kind == "t-SNE" and len(X) > 3:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits

        start = 1e-4 * flat / max(float(flat[:, 0].std()), EPS)
        near, start = min(PERPLEXITY, (len(X) - 1) / 3), start.astype(np.float32)
        model = TSNE(2, perplexity=near, init=start, max_iter=ITERATIONS, random_state=0)
        with threadpool_limits(1, user_api="openmp"):  # slower with threads for so few codes
            flat = model.fit_transform(X.astype(np.float32))
    low, high = flat.min(axis=0), flat.max(axis=0)
    centres = (flat - (low + high) / 2) / max(float((high - low).max()), EPS)  # the wider side goes from −½ to ½
    return CodeMap(kind, rows[chosen], centres[which] + sunflower_offsets(which), distinct, centres, len(codes))


def principal_directions(codes: BoolArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean code, and V (bits, 2): the leading eigenvectors of XᵀX, padded with 0.

    X are the codes minus their mean; each code counts `counts` times.
    """
    middle = (counts @ codes) / counts.sum()
    X = codes - middle
    _, V = np.linalg.eigh(X.T @ (X * counts[:, None]))
    leading = V[:, ::-1][:, :2]
    # the sign of a direction is arbitrary: a positive largest component keeps maps from flipping
    leading = leading * np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])])
    return middle, np.pad(leading, ((0, 0), (0, 2 - leading.shape[1])))


def sunflower_offsets(which: IntArray) -> FloatArray:
    """Return offsets from the centre: angle k·GOLDEN_ANGLE, radius SPACING·√k for the k-th item of a code."""
    order = np.argsort(which, kind="stable")
    sizes = np.bincount(which)
    k = np.empty(len(which))
    k[order] = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    radius = SPACING * np.sqrt(k)
    return np.stack([radius * np.cos(GOLDEN_ANGLE * k), radius * np.sin(GOLDEN_ANGLE * k)], axis=1)


@dataclass(frozen=True, eq=False)
class Buckets:
    """Buckets of items with identical codes: largest first, buckets of equal size ordered by first item."""

    sizes: IntArray  # (buckets,)
    bucket: IntArray  # bucket of each item, (items,)

    def members(self, bucket: int) -> IntArray:
        """Return the positions in the database of the items in a bucket."""
        return np.flatnonzero(self.bucket == bucket)


def fill_buckets(codes: Words) -> Buckets:
    """Return the items grouped into buckets of identical codes."""
    _, first, which = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    sizes = np.bincount(which)
    order = np.lexsort((first, -sizes))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return Buckets(sizes[order], number[which])

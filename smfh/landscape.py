"""The database as a landscape of codes: a flat map of it, and the buckets of items that share a code."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from smfh.bits import sample
from smfh.hamming import distances, unpack
from smfh.types import EPS, BoolArray, FloatArray, InputError, IntArray, Words, unknown

KINDS: Mapping[str, str] = {
    "PCA": "the two directions in which the codes differ most",
    "t-SNE": "codes that are near stay near; how far the others are tells little",
}
MOST_ITEMS = 4_000  # that are drawn
MOST_CODES = 600  # that t-SNE lays out: it takes a few seconds for them
PERPLEXITY, ITERATIONS = 30, 500
GRAIN = 0.0075  # between two items of one code, in shares of the map's width
GOLDEN = np.pi * (3 - np.sqrt(5))  # turned by this angle, no two of them hide each other


@dataclass(frozen=True, eq=False)
class CodeMap:
    """Some items of the database on a plane; the items of one code stand round the same place."""

    kind: str
    rows: IntArray  # of the data set, (items,)
    positions: FloatArray  # (items, 2)
    codes: Words  # the different ones, (codes, words)
    centres: FloatArray  # where they lie, (codes, 2)
    items: int  # in the whole database

    def locate(self, code: Words) -> FloatArray:
        """Amid the drawn codes that are nearest to it; (2,)."""
        away = distances(code[None], self.codes)[0]
        middle: FloatArray = self.centres[away == away.min()].mean(axis=0)
        return middle

    def find(self, rows: IntArray) -> IntArray:
        """Which of the drawn items these rows are; those that are not drawn are left out."""
        return np.flatnonzero(np.isin(self.rows, rows))


def map_codes(codes: Words, rows: IntArray, bits: int, kind: str, most: int = MOST_ITEMS) -> CodeMap:
    """Lay out the different codes, then put the items of each one round its place like sunflower seeds.

    Of more than `most` items, or codes for t-SNE, a sample is drawn.
    """
    if kind not in KINDS:
        raise unknown("map", kind, KINDS)
    if len(codes) != len(rows) or not len(codes):
        came = f"{len(codes)} codes and {len(rows)} rows"
        raise InputError(f"A map needs one item at least, and a row for each; got {came}.")
    chosen = sample(np.arange(len(codes)), most)
    different, which = np.unique(codes[chosen], axis=0, return_inverse=True)
    if kind == "t-SNE" and len(different) > MOST_CODES:
        drawn = sample(np.arange(len(different)), MOST_CODES)
        chosen = chosen[np.isin(which, drawn)]
        different, which = np.unique(codes[chosen], axis=0, return_inverse=True)
    centres = _layout(unpack(different, bits), np.bincount(which), kind)
    positions = centres[which] + sunflower_offsets(which)
    return CodeMap(kind, rows[chosen], positions, different, centres, len(codes))


def _layout(codes: BoolArray, counts: IntArray, kind: str) -> FloatArray:
    """Places between −½ and ½ along the wider side; (codes, 2)."""
    flat = principal_plane(codes, counts)
    if kind == "t-SNE" and len(codes) > 3:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits

        start = 1e-4 * flat / max(float(flat[:, 0].std()), EPS)
        near, start = min(PERPLEXITY, (len(codes) - 1) / 3), start.astype(np.float32)
        model = TSNE(2, perplexity=near, init=start, max_iter=ITERATIONS, random_state=0)
        with threadpool_limits(1, user_api="openmp"):  # for so few, threads wait more than they work
            flat = model.fit_transform(codes.astype(np.float32))
    low, high = flat.min(axis=0), flat.max(axis=0)
    scaled: FloatArray = (flat - (low + high) / 2) / max(float((high - low).max()), EPS)
    return scaled


def principal_plane(codes: BoolArray, counts: IntArray) -> FloatArray:
    """X_c V: the centred codes, each as often as it occurs, on their two principal directions V."""
    plane: FloatArray = (codes - (counts @ codes) / counts.sum()) @ principal_directions(codes, counts)
    return plane


def principal_directions(codes: BoolArray, counts: IntArray) -> FloatArray:
    """V, (bits, 2): the leading eigenvectors of X_cᵀX_c; of a single bit the second one is 0."""
    X = codes - (counts @ codes) / counts.sum()
    _, V = np.linalg.eigh(X.T @ (X * counts[:, None]))
    leading = V[:, ::-1][:, :2]
    # the sign of a direction is arbitrary: let its largest part be positive, so that maps do not flip
    leading = leading * np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])])
    return np.pad(leading, ((0, 0), (0, 2 - leading.shape[1])))


def sunflower_offsets(which: IntArray) -> FloatArray:
    """The k-th item of its code at angle k·golden and radius grain·√k from the middle."""
    order = np.argsort(which, kind="stable")
    sizes = np.bincount(which)
    k = np.empty(len(which))
    k[order] = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    radius = GRAIN * np.sqrt(k)
    return np.stack([radius * np.cos(GOLDEN * k), radius * np.sin(GOLDEN * k)], axis=1)


@dataclass(frozen=True, eq=False)
class Buckets:
    """The items by their code, the fullest bucket first; of equal ones the one that comes first."""

    sizes: IntArray  # (buckets,)
    bucket: IntArray  # of each item, (items,)

    def members(self, bucket: int) -> IntArray:
        """The positions of a bucket's items in the database."""
        return np.flatnonzero(self.bucket == bucket)


def fill_buckets(codes: Words) -> Buckets:
    """One bucket for each code that occurs."""
    _, first, which = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    sizes = np.bincount(which)
    order = np.lexsort((first, -sizes))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return Buckets(sizes[order], number[which])

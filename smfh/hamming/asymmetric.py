"""Asymmetric distance: a bit counts by the query's margin, so unreliable bits of the query count little.

With margins m of the query and bits b of an item, the distance in bits is

    d = bits · Σ_(k: b_k ≠ [m_k > 0]) |m_k| / Σ_k |m_k|.

It orders items as the score Σ_k m_k (2 b_k − 1) does, highest first. With equal margins it is the Hamming
distance. Weights are whole numbers with the sum 2³⁰, so sums do not depend on their order: identical codes
are exactly tied, on every machine.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smfh.hamming.codes import WORD_BITS, check_pair, pack
from smfh.types import FloatArray, InputError, IntArray, Words, unknown

DISTANCES: Mapping[str, str] = MappingProxyType(
    {
        "hamming": "Hamming distance: the number of bits that differ, as in the paper.",
        "asymmetric": "Asymmetric distance: each bit that differs is weighted by how far the query is from the "
        "bit's threshold. It ranges from 0 to the number of bits.",
    }
)
WEIGHT_SUM = 1 << 30  # of a query's weights, up to rounding; distances fit in 32 bits
PLANES = 4  # number of bits of a quantised weight
OCTET_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")

Weights = NDArray[np.uint32]  # (queries, bits)


class Queries(NamedTuple):
    """Codes of some queries and the weights of their bits; `weights` is None for Hamming distances."""

    codes: Words
    weights: Weights | None = None

    def take(self, rows: slice) -> "Queries":
        """Return some of the queries."""
        return Queries(self.codes[rows], None if self.weights is None else self.weights[rows])


def as_queries(margins: FloatArray, distance: str) -> Queries:
    """Return queries with these margins (queries, bits) for a search by `distance`, a key of DISTANCES."""
    if distance not in DISTANCES:
        raise unknown("distance", distance, DISTANCES)
    codes = pack(margins > 0)
    return Queries(codes, bit_weights(margins) if distance == "asymmetric" else None)


def bit_weights(margins: FloatArray) -> Weights:
    """Return the weights round(2³⁰ |m_k| / Σ_k |m_k|); all are 0 if all margins are 0."""
    sizes = np.abs(margins.astype(np.float64))
    totals = sizes.sum(axis=1, keepdims=True)
    shares = np.divide(sizes, totals, out=np.zeros_like(sizes), where=totals > 0)
    return np.asarray(np.rint(WEIGHT_SUM * shares).astype(np.uint32))


def check_weights(weights: Weights, queries: Words) -> None:
    """Raise an InputError unless each query has a row of weights, with at most one weight per bit."""
    if len(weights) != len(queries) or weights.shape[1] > WORD_BITS * queries.shape[1]:
        raise InputError(
            f"The weights of {len(queries)} queries must have {len(queries)} rows (one per query) and at most "
            f"{WORD_BITS * queries.shape[1]} columns (one per bit); got weights of shape {weights.shape}."
        )


def distances_in_bits(distances: IntArray, bits: int) -> FloatArray:
    """Convert distances in units of the weights to bits."""
    return distances * (bits / WEIGHT_SUM)


def quantise(weights: Weights, octets: int, largest_sum: int) -> tuple[Weights, NDArray[np.uint8], NDArray[np.int64]]:
    """Return the weights, the bit planes of the quantised weights v_k = ⌊w_k / unit⌋, and the units.

    The weights are padded with zeros to 8 · octets. Each query has its own unit, for which all v_k ≤ 15 and
    Σ_k v_k ≤ largest_sum. Bit k of planes[q, j] is bit j of v_k of query q.
    """
    padded = np.zeros((len(weights), 8 * octets), dtype=np.uint32)
    bits = min(weights.shape[1], 8 * octets)  # later bits are 0 in all codes
    padded[:, :bits] = weights[:, :bits]
    sums, largest = padded.sum(axis=1, dtype=np.int64), padded.max(axis=1, initial=0).astype(np.int64)
    units = np.maximum(np.maximum(-(-sums // largest_sum), largest // (1 << PLANES) + 1), 1)
    v = padded // units[:, None]
    planes = [np.packbits((v >> j) & 1 == 1, axis=1, bitorder="little") for j in range(PLANES)]
    return padded, np.stack(planes, axis=1), units


def weighted_distances(queries: Words, database: Words, weights: Weights) -> NDArray[np.uint32]:
    """Return the asymmetric distances, in units of the weights, as a queries × items matrix."""
    check_pair(queries, database)
    octets = -(-weights.shape[1] // 8)
    columns, of_queries = (
        np.ascontiguousarray(codes, dtype="<u8").view(np.uint8)[:, :octets] for codes in (database, queries)
    )
    padded = np.pad(weights, ((0, 0), (0, 8 * octets - weights.shape[1]))).reshape(len(queries), octets, 8)
    result = np.zeros((len(queries), len(database)), dtype=np.uint32)
    for sums, query, own in zip(result, of_queries, padded, strict=True):
        tables = own @ OCTET_BITS.T.astype(np.uint32)  # (octets, 256), summed over the bits that differ
        for table, values, octet in zip(tables, columns.T, query, strict=True):
            sums += table.take(values ^ octet)
    return result


def tie_levels(distances: IntArray) -> NDArray[np.int32]:
    """Return the rank, from 0, of each distance among the distinct distances of its row."""
    order = np.argsort(distances, axis=1)
    rises = np.diff(np.take_along_axis(distances, order, axis=1), axis=1) != 0
    ranks = np.zeros(distances.shape, dtype=np.int32)
    np.cumsum(rises, axis=1, out=ranks[:, 1:])
    levels = np.empty_like(ranks)
    np.put_along_axis(levels, order, ranks, axis=1)
    return levels

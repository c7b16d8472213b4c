"""Packed binary codes, their Hamming and asymmetric distances, search and ranking."""

from smfh.hamming.asymmetric import (
    DISTANCES,
    Queries,
    Weights,
    as_queries,
    bit_weights,
    distances_in_bits,
    weighted_distances,
)
from smfh.hamming.codes import count_codes, distances, pack, unpack
from smfh.hamming.index import MAX_PAIRS, CodeIndex, rank_plainly_while
from smfh.hamming.ranking import Tally, judge, own_ranks, rank, tally, tally_weighted

"""Packed codes, distances, ranking."""

from smfh.hamming.codes import distances, pack, unpack
from smfh.hamming.index import CodeIndex
from smfh.hamming.plain import MOST_PAIRS, rank_plainly_while
from smfh.hamming.ranking import Tally, judge, rank, tally

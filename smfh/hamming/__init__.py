"""Packed codes, distances, ranking."""

from smfh.hamming.codes import distances, pack, unpack
from smfh.hamming.index import CodeIndex
from smfh.hamming.ranking import Tally, judge, rank, tally

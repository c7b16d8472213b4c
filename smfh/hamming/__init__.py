"""Packed codes, distances, ranking."""

from smfh.hamming.codes import any_common, distances, pack, unpack
from smfh.hamming.ranking import Scan, rank, scan, sum_precisions

__all__ = ["Scan", "any_common", "distances", "pack", "rank", "scan", "sum_precisions", "unpack"]

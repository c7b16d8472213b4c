"""Bits: what they stand for, how the codes lie, whom they serve."""

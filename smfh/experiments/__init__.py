"""Experiments with many runs: comparisons of methods, and studies that tune parameters."""

"""Benchmark of picture features: with the network, and gradients and colours alone."""

import numpy as np
from skimage import data

from smfh.bench.measure import Report, least_seconds
from smfh.features.image import describe, measure


def bench_pictures(report: Report, quick: bool, repeats: int) -> None:
    """Time the features of a photograph of 300 × 451 pixels, already decoded, in one thread."""
    pixels, number = np.ascontiguousarray(data.chelsea()), 2 if quick else 10
    sides = {
        "picture with network": lambda: [measure([pixels]) for _ in range(number)],
        "picture, descriptors alone": lambda: [describe(pixels) for _ in range(number)],
    }
    seconds = {name: total / number for name, total in least_seconds(sides, repeats).items()}
    report.seconds |= seconds
    what = "features of a photograph of 300 × 451 pixels: with the network, and gradients and colours alone"
    report.compare("network/descriptors", *seconds.values(), what)

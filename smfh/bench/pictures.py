"""Benchmark of picture features: with the network, compared with gradients and colours alone."""

import numpy as np
from numpy.typing import NDArray
from skimage import data

from smfh.bench.measure import Report, least_seconds
from smfh.features.image import describe, measure


def bench_pictures(report: Report, quick: bool, repeats: int) -> None:
    """Time the features of a photograph of 300 × 451 pixels, already decoded, in one thread."""
    pixels: NDArray[np.uint8] = data.chelsea()  # type: ignore[no-untyped-call]
    number = 2 if quick else 10
    both, alone = "picture with network", "picture, descriptors alone"
    sides = {
        both: lambda: [measure([pixels]) for _ in range(number)],
        alone: lambda: [describe(pixels) for _ in range(number)],
    }
    report.seconds |= {name: total / number for name, total in least_seconds(sides, repeats).items()}
    what = "features of a photograph of 300 × 451 pixels: with the network, compared with gradients and colours alone"
    report.compare("network/descriptors", report.seconds[both], report.seconds[alone], what)

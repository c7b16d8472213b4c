"""Features of pictures: gradients, visual words, colours and a network's features, as rows of numbers ≥ 0.

Each picture is measured once, without any training. Then the codebook of visual words, which is learnt from
training pictures only, and the weights of the four parts are applied to the measurements.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfh.features.network import FEATURES, network_features
from smfh.features.pictures import decode_image
from smfh.types import EPS, FloatArray, InputError, IntArray

Picture = bytes | NDArray[np.uint8]  # a file, or height × width × 3 (RGB)

SIDE = 96  # pixels; every picture is resized to a square of this size
CELL = 8  # pixels along a side of a cell; each cell has one histogram of orientations
ORIENTATIONS = 9
BLOCKS = SIDE // CELL - 1  # blocks along a side; a block is 2 × 2 cells and overlaps its neighbours by half
COLOURS = (16, 3, 4)  # number of bins of hue, saturation and value
MAX_PATCHES = 30_000  # used to learn the codebook
# Weights of gradients, visual words, colours and the network. The network's weight was chosen on folds of
# training rows. With 0, 1.15, 3.45 and 9.2, the mean mAP@100 of SMFH+ (64 bits, both directions and
# protocols) on Emoji is .783, .813, .811 and .806; the mAP of √x on crops of seventeen photographs in changed
# colours is .456, .912, .986 and .991.
WEIGHTS = (1.0, 0.3, 1.0, 3.45)
BATCH_PICTURES = 100  # pictures compared with the codebook at a time


@dataclass(frozen=True, eq=False)
class Measurements:
    """Gradients, colours and network features of each picture, which do not depend on training."""

    gradients: NDArray[np.uint8]  # (pictures, 11, 11, 2, 2, 9), HOG blocks, in multiples of 1/255
    colours: NDArray[np.uint16]  # (pictures, 192), number of pixels in each colour bin
    network: NDArray[np.uint8]  # (pictures, 1280), see `network_features`

    def __len__(self) -> int:
        return len(self.gradients)

    def take(self, rows: IntArray) -> "Measurements":
        return Measurements(self.gradients[rows], self.colours[rows], self.network[rows])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return matrices with one row for each picture, to be saved in a .npz file."""
        return {part.name: getattr(self, part.name).reshape(len(self), -1) for part in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], pictures: int) -> "Measurements":
        """Return the measurements that `to_arrays` wrote; raise ValueError on another shape or type."""
        hog = arrays["gradients"].reshape(pictures, BLOCKS, BLOCKS, 2, 2, ORIENTATIONS)
        colours, network = (arrays[name].reshape(pictures, -1) for name in ("colours", "network"))
        if colours.shape[1] != np.prod(COLOURS) or network.shape[1] != FEATURES:
            raise ValueError("the features of the pictures have other dimensions")
        return cls(hog.astype(np.uint8), colours.astype(np.uint16), network.astype(np.uint8))


def measure(pictures: Iterable[Picture]) -> Measurements:
    """Measure each picture; raise an error that lists the numbers of all unreadable pictures."""
    gradients, colours, network = [], [], []
    problems: list[str] = []
    for number, picture in enumerate(pictures, start=1):
        try:
            pixels = decode_image(picture, f"Picture {number}") if isinstance(picture, bytes) else picture
        except InputError as error:
            problems += error.problems
            continue
        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or 0 in pixels.shape:
            got = f"{pixels.dtype} of {pixels.shape}"
            problems.append(f"Picture {number} must be a file or height × width × 3 bytes (RGB); got {got}.")
            continue
        blocks, bins = describe(pixels)
        gradients.append(blocks)
        colours.append(bins)
        network.append(network_features(pixels))
    if problems or not gradients:
        raise InputError(problems or "There are no pictures to measure.")
    return Measurements(np.stack(gradients), np.stack(colours), np.stack(network))


def describe(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Return the gradients and the colours of one picture (height × width × 3, RGB), without the network.

    Gradients are histograms of oriented gradients (HOG; Dalal and Triggs, 2005) in overlapping blocks.
    """
    from PIL import Image
    from skimage.feature import hog

    square = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    hsv = np.asarray(square.convert("HSV")).reshape(-1, 3)
    bins = np.ravel_multi_index(tuple((hsv * np.array(COLOURS) // 256).T), COLOURS)
    colours = np.bincount(bins, minlength=int(np.prod(COLOURS))).astype(np.uint16)
    blocks = hog(np.asarray(square), ORIENTATIONS, (CELL, CELL), (2, 2), channel_axis=-1, feature_vector=False)
    return np.round(255 * blocks).astype(np.uint8), colours


def stack(parts: Sequence[Measurements]) -> Measurements:
    """Concatenate the measurements of several sets of pictures."""
    columns = zip(*((part.gradients, part.colours, part.network) for part in parts), strict=True)
    return Measurements(*map(np.concatenate, columns))


def hog_features(measured: Measurements) -> FloatArray:
    """Return orientation histograms in the left half of a 6 × 6 grid, added to those of the mirror image.

    Mirroring swaps left and right and turns each angle φ into 180° − φ, which reverses the bins.
    """
    cells = measured.gradients[:, ::2, ::2].sum(axis=(3, 4), dtype=np.float32)
    mirrored = cells[:, :, ::-1, ::-1]
    half: FloatArray = (cells + mirrored)[:, :, : cells.shape[2] // 2]
    return half.reshape(len(measured), -1)


def patches(measured: Measurements) -> tuple[FloatArray, IntArray]:
    """Return the gradient descriptors of all blocks that are not blank, and for each the number of its picture."""
    blocks = measured.gradients.reshape(len(measured), BLOCKS**2, -1)
    drawn = blocks.any(axis=2)
    return blocks[drawn].astype(np.float32), np.nonzero(drawn)[0]


@dataclass(frozen=True, eq=False)
class VisualWords:
    """Bag of visual words: counts how many patches of a picture are nearest to each word."""

    codebook: FloatArray  # (words, 36)

    def count(self, measured: Measurements) -> FloatArray:
        """Return the number of patches of each picture that are nearest to each word, (pictures, words).

        Patch p is nearest to word k = argmin_j ‖p − c_j‖² = argmax_j p·c_j − ‖c_j‖²/2 for the codebook rows
        c_j.
        """
        C = self.codebook.astype(np.float64)  # so that near ties have the same result on every machine
        half = np.square(C).sum(axis=1) / 2
        counts = np.zeros((len(measured), len(C)), dtype=np.float32)
        for start in range(0, len(measured), BATCH_PICTURES):
            rows = np.arange(start, min(start + BATCH_PICTURES, len(measured)))
            P, pictures = patches(measured.take(rows))
            similarity = P.astype(np.float64) @ C.T
            similarity -= half
            np.add.at(counts, (rows[pictures], similarity.argmax(axis=1)), 1)
        return counts


def fit_visual_words(measured: Measurements, words: int = 300, seed: int = 0) -> VisualWords:
    """Learn a codebook of at most `words` visual words by k-means on a random sample of patches."""
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    P, _ = patches(measured)
    if len(P) == 0:
        raise InputError("Every training picture is blank. Visual words need pictures with visible edges.")
    rng = np.random.default_rng(seed)
    drawn = P[rng.choice(len(P), size=min(MAX_PATCHES, len(P)), replace=False)]
    clusters = min(words, len(np.unique(drawn, axis=0)))
    k_means = MiniBatchKMeans(clusters, n_init=1, batch_size=2048, random_state=seed)
    with threadpool_limits(1, user_api="openmp"):  # for small batches, threads are not faster
        k_means.fit(drawn)
    return VisualWords(k_means.cluster_centers_.astype(np.float32))


@dataclass(frozen=True, eq=False)
class ImageEncoder:
    """Encoder that joins the four parts of a picture's features; each part of a row sums to its weight."""

    words: VisualWords

    def encode(self, items: Sequence[Picture]) -> FloatArray:
        return self.features(measure(items))

    def features(self, measured: Measurements, counts: FloatArray | None = None) -> FloatArray:
        """Return the features of pictures, x = [w₁ h/Σh, w₂ b/Σb, w₃ c/Σc, w₄ f²/Σf²].

        h are gradients, b visual words (`counts` if given), c colours and f the network's features. f is
        squared because similarities are computed from √x, and network features are usually compared by the
        cosine of f.
        """
        counts = self.words.count(measured) if counts is None else counts
        colours, network = (X.astype(np.float32) for X in (measured.colours, measured.network))
        parts = zip(WEIGHTS, (hog_features(measured), counts, colours, network**2), strict=True)
        return np.hstack([w * (X / np.maximum(X.sum(axis=1, keepdims=True), EPS)) for w, X in parts])


def network_directions(X: FloatArray) -> FloatArray:
    """Return f/‖f‖, the direction of the network's features, for rows x of `ImageEncoder.features`."""
    directions: FloatArray = np.sqrt(X[:, -FEATURES:] / WEIGHTS[-1])
    return directions

"""Pictures → gradients, visual words and colours: rows ≥ 0, fitted on training pictures alone.

A picture is measured once, which needs no fitting and can be kept; what is learnt (the codebook of visual
words) and how much each part weighs is applied to the measurements afterwards.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.features.pictures import decode_image
from smfh.types import EPS, FloatArray, InputError, IntArray, Matrix

Picture = bytes | NDArray[np.uint8]  # a file, or height × width × 3 (RGB)

SIDE = 96  # pixels; every picture is brought to this size
CELL = 8  # pixels; a cell is one histogram of orientations
ORIENTATIONS = 9
BLOCKS = SIDE // CELL - 1  # along a side; a block is 2 × 2 cells and overlaps its neighbours by half
COLOURS = (16, 3, 4)  # bins of hue, saturation and value
PATCHES = 30_000  # blocks that the codebook is learnt from
BATCH = 100  # pictures whose patches are compared with the codebook at a time


@dataclass(frozen=True, eq=False)
class Measurements:
    """What is seen in each picture before anything is learnt."""

    gradients: NDArray[np.uint8]  # (pictures, 11, 11, 2, 2, 9), HOG blocks in 255ths
    colours: NDArray[np.uint16]  # (pictures, 192), pixels of each colour

    def __len__(self) -> int:
        return len(self.gradients)

    def take(self, rows: IntArray) -> "Measurements":
        return Measurements(self.gradients[rows], self.colours[rows])


def measure(pictures: Iterable[Picture]) -> Measurements:
    """Measure each picture; files that cannot be read are named by their number, all at once."""
    gradients, colours = [], []
    problems: list[str] = []
    for number, picture in enumerate(pictures, start=1):
        try:
            pixels = square(picture, f"Picture {number}")
        except InputError as error:
            problems += error.problems
            continue
        gradients.append(oriented_gradients(pixels))
        colours.append(count_colours(pixels))
    if problems or not gradients:
        raise InputError(problems or "There is no picture to measure.")
    return Measurements(np.stack(gradients), np.stack(colours))


def stack(parts: Sequence[Measurements]) -> Measurements:
    """All of them below each other."""
    gradients, colours = ([getattr(part, name) for part in parts] for name in ("gradients", "colours"))
    return Measurements(np.concatenate(gradients), np.concatenate(colours))


def square(picture: Picture, name: str = "Picture") -> NDArray[np.uint8]:
    """The picture stretched or shrunk to SIDE × SIDE pixels."""
    from PIL import Image

    pixels = decode_image(picture, name) if isinstance(picture, bytes) else picture
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or 0 in pixels.shape:
        raise InputError(
            f"{name} must be a file or height × width × 3 bytes (RGB); got {pixels.dtype} of {pixels.shape}."
        )
    return np.asarray(Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BILINEAR))


def oriented_gradients(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Histograms of oriented gradients (Dalal and Triggs, 2005) in overlapping, normalised blocks."""
    from skimage.feature import hog

    blocks: FloatArray = hog(
        pixels,
        orientations=ORIENTATIONS,
        pixels_per_cell=(CELL, CELL),
        cells_per_block=(2, 2),
        channel_axis=-1,
        feature_vector=False,
    )
    return np.round(255 * blocks).astype(np.uint8)


def count_colours(pixels: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """Pixels in each bin of hue × saturation × value."""
    from PIL import Image

    hsv = np.asarray(Image.fromarray(pixels).convert("HSV")).reshape(-1, 3)
    bins = (hsv * np.array(COLOURS) // 256).T
    cells = np.ravel_multi_index(tuple(bins), COLOURS)
    return np.bincount(cells, minlength=int(np.prod(COLOURS))).astype(np.uint16)


def hog_features(measured: Measurements) -> FloatArray:
    """Orientations in 6 × 6 places; a picture and its mirror image are one, so half of the places suffice.

    A mirror swaps left and right, and turns every angle φ into 180° − φ: the bins in reverse order.
    """
    cells = measured.gradients[:, ::2, ::2].sum(axis=(3, 4), dtype=np.float32)
    mirrored = cells[:, :, ::-1, ::-1]
    half: FloatArray = (cells + mirrored)[:, :, : cells.shape[2] // 2]
    return half.reshape(len(measured), -1)


def patches(measured: Measurements) -> tuple[FloatArray, IntArray]:
    """The dense descriptors, one a block, that are not blank, and the picture to which each belongs."""
    blocks = measured.gradients.reshape(len(measured), BLOCKS**2, -1)
    drawn = blocks.any(axis=2)
    return blocks[drawn].astype(np.float32), np.nonzero(drawn)[0]


@dataclass(frozen=True, eq=False)
class VisualWords:
    """Bag of visual words: how many patches of a picture are nearest to each word of the codebook."""

    codebook: FloatArray  # (words, 36)

    def count(self, measured: Measurements) -> FloatArray:
        """h_k = #{patches p of the picture : k = argmin_j ‖p − c_j‖² = argmax_j p·c_j − ‖c_j‖²/2}"""
        C = self.codebook.astype(np.float64)  # so that near ties fall alike everywhere
        half = np.square(C).sum(axis=1) / 2
        counts = np.zeros((len(measured), len(C)), dtype=np.float32)
        for start in range(0, len(measured), BATCH):
            rows = np.arange(start, min(start + BATCH, len(measured)))
            P, pictures = patches(measured.take(rows))
            likeness = P.astype(np.float64) @ C.T
            likeness -= half
            np.add.at(counts, (rows[pictures], likeness.argmax(axis=1)), 1)
        return counts


def fit_visual_words(measured: Measurements, words: int = 300, seed: int = 0) -> VisualWords:
    """k-means over a draw of the patches."""
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    P, _ = patches(measured)
    if len(P) == 0:
        raise InputError("Every training picture is blank; visual words need pictures with something drawn.")
    rng = np.random.default_rng(seed)
    drawn = P[rng.choice(len(P), size=min(PATCHES, len(P)), replace=False)]
    clusters = min(words, len(np.unique(drawn, axis=0)))
    k_means = MiniBatchKMeans(clusters, n_init=1, batch_size=2048, random_state=seed)
    with threadpool_limits(1, user_api="openmp"):  # on small batches threads wait more than they work
        k_means.fit(drawn)
    return VisualWords(k_means.cluster_centers_.astype(np.float32))


@dataclass(frozen=True, eq=False)
class ImageEncoder:
    """Gradients, visual words and colours side by side, each part of a row summing to its weight."""

    words: VisualWords
    hog_weight: float = 1.0
    words_weight: float = 0.3
    colour_weight: float = 1.0

    def encode(self, items: Sequence[Picture]) -> FloatArray:
        return self.features(measure(items))

    def features(self, measured: Measurements, counts: FloatArray | None = None) -> FloatArray:
        """x = [w₁ h/Σh, w₂ b/Σb, w₃ c/Σc]; the visual words b may have been counted before."""
        parts = (
            (self.hog_weight, hog_features(measured)),
            (self.words_weight, self.words.count(measured) if counts is None else counts),
            (self.colour_weight, measured.colours.astype(np.float32)),
        )
        return np.hstack([weight * shares(part) for weight, part in parts if weight > 0])


def shares(X: FloatArray) -> FloatArray:
    """Rows divided by their sums; a row of zeros stays one."""
    divided: FloatArray = X / np.maximum(X.sum(axis=1, keepdims=True), EPS)
    return divided


def split_signs(X: Matrix) -> Matrix:
    """x → [max(x, 0), max(−x, 0)]: signed features from outside made ≥ 0 with nothing lost."""
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X.maximum(0), (-X).maximum(0)]))
    halves: FloatArray = np.hstack([np.maximum(X, 0), np.maximum(-X, 0)])
    return halves

"""The small example: a few items with a handful of features a side that a person can read, in doubles.

Words are columns of the real text features; a picture is told by how much of it is red, yellow, green, …
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from smfh.asking import takes_pictures
from smfh.features.pictures import decode_image
from smfh.features.text import words
from smfh.runs import usual_first
from smfh.types import EPS, FloatArray, InputError, IntArray, Matrix, MultimodalDataset

FEATURES = 6  # of a modality
FEWEST, MOST = 4, 12  # items
USUAL = (
    *("cat face", "dog face", "frog", "red apple", "lemon", "banana", "red heart", "blue heart"),
    "green heart",
)  # three each of animals, food and hearts; the frog is as green as a heart
COLOURS = ("red", "yellow", "green", "blue", "dark", "light")
PAPER = 250  # a pixel that is as light as this in every channel is no part of the drawing
DARK, PALE = 0.25, 0.2  # value below which, and saturation below which, a pixel has no hue to speak of
HUES = (0, 1 / 12, 1 / 6, 11 / 24, 4 / 5, 1)  # of the colour circle: red, yellow, green, blue, and red again


@dataclass(frozen=True, eq=False)
class Example:
    """Some items of a data set, seen through two modalities of few features."""

    data: MultimodalDataset  # (items,), in double precision
    rows: tuple[int, ...]  # of the data set that they come from
    features: dict[str, tuple[str, ...]]  # what each column is called, by modality


def make_example(data: MultimodalDataset, rows: Sequence[int]) -> Example:
    """These items; words where columns are words, colours where there are pictures, else what varies most."""
    if problems := _problems(data, rows):
        raise InputError(problems)
    chosen, features, modalities = np.array(rows), {}, {}
    for name in sorted(usual_modalities(data)):
        modalities[name], features[name] = _readable(data, name, chosen)
    few = data.take(chosen)
    there = np.flatnonzero(few.labels.sum(axis=0))
    classes = tuple(data.class_names[k] for k in there)
    small = replace(few, modalities=modalities, labels=few.labels[:, there], class_names=classes, encoders={})
    return Example(small, tuple(rows), features)


def usual_rows(data: MultimodalDataset) -> tuple[int, ...]:
    """Cats, fruit and hearts where there are such; else the first three items of each of three classes."""
    by_caption = {caption: row for row, caption in enumerate(data.captions or ())}
    if all(name in by_caption for name in USUAL):
        return tuple(by_caption[name] for name in USUAL)
    largest = np.argsort(-data.labels.sum(axis=0), kind="stable")[:3]
    first = [row for k in largest for row in np.flatnonzero(data.labels[:, k])[:3].tolist()]
    return tuple(dict.fromkeys([*first, *range(min(FEWEST, len(data)))]))


def usual_modalities(data: MultimodalDataset) -> tuple[str, str]:
    """The two that are usually searched."""
    names = tuple(data.modalities)
    return usual_first([(s, t) for t in names for s in names if s != t])[0]


def _problems(data: MultimodalDataset, rows: Sequence[int]) -> list[str]:
    problems = []
    if not FEWEST <= len(set(rows)) == len(rows) <= MOST:
        problems.append(f"The example takes {FEWEST} to {MOST} different items; got {len(rows)}.")
    if beyond := [row for row in rows if not 0 <= row < len(data)]:
        problems.append(f"There are {len(data):,} items, 0 to {len(data) - 1:,}; got {beyond[0]}.")
    elif data.labels[list(rows)].any(axis=0).sum() < 2:
        problems.append("All of these items have the same class; supervision needs at least two.")
    if len(data.modalities) < 2:
        problems.append(f"The example needs two modalities; {data.name!r} has {', '.join(data.modalities)}.")
    return problems


def _readable(data: MultimodalDataset, modality: str, rows: IntArray) -> tuple[FloatArray, tuple[str, ...]]:
    """A few columns that a person can read, and their names."""
    if data.thumbnails is not None and (modality in takes_pictures(data) or modality == "image"):
        return np.array([colour_shares(data.thumbnails[row]) for row in rows]), COLOURS
    X = _dense(data.modalities[modality][rows])
    vocabulary = getattr(data.encoders.get(modality), "vocabulary", None)
    if vocabulary is not None and len(vocabulary.tokens) == X.shape[1]:
        said = {word for row in rows for word in words(data.captions[row])} if data.captions else set()
        columns = choose_words(X * [2.0 if token in said else 1.0 for token in vocabulary.tokens])
        few = X[:, columns]
        lengths = np.maximum(np.linalg.norm(few, axis=1, keepdims=True), EPS)
        return few / lengths, tuple(vocabulary.tokens[column] for column in columns)
    columns = np.argsort(-X.var(axis=0), kind="stable")[:FEATURES].tolist()
    return X[:, columns], tuple(f"column {column}" for column in columns)


def choose_words(X: FloatArray) -> list[int]:
    """One after another the column with the largest Σ_i x_ij / (1 + n_i)², n_i words of item i being chosen.

    So every item gets a word before any gets many. A word of the very items of a chosen one tells nothing
    new, and one of a single item little: such come only where others do not suffice.
    """
    there = X > 0
    chosen: list[int] = []
    for _ in range(min(FEATURES, X.shape[1])):
        gain = (X / (1 + there[:, chosen].sum(axis=1, keepdims=True)) ** 2).sum(axis=0)
        alike = (there[:, :, None] == there[:, None, chosen]).all(axis=0).any(axis=1)
        gain = np.where(alike | (there.sum(axis=0) < 2), 1e-3 * gain, gain)
        gain[chosen] = -1
        chosen.append(int(np.argmax(gain)))
    return chosen


def colour_shares(picture: bytes) -> FloatArray:
    """The shares of red, yellow, green, blue, dark and light pixels; white paper is left out."""
    pixels = decode_image(picture).reshape(-1, 3)
    drawn = pixels[pixels.min(axis=1) < PAPER]
    rgb = (drawn if len(drawn) else pixels) / 255
    value, low = rgb.max(axis=1), rgb.min(axis=1)
    spread = value - low
    r, g, b = (rgb / np.maximum(spread, 1 / 255)[:, None]).T
    sixth = np.where(value == rgb[:, 0], (g - b) % 6, np.where(value == rgb[:, 1], b - r + 2, r - g + 4))
    kind = (np.searchsorted(HUES, sixth / 6, side="right") - 1) % 4
    kind = np.where(value < DARK, 4, np.where(spread < PALE * value, np.where(value < 0.5, 4, 5), kind))
    shares: FloatArray = np.bincount(kind, minlength=len(COLOURS)) / len(kind)
    return shares


def _dense(X: Matrix) -> FloatArray:
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return dense.astype(np.float64)

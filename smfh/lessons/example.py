"""The small example: a few items with up to six named features per modality.

Text features are real words of the data set. Picture features are the shares of six colours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from smfh.features.pictures import decode_image
from smfh.features.text import split_words
from smfh.retrieval.search import picture_modalities
from smfh.runs import text_to_image_first
from smfh.types import EPS, FloatArray, InputError, IntArray, MultimodalDataset

FEATURES = 6  # largest number per modality
MIN_ITEMS, MAX_ITEMS = 4, 12
DEFAULT_CAPTIONS = (  # three animals, three foods, three hearts; the frog is as green as a heart
    *("cat face", "dog face", "frog", "red apple", "lemon", "banana", "red heart", "blue heart"),
    "green heart",
)
COLOURS = ("red", "yellow", "green", "blue", "dark", "light")
BACKGROUND_LEVEL = 250  # a pixel at least this light in every channel (0 to 255) is background
DARK_VALUE, PALE_SATURATION = 0.25, 0.2  # below the first a pixel is dark; below the second it has no hue
HUE_LIMITS = (0, 1 / 12, 1 / 6, 11 / 24, 4 / 5, 1)  # between red, yellow, green, blue and red again


@dataclass(frozen=True, eq=False)
class Example:
    """A few items of a data set, with two modalities and few features."""

    data: MultimodalDataset  # double precision
    rows: tuple[int, ...]  # of the items in the original data set
    features: dict[str, tuple[str, ...]]  # modality → names of the columns


def make_example(data: MultimodalDataset, rows: Sequence[int]) -> Example:
    """Return the small example made of these rows; features are words, shares of colours, or other columns."""
    problems = []
    if not MIN_ITEMS <= len(set(rows)) == len(rows) <= MAX_ITEMS:
        problems.append(f"The example needs {MIN_ITEMS} to {MAX_ITEMS} different items; got {len(rows)}.")
    if beyond := [row for row in rows if not 0 <= row < len(data)]:
        problems.append(f"There are {len(data):,} items, 0 to {len(data) - 1:,}; got {beyond[0]}.")
    elif (data.labels[list(rows)] == data.labels[rows[0]]).all():
        problems.append("All of these items have the same labels; the example needs at least two classes.")
    if len(data.modalities) < 2:
        problems.append(f"The example needs two modalities; {data.name!r} has {', '.join(data.modalities)}.")
    if problems:
        raise InputError(problems)
    chosen, features, modalities = np.array(rows), {}, {}
    names = tuple(data.modalities)
    for name in sorted(text_to_image_first([(s, t) for t in names for s in names if s != t])[0]):
        modalities[name], features[name] = _readable_features(data, name, chosen)
    few = data.take(chosen)
    present = np.flatnonzero(few.labels.sum(axis=0))
    classes = tuple(data.class_names[k] for k in present)
    small = replace(few, modalities=modalities, labels=few.labels[:, present], class_names=classes, encoders={})
    return Example(small, tuple(rows), features)


def default_rows(data: MultimodalDataset) -> tuple[int, ...]:
    """Return the rows of DEFAULT_CAPTIONS if the data has them, else of the three largest classes."""
    by_caption = {caption: row for row, caption in enumerate(data.captions or ())}
    if all(caption in by_caption for caption in DEFAULT_CAPTIONS):
        return tuple(by_caption[caption] for caption in DEFAULT_CAPTIONS)
    largest = np.argsort(-data.labels.sum(axis=0), kind="stable")[:3]
    first = [row for k in largest for row in np.flatnonzero(data.labels[:, k])[:3].tolist()]
    return tuple(dict.fromkeys([*first, *range(min(MIN_ITEMS, len(data)))]))


def _readable_features(data: MultimodalDataset, modality: str, rows: IntArray) -> tuple[FloatArray, tuple[str, ...]]:
    """Return a few columns of readable features for these rows, and the names of the columns."""
    if data.thumbnails is not None and (modality in picture_modalities(data) or modality == "image"):
        return np.array([colour_shares(data.thumbnails[row]) for row in rows]), COLOURS
    sliced = data.modalities[modality][rows]
    X = np.asarray(sliced.toarray() if sparse.issparse(sliced) else sliced, dtype=np.float64)
    vocabulary = getattr(data.encoders.get(modality), "vocabulary", None)
    if vocabulary is not None and len(vocabulary.tokens) == X.shape[1]:
        in_captions = {word for row in rows for word in split_words(data.captions[row])} if data.captions else set()
        columns = choose_words(X * [2.0 if token in in_captions else 1.0 for token in vocabulary.tokens])
        few = X[:, columns]
        lengths = np.maximum(np.linalg.norm(few, axis=1, keepdims=True), EPS)
        return few / lengths, tuple(vocabulary.tokens[column] for column in columns)
    columns = np.argsort(-X.var(axis=0), kind="stable")[:FEATURES].tolist()
    return X[:, columns], tuple(f"column {column}" for column in columns)


def choose_words(X: FloatArray) -> list[int]:
    """Choose word columns one by one: each time the column j with the largest Σ_i x_ij / (1 + n_i)².

    n_i is the number of chosen words that item i has, so that items without a chosen word count most.
    A word that occurs in only one item, or in exactly the same items as a chosen word, is chosen only if
    there are too few other words. Returns the columns in the order of choice.
    """
    present = X > 0
    chosen: list[int] = []
    for _ in range(min(FEATURES, X.shape[1])):
        gain = (X / (1 + present[:, chosen].sum(axis=1, keepdims=True)) ** 2).sum(axis=0)
        duplicate = (present[:, :, None] == present[:, None, chosen]).all(axis=0).any(axis=1)
        gain = np.where(duplicate | (present.sum(axis=0) < 2), 1e-3 * gain, gain)
        gain[chosen] = -1
        chosen.append(int(np.argmax(gain)))
    return chosen


def colour_shares(picture: bytes) -> FloatArray:
    """Return the shares of the six COLOURS among the pixels of a picture, without white background."""
    pixels = decode_image(picture).reshape(-1, 3)
    drawn = pixels[pixels.min(axis=1) < BACKGROUND_LEVEL]
    rgb = (drawn if len(drawn) else pixels) / 255
    value = rgb.max(axis=1)
    spread = value - rgb.min(axis=1)
    r, g, b = (rgb / np.maximum(spread, 1 / 255)[:, None]).T
    sixth = np.where(value == rgb[:, 0], (g - b) % 6, np.where(value == rgb[:, 1], b - r + 2, r - g + 4))
    colour = (np.searchsorted(HUE_LIMITS, sixth / 6, side="right") - 1) % 4
    pale = np.where(value < 0.5, COLOURS.index("dark"), COLOURS.index("light"))
    colour = np.where(spread < PALE_SATURATION * value, pale, colour)
    colour = np.where(value < DARK_VALUE, COLOURS.index("dark"), colour)
    shares: FloatArray = np.bincount(colour, minlength=len(COLOURS)) / len(colour)
    return shares

"""An item as a person looks at it: a picture or its features, what it says, its labels; all as plain text."""

import io
from collections.abc import Sequence
from colorsys import hls_to_rgb
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from smfh.types import BoolArray, FloatArray, Matrix, MultimodalDataset

if TYPE_CHECKING:
    from PIL import Image

PICTURE = 96  # pixels
TILE = 2 * PICTURE  # of a file, for screens with fine pixels
MARGIN = 8  # pixels of it: pages round the corners off
A_LINE, MOST_LINES = 32, 6  # bars beside each other, and lines of them
MOST_CELLS = 32 * 32
INK = np.array([0x44, 0x5C, 0xB0])  # the theme's blue, on white as the pictures are
PALE, DIFFER, PALE_DIFFER = np.array([[0xDF, 0xE3, 0xF0], [0xC8, 0x5A, 0x00], [0xFF, 0xD9, 0xB3]])
STRIP_WIDTH, STRIP_HEIGHT = 512, 44  # pixels of a file
SHORT, SHOWN_TEXT, SHOWN_LABELS = 60, 300, 80  # characters
TOP_WORDS = 5


def draw_item(pictures: Sequence[bytes], texts: Sequence[str], labels: Sequence[str]) -> None:
    """Pictures beside each other, and below them words and labels."""
    said = [text for text in texts if text]
    words = ", ".join(labels)
    with st.container(gap="xxsmall"):
        if pictures:
            with st.container(horizontal=True, gap="small"):
                for picture in pictures:
                    st.image(picture, width=PICTURE, alt=" · ".join(said) or "an item without words")
        for text in said:
            st.text(cut(text, SHOWN_TEXT))
        if words and words not in said:
            st.text(f"▪ {cut(words, SHOWN_LABELS)}")
        if not pictures and not said and not words:
            st.text("(nothing)")


def pictures_of(data: MultimodalDataset, rows: Sequence[int], modality: str | None) -> list[bytes]:
    """Their pictures, or, where a modality is asked for, its features as tiles; of sets without pictures
    those of the modality with the fewest dimensions, which can be seen best."""
    if modality is None and data.thumbnails is not None:
        return [data.thumbnails[row] for row in rows]
    X = data.modalities[modality or min(data.modalities, key=lambda name: data.modalities[name].shape[1])]
    return [feature_tile(features) for features in _dense(X, rows)]


def looks_of(data: MultimodalDataset, rows: Sequence[int], modality: str) -> list[bytes]:
    """Their pictures; of a set without any, the features of this modality as tiles."""
    return pictures_of(data, rows, None if data.thumbnails is not None else modality)


def top_words(data: MultimodalDataset, row: int, modality: str) -> list[str]:
    """The words that weigh most in the item's features; none where no column is a word."""
    vocabulary = getattr(data.encoders.get(modality), "vocabulary", None)
    features = _dense(data.modalities[modality], [row])[0]
    if vocabulary is None or len(vocabulary.tokens) != len(features):
        return []
    order = np.argsort(-features, kind="stable")[:TOP_WORDS]
    return [vocabulary.tokens[column] for column in order if features[column] > 0]


def feature_tile(features: FloatArray) -> bytes:
    """A PNG file: a bar for each dimension; where they are many, a cell, the darker the larger."""
    from PIL import Image

    if len(features) <= MOST_LINES * A_LINE:
        image = Image.fromarray(draw_bars(features))
    else:
        pixels = np.round(255 + (INK - 255) * cells(features)[:, :, None]).astype(np.uint8)
        image = Image.fromarray(pixels).resize((TILE, TILE), Image.Resampling.NEAREST)
    return _png(image)


def code_strip(query: BoolArray, answer: BoolArray) -> bytes:
    """A PNG file: two codes above each other, a bit that is on dark; both orange where they differ."""
    from PIL import Image

    on = np.stack([query, answer])[:, :, None]
    differ = (query != answer)[None, :, None]
    pixels = np.where(on, np.where(differ, DIFFER, INK), np.where(differ, PALE_DIFFER, PALE))
    wide = max(STRIP_WIDTH // len(query), 1)
    marked = np.repeat(np.repeat(pixels.astype(np.uint8), wide, axis=1), STRIP_HEIGHT // 2, axis=0)
    if wide > 2:
        marked[:, wide - 1 :: wide] = 255  # a gap between bits
    marked[STRIP_HEIGHT // 2 - 1] = 255  # and between the codes
    return _png(Image.fromarray(marked))


def _png(image: "Image.Image") -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def draw_bars(features: FloatArray) -> NDArray[np.uint8]:
    """x / max x as bars, or its root on several lines, so that small ones are seen; each dimension has its
    place and its colour."""
    lines = -(-len(features) // A_LINE)
    a_line = -(-len(features) // lines)
    height, width = (TILE - 2 * MARGIN) // lines, (TILE - 2 * MARGIN) // a_line
    gap = width // 6
    shares = (features / (features.max() or 1.0)) ** (1.0 if lines == 1 else 0.5)
    pixels = np.full((TILE, TILE, 3), 255, dtype=np.uint8)
    for dimension, share in enumerate(shares):
        line, place = divmod(dimension, a_line)
        bottom, left = MARGIN + (line + 1) * height, MARGIN + place * width
        top = bottom - 1 - round(float(share) * (height - 4))
        hue = hls_to_rgb(dimension / len(features), 0.45, 0.6)
        pixels[top:bottom, left : left + width - gap] = np.round(255 * np.array(hue))
    return pixels


def cells(features: FloatArray) -> FloatArray:
    """√(x / max x) in a square, blank behind the last dimension; the root lets small values be seen."""
    a_cell = -(-len(features) // MOST_CELLS)  # dimensions that are averaged
    side = int(np.ceil(np.sqrt(-(-len(features) // a_cell))))
    padded = np.pad(features, (0, side * side * a_cell - len(features)))
    square: FloatArray = padded.reshape(side, side, a_cell).mean(axis=2, dtype=np.float64)
    return np.sqrt(square / (square.max() or 1.0))


def cut(text: str, most: int = SHORT) -> str:
    """At most so many characters of it."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _dense(X: Matrix, rows: Sequence[int]) -> FloatArray:
    chosen = X[np.asarray(rows, dtype=np.int64)]
    return chosen if isinstance(chosen, np.ndarray) else chosen.toarray()

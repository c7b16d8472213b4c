"""Draw items of a data set: their pictures, or drawings of their features, with captions and labels."""

import base64
import io
import math
from collections.abc import Iterable, Sequence
from colorsys import hls_to_rgb

import numpy as np
import streamlit as st
from PIL import Image

from smfh.datasets import DATASETS
from smfh.features.pictures import thumbnail
from smfh.types import BoolArray, FloatArray, Matrix, MultimodalDataset

PICTURE_PIXELS, CARD_PIXELS = 96, 124  # width
TILE_PIXELS = 2 * PICTURE_PIXELS  # side of a tile in its file, for high-resolution screens
MARGIN_PIXELS = 8  # of a tile, because pages round the corners of pictures
BARS_PER_LINE, MAX_LINES = 32, 6
MAX_CELLS = 32 * 32
INK = np.array([0x44, 0x5C, 0xB0])  # the theme's blue, on white like the pictures
PALE, DIFFER, PALE_DIFFER = np.array([[0xDF, 0xE3, 0xF0], [0xC8, 0x5A, 0x00], [0xFF, 0xD9, 0xB3]])
STRIP_WIDTH, STRIP_HEIGHT = 512, 44  # pixels of a file
CAPTION_CHARACTERS, TEXT_CHARACTERS, LABELS_CHARACTERS = 60, 300, 80
TOP_WORDS, MAX_WORD_CHARACTERS = 5, 24
MAX_URL_BYTES = 64 * 2**10  # of a picture that is sent to a component as it is


def draw_item(pictures: Sequence[bytes], texts: Sequence[str], labels: Sequence[str]) -> None:
    """Draw an item: its pictures in a row, and below them its texts and labels."""
    present, labels_text = [text for text in texts if text], ", ".join(labels)
    with st.container(gap="xxsmall"):
        if pictures:
            with st.container(horizontal=True, gap="small"):
                for picture in pictures:
                    st.image(picture, width=PICTURE_PIXELS, alt=" · ".join(present) or "item without text")
        for text in present:
            st.text(cut(text, TEXT_CHARACTERS))
        if labels_text and labels_text not in present:
            st.text(f"▪ {cut(labels_text, LABELS_CHARACTERS)}")
        if not pictures and not present and not labels_text:
            st.text("(empty item)")


def draw_gallery(
    data: MultimodalDataset,
    rows: Iterable[int],
    notes: Iterable[Sequence[str]],
    key: str,
    relevance: BoolArray | None = None,
    modality: str | None = None,
    card_pixels: int = CARD_PIXELS,
) -> None:
    """Draw a card for each row with picture, caption and notes; ✗ marks items that are not relevant.

    For data without pictures, the cards show the features of `modality`, or of the smallest modality.
    """
    chosen = list(rows)
    pictures = looks_of(data, chosen, modality)
    with st.container(horizontal=True, key=f"gallery_{key}"):
        for place, (row, picture, words) in enumerate(zip(chosen, pictures, notes, strict=True)):
            caption = caption_of(data, row)
            with st.container(width=card_pixels, gap=None):
                st.image(picture, width=card_pixels - 28, alt=caption)
                name = short_caption(caption)
                st.text(
                    f"{mark_of(relevance, place)}{cut(name, card_pixels // 2)}",
                    help=caption if name != caption else None,
                )
                for text in words:
                    st.text(text)


def mark_of(relevance: BoolArray | None, place: int) -> str:
    """Return ✗ for a result that is not relevant, otherwise an empty text."""
    return "✗ " if relevance is not None and not relevance[place] else ""


def draw_terms(data: MultimodalDataset) -> None:
    """Draw the licence terms of the data set's pictures, if it has pictures."""
    if data.thumbnails is not None and data.name in DATASETS:
        st.caption(DATASETS[data.name].card.terms)


def caption_of(data: MultimodalDataset, row: int) -> str:
    """Return the caption of an item; without a caption its labels, without labels its number."""
    if data.captions is not None and data.captions[row]:
        return data.captions[row]
    return ", ".join(labels_of(data, row)) or f"item {row}"


def labels_of(data: MultimodalDataset, row: int) -> list[str]:
    return [data.class_names[column] for column in np.flatnonzero(data.labels[row])]


def about_item(data: MultimodalDataset, row: int) -> list[str]:
    """Return a note on an item: its labels, or its number if the caption already shows the labels."""
    labels = ", ".join(labels_of(data, row))
    return [labels] if labels != caption_of(data, row) else [f"item {row}"]


def in_bits(distance: float, decimals: int = 2) -> str:
    """Return a distance with its unit, such as "1 bit", "2 bits" or "0.35 bits"."""
    return f"{distance:,.{0 if distance == int(distance) else decimals}f} {'bit' if distance == 1 else 'bits'}"


def pictures_of(data: MultimodalDataset, rows: Sequence[int], modality: str | None) -> list[bytes]:
    """Return the pictures of items; if a modality is given, tiles that show its features instead.

    For data without pictures, the default modality is the one with the fewest dimensions.
    """
    if modality is None and data.thumbnails is not None:
        return [data.thumbnails[row] for row in rows]
    X = data.modalities[modality or min(data.modalities, key=lambda name: data.modalities[name].shape[1])]
    return [feature_tile(features) for features in _dense(X, rows)]


def looks_of(data: MultimodalDataset, rows: Sequence[int], modality: str | None) -> list[bytes]:
    """Return the pictures of items; for data without pictures, tiles of this modality's features."""
    return pictures_of(data, rows, None if data.thumbnails is not None else modality)


def picture_url(picture: bytes) -> str:
    """Return a picture as a data URL for a component; a large one is scaled down."""
    small = picture if len(picture) <= MAX_URL_BYTES else thumbnail(picture, 2 * PICTURE_PIXELS)
    return f"data:image/*;base64,{base64.b64encode(small).decode()}"  # browsers recognise the format


def top_words(data: MultimodalDataset, row: int, modality: str) -> list[str]:
    """Return the words of largest weight in an item's features; none if the columns are not words."""
    vocabulary = getattr(data.encoders.get(modality), "vocabulary", None)
    features = _dense(data.modalities[modality], [row])[0]
    if vocabulary is None or len(vocabulary.tokens) != len(features):
        return []
    order = np.argsort(-features, kind="stable")[:TOP_WORDS]
    return [vocabulary.tokens[column] for column in order if features[column] > 0]


def feature_tile(features: FloatArray) -> bytes:
    """Return a PNG file with a bar per dimension, or, for many dimensions, cells (darker: larger).

    A bar has the height |x| / max |x|. On several lines, and for cells, it is the root of that, which makes
    small values visible.
    """
    features = np.abs(features)
    if len(features) > MAX_LINES * BARS_PER_LINE:
        per_cell = -(-len(features) // MAX_CELLS)  # dimensions that are averaged
        side = math.ceil(math.sqrt(-(-len(features) // per_cell)))
        padded = np.pad(features, (0, side * side * per_cell - len(features)))
        cells = padded.reshape(side, side, per_cell).mean(axis=2, dtype=np.float64)
        shades = np.sqrt(cells / (cells.max() or 1.0))[:, :, None]
        image = Image.fromarray(np.round(255 + (INK - 255) * shades).astype(np.uint8))
        return _png(image.resize((TILE_PIXELS, TILE_PIXELS), Image.Resampling.NEAREST))
    lines = -(-len(features) // BARS_PER_LINE)
    per_line, inside = -(-len(features) // lines), TILE_PIXELS - 2 * MARGIN_PIXELS
    height, width = inside // lines, inside // per_line
    shares = (features / (features.max() or 1.0)) ** (1.0 if lines == 1 else 0.5)
    pixels = np.full((TILE_PIXELS, TILE_PIXELS, 3), 255, dtype=np.uint8)
    for dimension, share in enumerate(shares):
        line, place = divmod(dimension, per_line)
        bottom, left = MARGIN_PIXELS + (line + 1) * height, MARGIN_PIXELS + place * width
        top = bottom - 1 - round(float(share) * (height - 4))
        hue = hls_to_rgb(dimension / len(features), 0.45, 0.6)
        pixels[top:bottom, left : left + width - width // 6] = np.round(255 * np.array(hue))
    return _png(Image.fromarray(pixels))


def code_strip(query: BoolArray, result: BoolArray) -> bytes:
    """Return a PNG file with two codes, one above the other; 1 bits are dark, differing bits orange."""
    on = np.stack([query, result])[:, :, None]
    differ = (query != result)[None, :, None]
    pixels = np.where(on, np.where(differ, DIFFER, INK), np.where(differ, PALE_DIFFER, PALE))
    wide = max(STRIP_WIDTH // len(query), 1)
    marked = np.repeat(np.repeat(pixels.astype(np.uint8), wide, axis=1), STRIP_HEIGHT // 2, axis=0)
    if wide > 2:
        marked[:, wide - 1 :: wide] = 255  # a gap between bits
    marked[STRIP_HEIGHT // 2 - 1] = 255  # and one between the codes
    return _png(Image.fromarray(marked))


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def short_caption(text: str) -> str:
    """Return the caption; a long one without spaces, such as the hash of a file, is cut in its middle."""
    return text if " " in text or len(text) <= MAX_WORD_CHARACTERS else f"{text[:8]}…{text[-4:]}"


def cut(text: str, limit: int = CAPTION_CHARACTERS) -> str:
    """Shorten a text to at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _dense(X: Matrix, rows: Sequence[int]) -> FloatArray:
    chosen = X[np.asarray(rows, dtype=np.int64)]
    return chosen if isinstance(chosen, np.ndarray) else chosen.toarray()

"""Items to look at, as cards that wrap on a narrow screen. Texts of the data are shown as plain text."""

from collections.abc import Iterable, Sequence

import numpy as np
import streamlit as st

from smfh.datasets import DATASETS
from smfh.types import MultimodalDataset
from smfh.ui.items import cut, pictures_of

CARD = 124  # pixels


def draw_gallery(
    data: MultimodalDataset, rows: Iterable[int], notes: Iterable[Sequence[str]], key: str
) -> None:
    """A card for each row: what it looks like, caption or labels, and notes such as the distance."""
    shown = list(rows)
    with st.container(horizontal=True, key=f"gallery_{key}"):
        for row, picture, words in zip(shown, pictures_of(data, shown, None), notes, strict=True):
            caption = caption_of(data, row)
            with st.container(width=CARD, gap=None):
                st.image(picture, width=CARD - 28, alt=caption)
                for text in (cut(caption), *words):
                    st.text(text)


def draw_terms(data: MultimodalDataset) -> None:
    """Under which terms its pictures are shown, below them."""
    if data.thumbnails is not None and data.name in DATASETS:
        st.caption(DATASETS[data.name].card.terms)


def caption_of(data: MultimodalDataset, row: int) -> str:
    """What the item says, or what it is labelled."""
    if data.captions is not None and data.captions[row]:
        return data.captions[row]
    return ", ".join(labels_of(data, row)) or f"item {row}"


def labels_of(data: MultimodalDataset, row: int) -> list[str]:
    return [data.class_names[column] for column in np.flatnonzero(data.labels[row])]


def about_item(data: MultimodalDataset, row: int) -> list[str]:
    """Its labels, or its number where the caption says no more than they do."""
    labels = ", ".join(labels_of(data, row))
    return [labels] if labels != caption_of(data, row) else [f"item {row}"]


def in_bits(distance: int) -> str:
    """1 bit, 2 bits."""
    return f"{distance:,} {'bit' if distance == 1 else 'bits'}"

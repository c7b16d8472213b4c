"""The items of the selected data, page by page, filtered by class and word; and label counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from smfh.plots import label_counts, label_pairs
from smfh.retrieval.bits import cross_counts, largest_classes
from smfh.types import BoolArray, InputError, IntArray, MultimodalDataset, Split
from smfh.ui.charts import show_chart
from smfh.ui.data.labels import SELECTED, EditedLabels, draw_editor, edited_labels
from smfh.ui.items import caption_of, draw_item, labels_of, pictures_of, top_words
from smfh.ui.plain import draw_problems
from smfh.ui.session import load
from smfh.ui.settings import Settings

PAGE_ITEMS = 24
FEATURES = "Features: "
FEATURES_HELP = (
    "Features are the input of a method. They are drawn as a bar for each dimension or, if there are many, as a cell: "
    "darker for larger values."
)
PARTS = ("all", "training", "queries")
SHORT_CAPTION_CHARACTERS, SAMPLED_CAPTIONS = 60, 200
NARROW_PIXELS, WIDE_PIXELS = 132, 270  # width of a card with short captions, and with long ones
CLASSES, VIEW, PAGE = "browse_classes", "browse_view", "browse_page"  # keys of controls


def matching_rows(
    data: MultimodalDataset,
    split: Split,
    part: str = "all",
    classes: Sequence[str] = (),
    every_class: bool = False,
    words: str = "",
) -> IntArray:
    """Return the rows, in one part of the data, that have one (or all) of the classes and all of the words."""
    parts = dict(zip(PARTS, (np.arange(len(data)), split.train, split.queries), strict=True))
    rows: IntArray = np.sort(parts[part])
    if classes:
        labels: BoolArray = data.labels[rows][:, [name in classes for name in data.class_names]]
        rows = rows[labels.all(axis=1) if every_class else labels.any(axis=1)]
    if terms := words.casefold().split():
        captions = (caption_of(data, int(row)).casefold() for row in rows)
        rows = rows[[all(term in caption for term in terms) for caption in captions]]
    return rows


def draw_browse(settings: Settings) -> None:
    """Draw the items and labels of the selected data, or why it cannot be read."""
    title = settings.source.card.title
    if settings.source.missing():
        st.info(f"The files of {title} are missing; see its card. Select another data set, or upload your data.")
        return
    try:
        data, split = load(settings)
    except InputError as error:
        heading = f"{title} cannot be read. Its files may be damaged: download them again."
        draw_problems(heading, error.problems)
        return
    draw_items(title, data, split)
    draw_labels(data)


@st.fragment
def draw_items(title: str, data: MultimodalDataset, split: Split) -> None:
    """Draw filters and one page of the matching items, as a fragment of the page."""
    by_class, by_word, by_part, by_view = st.columns([4, 3, 3, 3])
    with by_class:
        known = set(data.class_names)
        st.session_state[CLASSES] = [name for name in st.session_state.get(CLASSES, []) if name in known]
        look: dict[str, Any] = {"on_change": _go_to_first_page, "placeholder": "Any class"}
        classes = st.multiselect("Classes", data.class_names, key=CLASSES, select_all=False, **look)
        can_combine = len(classes) > 1 and has_several_labels(data)
        every = can_combine and st.toggle("Items with all of these classes", key="browse_every")
    label, look = "Words in the caption", {"on_change": _go_to_first_page}
    words = by_word.text_input(label, key="browse_words", max_chars=200, **look)
    look |= {"default": PARTS[0], "required": True}
    part = by_part.segmented_control("Part of the data", PARTS, key="browse_part", **look)
    default = "Pictures" if data.thumbnails is not None else "All features"
    views = [default, *(FEATURES + modality for modality in data.modalities)]
    if st.session_state.get(VIEW) not in views:
        st.session_state[VIEW] = default
    view: str = by_view.selectbox("Show", views, key=VIEW, help=FEATURES_HELP)
    rows = matching_rows(data, split, part or PARTS[0], classes, every, words)
    edited = edited_labels(data)
    if edited is not None:
        draw_editor(edited, data, rows)
    if len(rows):
        modality = view.removeprefix(FEATURES) if view.startswith(FEATURES) else None
        _draw_page(data, choose_page(title, rows), modality, edited)
    else:
        st.info(f"None of the {len(data):,} items matches. Remove a class or a word.")


def choose_page(title: str, rows: IntArray) -> list[int]:
    """Draw the number of matching items and a page menu; return the rows on the chosen page."""
    pages = -(-len(rows) // PAGE_ITEMS)
    if st.session_state.get(PAGE, 1) > pages:
        st.session_state[PAGE] = 1
    first = PAGE_ITEMS * (st.session_state.get(PAGE, 1) - 1)
    on_page: list[int] = rows[first : first + PAGE_ITEMS].tolist()
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        count = f"{title}: {first + 1:,} to {first + len(on_page):,} of {len(rows):,} items"
        st.caption(count, width="content")
        if pages > 1:
            st.pagination(pages, key=PAGE)
    return on_page


def _draw_page(data: MultimodalDataset, rows: list[int], modality: str | None, edited: EditedLabels | None) -> None:
    """Draw a card for each row, with a box to select it if labels are edited.

    The width depends on the data's captions, and is equal on all pages.
    """
    length = np.median([len(caption_of(data, row)) for row in range(min(len(data), SAMPLED_CAPTIONS))])
    width = NARROW_PIXELS if length <= SHORT_CAPTION_CHARACTERS else WIDE_PIXELS
    grid = st.grid(min_column_width=width, border=True, key="browse_items")
    views = list(data.modalities) if modality is None and data.thumbnails is None else [modality]
    columns = [pictures_of(data, rows, name) for name in views]
    for row, *pictures in zip(rows, *columns, strict=True):
        words = [] if modality is None else top_words(data, row, modality)
        with grid.cell():
            labels = labels_of(data, row) if edited is None else edited.labels[row]
            draw_item(pictures, [caption_of(data, row), ", ".join(words)], labels)
            if edited is not None:
                st.checkbox("Select", key=f"{SELECTED}{row}")


def draw_labels(data: MultimodalDataset) -> None:
    """Draw the number of items of each class, and how often two classes occur together."""
    st.subheader("Labels", anchor=False)
    if not data.has_labels:
        st.caption("The items have no labels.")
        return
    if data.label_origin:
        st.caption(data.label_origin)
    counts = label_counts(data.labels.sum(axis=0), data.class_names)
    if not has_several_labels(data):
        show_chart(counts, "label_counts")
        st.caption("Every item has one class.")
        return
    several = data.labels[data.labels.sum(axis=1) > 1]
    columns = largest_classes(several)
    pair_counts = cross_counts(several[:, columns], several[:, columns])
    left, right = st.columns(2)
    with left:
        show_chart(counts, "label_counts")
    with right:
        show_chart(label_pairs(pair_counts, [data.class_names[k] for k in columns]), "label_pairs")


def has_several_labels(data: MultimodalDataset) -> bool:
    """Whether any item has more than one label."""
    return bool((data.labels.sum(axis=1) > 1).any())


def _go_to_first_page() -> None:
    st.session_state[PAGE] = 1

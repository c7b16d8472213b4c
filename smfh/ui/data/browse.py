"""The items of the chosen data, page by page, by class and by word; and how its labels are spread."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from smfh.bits import cross_counts, largest_classes
from smfh.plots import label_counts, label_pairs
from smfh.types import BoolArray, InputError, IntArray, MultimodalDataset, Split
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, labels_of
from smfh.ui.items import draw_item, pictures_of, top_words
from smfh.ui.session import load
from smfh.ui.settings import Settings

A_PAGE = 24
FEATURES = "Features: "
PARTS = ("all", "training", "queries")
SHORT_CAPTION, CAPTIONS = 60, 200  # characters, and how many captions tell what is usual
NARROW, WIDE = 132, 270  # pixels of a card with short and with long captions
CLASSES, VIEW, PAGE = "browse_classes", "browse_view", "browse_page"  # keys of controls


@dataclass(frozen=True)
class Filter:
    """Which items to show; as it comes, all of them."""

    classes: tuple[str, ...] = ()
    every_class: bool = False  # all of the classes, not any of them
    words: str = ""
    part: str = "all"


def matching_rows(data: MultimodalDataset, split: Split, wanted: Filter) -> IntArray:
    """The rows of the part that have the classes and, in any order, all the words in their caption."""
    parts = dict(zip(PARTS, (np.arange(len(data)), split.train, split.queries), strict=True))
    rows: IntArray = np.sort(parts[wanted.part])
    if wanted.classes:
        columns = [name in wanted.classes for name in data.class_names]
        has: BoolArray = data.labels[rows][:, columns]
        rows = rows[has.all(axis=1) if wanted.every_class else has.any(axis=1)]
    if words := wanted.words.casefold().split():
        said = (caption_of(data, int(row)).casefold() for row in rows)
        rows = rows[[all(word in caption for word in words) for caption in said]]
    return rows


def draw_browse(settings: Settings) -> None:
    """The chosen data, or what it needs to be there."""
    title = settings.source.card.title
    if settings.source.missing():
        st.info(f"{title} needs its files, see its card. Use another data set, or bring your own.")
        return
    try:
        data, split = load(settings)
    except InputError as error:
        st.error(f"{title} cannot be read. Its files may be damaged: fetch them again.")
        st.text("\n".join(error.problems))
        return
    draw_items(title, data, split)
    draw_labels(data)


@st.fragment
def draw_items(title: str, data: MultimodalDataset, split: Split) -> None:
    """Filters and a page of what they leave; drawn again alone, without the rest of the page."""
    by_class, by_word, by_part, to_see = st.columns([4, 3, 3, 3])
    with by_class:
        classes, every = draw_classes(data)
    with by_word:
        words = st.text_input("Words in the caption", key="browse_words", max_chars=200, on_change=_rewind)
    with by_part:
        part = st.segmented_control(
            "Part", PARTS, default=PARTS[0], required=True, key="browse_part", on_change=_rewind
        )
    with to_see:
        modality = draw_view(data)
    rows = matching_rows(data, split, Filter(classes, every, words, part or PARTS[0]))
    if len(rows):
        draw_page(data, turn_page(title, rows), modality)
    else:
        st.info(f"None of the {len(data):,} items fits. Take away a class or a word.")


def draw_classes(data: MultimodalDataset) -> tuple[tuple[str, ...], bool]:
    """The chosen classes that this data has, and whether an item must have all of them."""
    known = set(data.class_names)
    st.session_state[CLASSES] = [name for name in st.session_state.get(CLASSES, []) if name in known]
    chosen = st.multiselect(
        "Classes", data.class_names, key=CLASSES, on_change=_rewind, placeholder="Any class", select_all=False
    )
    several = len(chosen) > 1 and has_several_labels(data)
    return tuple(chosen), several and st.toggle("All of them together", key="browse_every")


def draw_view(data: MultimodalDataset) -> str | None:
    """What to see of each item: its picture or else all its features (None), or those of one modality."""
    usual = "Pictures" if data.thumbnails is not None else "All features"
    views = [usual, *(FEATURES + modality for modality in data.modalities)]
    if st.session_state.get(VIEW) not in views:
        st.session_state[VIEW] = usual
    about = "Features are what a method sees: a bar for each dimension, or a cell, the darker the larger."
    view: str = st.selectbox("Look at", views, key=VIEW, help=about)
    return view.removeprefix(FEATURES) if view.startswith(FEATURES) else None


def turn_page(title: str, rows: IntArray) -> list[int]:
    """How many there are, which page of them is asked for, and the rows on it."""
    last = -(-len(rows) // A_PAGE)
    if st.session_state.get(PAGE, 1) > last:
        st.session_state[PAGE] = 1
    first = A_PAGE * (st.session_state.get(PAGE, 1) - 1)
    shown: list[int] = rows[first : first + A_PAGE].tolist()
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(
            f"{title}: {first + 1:,} to {first + len(shown):,} of {len(rows):,} items", width="content"
        )
        if last > 1:
            st.pagination(last, key=PAGE)
    return shown


def draw_page(data: MultimodalDataset, rows: list[int], modality: str | None) -> None:
    """Cards as wide as texts of this data need, so that they stay where they are from page to page."""
    usual = np.median([len(caption_of(data, row)) for row in range(min(len(data), CAPTIONS))])
    width = NARROW if usual <= SHORT_CAPTION else WIDE
    grid = st.grid(min_column_width=width, border=True, key="browse_items")
    seen = list(data.modalities) if modality is None and data.thumbnails is None else [modality]
    looks = [pictures_of(data, rows, name) for name in seen]
    for row, *pictures in zip(rows, *looks, strict=True):
        words = [] if modality is None else top_words(data, row, modality)
        with grid.cell():
            draw_item(pictures, [caption_of(data, row), ", ".join(words)], labels_of(data, row))


def draw_labels(data: MultimodalDataset) -> None:
    """How many items each class has, and which classes come together."""
    st.subheader("Labels", anchor=False)
    counts = label_counts(data.labels.sum(axis=0), data.class_names)
    if not has_several_labels(data):
        show_chart(counts, "label_counts")
        st.caption("Every item has one class, so no two classes come together.")
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
    """Whether any item has more than one."""
    return bool((data.labels.sum(axis=1) > 1).any())


def _rewind() -> None:
    st.session_state[PAGE] = 1

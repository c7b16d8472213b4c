"""The question and its answers: cards with distance, rank and whether they are right; all as plain text."""

import numpy as np
import streamlit as st

from smfh.asking import MOST_ANSWERS, TIES, Answers
from smfh.datasets import DATASETS
from smfh.evaluation import PROTOCOLS
from smfh.features.text import PIECE
from smfh.plots import distance_histogram, reach_histogram
from smfh.types import BoolArray, MultimodalDataset, Split
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, draw_relevance, labels_of
from smfh.ui.items import PICTURE, cut, pictures_of, top_words
from smfh.ui.search.asking import Posed, ask
from smfh.ui.search.link import Asked

A_PAGE = 24
NARROW = 136  # pixels of a card
CAPTION, LABELS, QUERY = 90, 40, 300  # characters shown
PAGE = "search_page"
RADIUS = "search_radius"


def draw_question(
    asked: Asked, posed: Posed, answers: Answers, data: MultimodalDataset, split: Split
) -> None:
    """What is asked, its code, and the answers in a few figures."""
    question = answers.question
    with st.container(horizontal=True, vertical_alignment="center", key="search_question"):
        if (picture := _picture_of_question(posed, data)) is not None:
            st.image(picture, width=PICTURE, alt="the query")
        with st.container(gap="xxsmall", width="stretch"):
            for line in _question_lines(asked, posed, data, split):
                st.text(line)
            st.text(f"code {_grouped(answers.code)}")
            st.text(_summary(asked, answers))
    if question.classes is None:
        st.caption("– Nobody knows here which answers are right: nothing that is asked names a class.")
    elif question.row is None:
        names = ", ".join(np.array(data.class_names)[question.classes])
        st.text(f"Right (✓) is what has a class that your words name: {cut(names, QUERY)}")


def _picture_of_question(posed: Posed, data: MultimodalDataset) -> bytes | None:
    row = posed.question.row
    if row is None:
        return posed.picture
    return pictures_of(data, [row], None if data.thumbnails is not None else posed.question.source)[0]


def _question_lines(asked: Asked, posed: Posed, data: MultimodalDataset, split: Split) -> list[str]:
    row = posed.question.row
    if posed.picture is not None:
        return ["Your picture"]
    if row is None:
        return [f"“{asked.words}”"]
    held_out = row in split.queries
    part = "a held-out query" if held_out else "a training item"
    if held_out == (asked.database == "unseen"):
        part += ": its own pair is in the database"
    said = cut(caption_of(data, row), QUERY)
    labels = [name for name in [", ".join(labels_of(data, row))] if name and name != said]
    return [" · ".join([f"“{said}”", *labels]), f"item {row}, {part}"]


def _grouped(code: BoolArray) -> str:
    digits = "".join("1" if bit else "0" for bit in code)
    return " ".join(digits[i : i + 8] for i in range(0, len(digits), 8))


def _summary(asked: Asked, answers: Answers) -> str:
    tied = int(answers.counts.items[0, answers.nearest])
    parts = [
        f"nearest at distance {answers.nearest} ({tied:,} {'item' if tied == 1 else 'items'} there)",
        f"{answers.within(asked.radius):,} within radius {asked.radius}",
    ]
    if answers.relevance is not None and answers.average_precision is not None:
        first = answers.relevance[: asked.number]
        parts.append(f"{np.count_nonzero(first)} of the first {len(first)} right")
        parts.append(f"AP@100 {answers.average_precision:.3f}")
    return " · ".join(parts)


def draw_results(asked: Asked, answers: Answers, data: MultimodalDataset) -> None:
    """A page of the answers; each can be asked with, or asked about."""
    number = min(asked.number, len(answers.rows))
    last = -(-number // A_PAGE)
    page = min(asked.page, last)
    first = A_PAGE * (page - 1)
    places = range(first, min(first + A_PAGE, number))
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(f"Results {first + 1} to {places[-1] + 1} of {number}", width="content")
        if last > 1:
            key = f"{PAGE}_{page}"  # a new control for each page: this kind cannot be set from the link
            st.pagination(
                last, default=page, key=key, on_change=lambda: ask(asked, data, page=st.session_state[key])
            )
    st.caption(TIES[asked.ties])
    rows = [int(answers.rows[place]) for place in places]
    pictures = pictures_of(data, rows, None if data.thumbnails is not None else answers.target)
    grid = st.grid(min_column_width=NARROW, border=True, key="search_results")
    for place, picture in zip(places, pictures, strict=True):
        with grid.cell():
            draw_result(asked, answers, data, place, picture)
    if data.thumbnails is not None and data.name in DATASETS:
        st.caption(DATASETS[data.name].card.terms)


def draw_result(asked: Asked, answers: Answers, data: MultimodalDataset, place: int, picture: bytes) -> None:
    """What was found comes first: the picture, or the words."""
    row, distance = int(answers.rows[place]), int(answers.distances[place])
    said, labels = caption_of(data, row), ", ".join(labels_of(data, row))
    shows = answers.target == "image" or not (terms := found_words(data, row, answers.target))
    with st.container(gap="xxsmall"):
        if shows:
            st.image(picture, width=PICTURE, alt=said)
            st.text(cut(said, CAPTION))
        else:
            st.text(cut(said, CAPTION))
            st.text(", ".join(terms))
            st.image(picture, width=PICTURE // 2, alt=said)
        if labels != said:
            st.text(f"▪ {cut(labels, LABELS)}")
        st.text(f"#{place + 1} · {distance} {'bit' if distance == 1 else 'bits'}")
        draw_relevance(None if answers.relevance is None else bool(answers.relevance[place]))
        with st.container(horizontal=True, gap="xsmall"):
            st.button(
                "Ask",
                key=f"search_with_{row}",
                type="tertiary",
                icon=":material/search:",
                help=f"Search with this: {answers.target} → {asked.source}",
                on_click=ask,
                args=(asked, data),
                kwargs={"words": None, "row": row, "source": answers.target, "target": asked.source},
            )
            st.button(
                "Why?",
                key=f"search_why_{row}",
                type="tertiary",
                help="Why did this match?",
                on_click=ask,
                args=(asked, data),
                kwargs={"why": row},
            )


def found_words(data: MultimodalDataset, row: int, modality: str) -> list[str]:
    """The whole words that weigh most in what was found."""
    return [word for word in top_words(data, row, modality) if not word.startswith(PIECE)]


def draw_distances(asked: Asked, answers: Answers, data: MultimodalDataset) -> None:
    """How many items lie at each distance, and how many within a radius."""
    bits = len(answers.code)
    st.subheader("How far the database lies", anchor=False)
    st.session_state[RADIUS] = min(asked.radius, bits)
    radius = st.slider(
        "Radius",
        0,
        bits,
        key=RADIUS,
        on_change=lambda: ask(asked, data, radius=st.session_state[RADIUS]),
        help="Look-up in a hash table finds what lies within it.",
    )
    if answers.relevance is None:
        show_chart(reach_histogram(answers.counts.items[0], radius), "search_distances")
    else:
        show_chart(distance_histogram(answers.counts, radius, 0), "search_distances")
    st.caption(f"{PROTOCOLS[asked.database]} The first {MOST_ANSWERS} answers can be looked at.")

"""The question and its answers: cards with distance, rank and whether they are right; all as plain text."""

import numpy as np
import streamlit as st

from smfh.asking import MOST_ANSWERS, TIES, Answer
from smfh.datasets import DATASETS
from smfh.evaluation import PROTOCOLS
from smfh.features.text import PIECE
from smfh.plots import distance_histogram
from smfh.runs import Run
from smfh.types import BoolArray, MultimodalDataset
from smfh.ui.asked import Asked, Posed, ask
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, draw_relevance, in_bits, labels_of
from smfh.ui.items import PICTURE, cut, pictures_of, top_words

A_PAGE = 24
NARROW = 136  # pixels of a card
CAPTION, LABELS, QUERY = 90, 40, 300  # characters shown
PAGE = "search_page"
RADIUS = "search_radius"


def draw_question(asked: Asked, posed: Posed, answer: Answer, run: Run) -> None:
    """What is asked, its code, and the answer in a few figures."""
    question, data = answer.question, run.data
    with st.container(horizontal=True, vertical_alignment="center", key="search_question"):
        if (picture := _picture_of_question(posed, data)) is not None:
            st.image(picture, width=PICTURE, alt="the query")
        with st.container(gap="xxsmall", width="stretch"):
            for line in _question_lines(asked, posed, run):
                st.text(line)
            st.text(f"code {_grouped(answer.code)}")
            st.text(_summary(asked, answer))
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


def _question_lines(asked: Asked, posed: Posed, run: Run) -> list[str]:
    data, row = run.data, posed.question.row
    if posed.picture is not None:
        return ["Your picture"]
    if row is None:
        return [f"“{asked.words}”"]
    held_out = row in run.split.queries
    part = "a held-out query" if held_out else "a training item"
    if held_out == (asked.database == "unseen"):
        part += ": its own pair is in the database"
    said = cut(caption_of(data, row), QUERY)
    labels = [name for name in [", ".join(labels_of(data, row))] if name and name != said]
    return [" · ".join([f"“{said}”", *labels]), f"item {row}, {part}"]


def _grouped(code: BoolArray) -> str:
    digits = "".join("1" if bit else "0" for bit in code)
    return " ".join(digits[i : i + 8] for i in range(0, len(digits), 8))


def _summary(asked: Asked, answer: Answer) -> str:
    tied = int(answer.counts.items[0, answer.nearest])
    parts = [
        f"nearest at distance {answer.nearest} ({tied:,} {'item' if tied == 1 else 'items'} there)",
        f"{answer.within(asked.radius):,} within radius {asked.radius}",
    ]
    if answer.relevance is not None and answer.average_precision is not None:
        first = answer.relevance[: asked.number]
        parts.append(f"{np.count_nonzero(first)} of the first {len(first)} right")
        parts.append(f"AP@100 {answer.average_precision:.3f}")
    return " · ".join(parts)


def draw_results(asked: Asked, answer: Answer, run: Run) -> None:
    """A page of what was found; each can be asked with, or asked about."""
    data, number = run.data, min(asked.number, len(answer.rows))
    last = -(-number // A_PAGE)
    page = min(asked.page, last)
    first = A_PAGE * (page - 1)
    places = range(first, min(first + A_PAGE, number))
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(f"Results {first + 1} to {places[-1] + 1} of {number}", width="content")
        if last > 1:
            key = f"{PAGE}_{page}"  # a new control for each page: this kind cannot be set from the link
            st.pagination(
                last, default=page, key=key, on_change=lambda: ask(asked, run, page=st.session_state[key])
            )
    st.caption(TIES[asked.ties])
    rows = [int(answer.rows[place]) for place in places]
    pictures = pictures_of(data, rows, None if data.thumbnails is not None else answer.target)
    grid = st.grid(min_column_width=NARROW, border=True, key="search_results")
    for place, picture in zip(places, pictures, strict=True):
        with grid.cell():
            draw_result(asked, answer, run, place, picture)
    if data.thumbnails is not None and data.name in DATASETS:
        st.caption(DATASETS[data.name].card.terms)


def draw_result(asked: Asked, answer: Answer, run: Run, place: int, picture: bytes) -> None:
    """What was found comes first: the picture, or the words."""
    data, row, distance = run.data, int(answer.rows[place]), int(answer.distances[place])
    said, labels = caption_of(data, row), ", ".join(labels_of(data, row))
    shows = answer.target == "image" or not (terms := found_words(data, row, answer.target))
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
        st.text(f"#{place + 1} · {in_bits(distance)}")
        draw_relevance(None if answer.relevance is None else bool(answer.relevance[place]))
        with st.container(horizontal=True, gap="xsmall"):
            st.button(
                "Ask",
                key=f"search_with_{row}",
                type="tertiary",
                icon=":material/search:",
                help=f"Search with this: {answer.target} → {asked.source}",
                on_click=ask,
                args=(asked, run),
                kwargs={"words": None, "row": row, "source": answer.target, "target": asked.source},
            )
            st.button(
                "Why?",
                key=f"search_why_{row}",
                type="tertiary",
                help="Why did this match?",
                on_click=ask,
                args=(asked, run),
                kwargs={"why": row},
            )


def found_words(data: MultimodalDataset, row: int, modality: str) -> list[str]:
    """The whole words that weigh most in what was found."""
    return [word for word in top_words(data, row, modality) if not word.startswith(PIECE)]


def draw_distances(asked: Asked, answer: Answer, run: Run) -> None:
    """How many items lie at each distance, and how many within a radius."""
    bits = len(answer.code)
    st.subheader("How far the database lies", anchor=False)
    st.session_state[RADIUS] = min(asked.radius, bits)
    radius = st.slider(
        "Radius",
        0,
        bits,
        key=RADIUS,
        on_change=lambda: ask(asked, run, radius=st.session_state[RADIUS]),
        help="Look-up in a hash table finds what lies within it.",
    )
    known = answer.relevance is not None
    show_chart(distance_histogram(answer.counts, radius, relevance_known=known), "search_distances")
    st.caption(f"{PROTOCOLS[asked.database]} The first {MOST_ANSWERS} answers can be looked at.")

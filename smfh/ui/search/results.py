"""The question and its answers: cards with distance, rank and whether they are right; all as plain text."""

import numpy as np
import streamlit as st

from smfh.asking import MOST_ANSWERS, TIES, Answer
from smfh.evaluation import PROTOCOLS
from smfh.features.text import PIECE
from smfh.plots import distance_histogram
from smfh.runs import Run
from smfh.types import MultimodalDataset
from smfh.ui.address import hold
from smfh.ui.asked import UPLOAD, Asked, ask, draw_ask, nearest_in_words
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, draw_terms, in_bits, labels_of
from smfh.ui.items import PICTURE, cut, looks_of, top_words
from smfh.ui.plain import plain

A_PAGE = 24  # answers
COLUMNS, NARROW = 6, 136  # so many cards in a row that all rows are full; pixels of a card
STYLE = """<style>
.st-key-search_results { grid-auto-rows: 1fr; }
.st-key-search_results img { aspect-ratio: 1; object-fit: contain; }
</style>"""  # all cards as tall as the tallest, before their pictures are there too
CAPTION, LABELS, QUERY = 90, 40, 300  # characters shown
RADIUS = "search_radius"


def draw_question(asked: Asked, answer: Answer, run: Run) -> None:
    """What is asked, its code, and the answer in a few figures."""
    question, data = answer.question, run.data
    with st.container(horizontal=True, vertical_alignment="center", key="search_question"):
        if (look := look_of_query(answer, run)) is not None:
            st.image(look, width=PICTURE, alt="the query")
        with st.container(gap="xxsmall"):
            for line in _question_lines(asked, answer, run):
                st.text(line)
            digits = "".join(map(str, answer.code.astype(int)))
            st.text(f"code {' '.join(digits[i : i + 8] for i in range(0, len(digits), 8))}")
            st.text(_summary(asked, answer))
    if question.classes is None:
        st.caption("– Nobody knows here which answers are right: nothing that is asked names a class.")
    elif question.row is None:
        names = ", ".join(np.array(data.class_names)[question.classes])
        st.text(f"Right is what has a class that your words name: {cut(names, QUERY)}")


def look_of_query(answer: Answer, run: Run) -> bytes | None:
    """The picture of what is asked; none for words."""
    question = answer.question
    if question.row is not None:
        return looks_of(run.data, [question.row], question.source)[0]
    upload: bytes | None = st.session_state[UPLOAD].getvalue() if question.picture else None
    return upload


def query_in_words(asked: Asked, answer: Answer, run: Run) -> str:
    """The words, or what the item says."""
    if answer.question.row is not None:
        return f"“{cut(caption_of(run.data, answer.question.row), QUERY)}”"
    return "Your picture" if answer.question.picture else f"“{asked.words}”"


def _question_lines(asked: Asked, answer: Answer, run: Run) -> list[str]:
    """What is asked, in words."""
    data, row = run.data, answer.question.row
    query = query_in_words(asked, answer, run)
    if row is None:
        return [query]
    is_held_out = row in run.split.queries
    part = "a held-out query" if is_held_out else "a training item"
    if is_held_out == (asked.database == "unseen"):
        part += ": its own pair is in the database"
    labels = ", ".join(labels_of(data, row))
    return [
        f"{query} · {labels}" if labels not in ("", caption_of(data, row)) else query,
        f"item {row}, {part}",
    ]


def _summary(asked: Asked, answer: Answer) -> str:
    """Where the nearest are, how many within the radius, how many right."""
    parts = [nearest_in_words(answer), f"{answer.within(asked.radius):,} within radius {asked.radius}"]
    if answer.relevance is not None:
        first = answer.relevance[: asked.number]
        parts.append(f"{np.count_nonzero(first)} of the first {len(first)} right")
        parts.append(f"AP@100 {answer.average_precision:.3f}")
    return " · ".join(parts)


def draw_results(asked: Asked, answer: Answer, run: Run) -> None:
    """A page of what was found; each can be asked with, or asked about."""
    number = min(asked.number, len(answer.rows))
    last = -(-number // A_PAGE)
    page = min(asked.page, last)
    ranks = range(A_PAGE * (page - 1), min(A_PAGE * page, number))
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(f"Results {ranks[0] + 1} to {ranks[-1] + 1} of {number}", width="content")
        if last > 1:
            key = f"search_page_{page}"  # a new control for each page: this kind cannot be set from the link
            turn = lambda: ask(asked, run, page=st.session_state[key])  # noqa: E731
            st.pagination(last, default=page, key=key, on_change=turn)
    wrong = "" if answer.relevance is None or answer.relevance[ranks].all() else " ✗ marks what is not right."
    st.caption(TIES[asked.ties] + wrong)
    pictures = looks_of(run.data, answer.rows[ranks].tolist(), answer.target)
    st.html(STYLE)
    grid = st.grid(COLUMNS, min_column_width=NARROW, border=True, key="search_results")
    for rank, picture in zip(ranks, pictures, strict=True):
        with grid.cell():
            draw_result(asked, answer, run, rank, picture)
    draw_terms(run.data)


def draw_result(asked: Asked, answer: Answer, run: Run, rank: int, picture: bytes) -> None:
    """What was found comes first: the picture, or the words."""
    data, row, target = run.data, int(answer.rows[rank]), answer.target
    said, labels = caption_of(data, row), ", ".join(labels_of(data, row))
    terms = [] if target == "image" else found_words(data, row, target)
    wrong, asked_for = answer.relevance is not None and not answer.relevance[rank], answer.question.classes
    with st.container(gap="xxsmall", height="stretch"):
        if not terms:
            st.image(picture, width=PICTURE, alt=said)
        st.text(f"{'✗ ' if wrong else ''}{cut(said, CAPTION)}")
        if terms:
            st.text(", ".join(terms))
            st.image(picture, width=PICTURE // 2, alt=said)
        if labels != said and (asked_for is None or (data.labels[row] != asked_for).any()):
            st.text(f"▪ {cut(labels, LABELS)}")  # where they are not those of what is asked
        st.text(f"{in_bits(int(answer.distances[rank]))} away")
        with st.container(horizontal=True, gap="xsmall", height="stretch", vertical_alignment="bottom"):
            this = {"words": None, "row": row, "source": target, "target": asked.source}
            words = plain(f"Search with this: {target} → {asked.source}")
            look = {"type": "tertiary", "icon": ":material/search:", "help": words}
            draw_ask(f"Ask #{rank + 1}", f"search_with_{row}", asked, run, this, **look)
            look = {"type": "tertiary", "help": "Why did this match?"}
            draw_ask(f"Why #{rank + 1}?", f"search_why_{row}", asked, run, {"why": row}, **look)


def found_words(data: MultimodalDataset, row: int, modality: str) -> list[str]:
    """The whole words that weigh most in what was found."""
    return [word for word in top_words(data, row, modality) if not word.startswith(PIECE)]


def draw_distances(asked: Asked, answer: Answer, run: Run) -> None:
    """How many items lie at each distance, and how many within a radius."""
    bits = run.hasher.bits
    st.subheader("How far the database lies", anchor=False)
    radius = st.slider(
        "Radius",
        0,
        bits,
        key=hold(RADIUS, min(asked.radius, bits)),
        on_change=lambda: ask(asked, run, radius=st.session_state[RADIUS]),
        help="Look-up in a hash table finds what lies within it.",
    )
    chart = distance_histogram(answer.counts, radius, relevance_known=answer.relevance is not None)
    show_chart(chart, "search_distances")
    st.caption(f"{PROTOCOLS[asked.database]} The first {MOST_ANSWERS} answers can be looked at.")

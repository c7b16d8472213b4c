"""Why did this match? Two codes bit by bit, and what the bits that agree stand for."""

from collections.abc import Iterable

import numpy as np
import streamlit as st

from smfh.asking import Answer
from smfh.bits import BitTopic
from smfh.plots import bit_strips
from smfh.runs import Run
from smfh.ui.asked import Asked, draw_ask
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, in_bits
from smfh.ui.items import PICTURE, cut, looks_of
from smfh.ui.search.results import look_of_query, query_in_words
from smfh.ui.topics import topics_of

CAPTION, SUMMARY = 80, 90  # characters shown
LINES = 12  # groups of bits that are told


def draw_why(asked: Asked, answer: Answer, run: Run) -> None:
    """The chosen answer beside the question; nothing where none is chosen."""
    if asked.why is None:
        return
    ranks = np.flatnonzero(answer.rows == asked.why)
    if len(ranks) == 0:
        st.text(
            f"Item {asked.why} is not among the answers, so there is nothing to explain. Press a “Why” below."
        )
        return
    rank = int(ranks[0])
    with st.container(border=True, key="search_why"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.subheader("Why did this match?", anchor=False)
            look = {"icon": ":material/close:", "type": "tertiary"}
            draw_ask("Close", "search_why_close", asked, run, {"why": None}, **look)
        query, result, codes = st.columns([1, 1, 4])
        with query:
            _draw_query(asked, answer, run)
        with result:
            _draw_result(answer, rank, run)
        with codes:
            show_chart(bit_strips(answer.code, answer.codes[rank]), "search_why")
        _draw_meaning(answer, rank, run)


def _draw_query(asked: Asked, answer: Answer, run: Run) -> None:
    st.markdown("**Query**")
    if (look := look_of_query(answer, run)) is not None:
        st.image(look, width=PICTURE, alt="the query")
    st.text(cut(query_in_words(asked, answer, run), CAPTION))


def _draw_result(answer: Answer, rank: int, run: Run) -> None:
    data, row, distance = run.data, int(answer.rows[rank]), int(answer.distances[rank])
    said, tied = caption_of(data, row), int(answer.counts.items[0, distance])
    st.markdown(f"**Result #{rank + 1}**")
    st.image(looks_of(data, [row], answer.target)[0], width=PICTURE, alt=said)
    st.text(cut(said, CAPTION))
    st.text(f"{in_bits(distance)} away")
    if tied > 1:
        share = "share this code" if distance == 0 else "lie at this distance"
        st.text(f"{tied:,} items {share}. Bits alone cannot tell which of them comes first.")


def _draw_meaning(answer: Answer, rank: int, run: Run) -> None:
    """What is on in both, and what is on in one of them."""
    query, result, topics = answer.code, answer.codes[rank], topics_of(run)
    for title, chosen in (
        ("On in both", query & result),
        ("On in the query alone", query & ~result),
        ("On in the result alone", ~query & result),
    ):
        bits = [topic for topic in topics if chosen[topic.number] and topic.kind != "dead"]
        if bits:
            st.markdown(f"**{title}**")
            st.text("\n".join(meaning_lines(bits)))


def meaning_lines(bits: Iterable[BitTopic]) -> list[str]:
    """Bits that stand for the same in one line: `bits 3, 17: animal, mammal`; the most bits first."""
    groups: dict[str, list[int]] = {}
    for bit in bits:
        groups.setdefault(bit.summary, []).append(bit.number)
    told = sorted(groups.items(), key=lambda group: (-len(group[1]), group[1]))
    lines = [
        f"{'bit' if len(numbers) == 1 else 'bits'} {', '.join(map(str, numbers))}: {cut(summary, SUMMARY)}"
        for summary, numbers in told[:LINES]
    ]
    return lines if len(told) <= LINES else [*lines, f"… and {len(told) - LINES} more kinds of bits"]

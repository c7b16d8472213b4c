"""Why did this match? Two codes bit by bit, and what the bits that agree stand for."""

from collections.abc import Iterable, Sequence

import numpy as np
import streamlit as st

from smfh.asking import Answer
from smfh.bits import BitTopic
from smfh.plots import bit_strips
from smfh.runs import Run
from smfh.types import BoolArray, MultimodalDataset
from smfh.ui.asked import Asked, ask
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, in_bits
from smfh.ui.items import cut
from smfh.ui.topics import topics_of

CAPTION, SUMMARY = 80, 90  # characters shown
LINES = 12  # groups of bits that are told


def draw_why(asked: Asked, answer: Answer, run: Run) -> None:
    """The chosen answer beside the question; nothing where none is chosen."""
    if asked.why is None:
        return
    places = np.flatnonzero(answer.rows == asked.why)
    if len(places) == 0:
        st.text(
            f"Item {asked.why} is not among the answers, so there is nothing to explain. Ask “Why?” below."
        )
        return
    place = int(places[0])
    with st.container(border=True, key="search_why"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.subheader("Why did this match?", anchor=False)
            st.button(
                "Close",
                icon=":material/close:",
                key="search_why_close",
                type="tertiary",
                on_click=ask,
                args=(asked, run),
                kwargs={"why": None},
            )
        left, right = st.columns([1, 3], vertical_alignment="top")
        with left:
            _draw_result(asked.why, place, answer, run.data)
        with right:
            show_chart(bit_strips(answer.code, answer.codes[place]), "search_why")
        _draw_meaning(topics_of(run), answer.code, answer.codes[place])


def _draw_result(row: int, place: int, answer: Answer, data: MultimodalDataset) -> None:
    said = caption_of(data, row)
    if data.thumbnails is not None:
        st.image(data.thumbnails[row], width=96, alt=said)
    st.text(cut(said, CAPTION))
    distance = int(answer.distances[place])
    tied = int(answer.counts.items[0, distance])
    st.text(f"#{place + 1} · {in_bits(distance)} away")
    if tied > 1:
        st.text(f"{tied:,} items lie at this distance. Bits alone cannot tell which of them comes first.")


def _draw_meaning(every: Sequence[BitTopic], query: BoolArray, result: BoolArray) -> None:
    """What is on in both, and what is on in one of them."""
    for title, chosen in (
        ("On in both", query & result),
        ("On in the query alone", query & ~result),
        ("On in the result alone", ~query & result),
    ):
        bits = [every[k] for k in np.flatnonzero(chosen).tolist() if every[k].kind != "dead"]
        if bits:
            st.markdown(f"**{title}**")
        for line in meaning_lines(bits):
            st.text(line)


def meaning_lines(bits: Iterable[BitTopic]) -> list[str]:
    """Bits that stand for the same, together: `bits 3, 17: animal, mammal`; the most bits first."""
    groups: dict[str, list[int]] = {}
    for bit in bits:
        groups.setdefault(bit.summary, []).append(bit.number)
    told = sorted(groups.items(), key=lambda group: (-len(group[1]), group[1]))
    lines = [
        f"{'bit' if len(numbers) == 1 else 'bits'} {', '.join(map(str, numbers))}: {cut(summary, SUMMARY)}"
        for summary, numbers in told[:LINES]
    ]
    return lines if len(told) <= LINES else [*lines, f"… and {len(told) - LINES} more kinds of bits"]

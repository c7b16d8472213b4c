"""Why did this match? Two codes bit by bit, and what the bits that agree stand for."""

from collections.abc import Iterable, Sequence

import numpy as np
import streamlit as st

from smfh.asking import Answers
from smfh.jobs import Job
from smfh.plots import bit_strips
from smfh.study import Trained
from smfh.topics import BitTopic
from smfh.types import BoolArray, MultimodalDataset, Split
from smfh.ui.bits.model import model_of, topics_of
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of
from smfh.ui.items import cut
from smfh.ui.search.asking import ask
from smfh.ui.search.link import Asked

CAPTION, SUMMARY = 80, 90  # characters shown
LINES = 12  # groups of bits that are told


def draw_why(
    job: Job[Trained], asked: Asked, answers: Answers, data: MultimodalDataset, split: Split
) -> None:
    """The chosen answer beside the question; nothing where none is chosen."""
    if asked.why is None:
        return
    places = np.flatnonzero(answers.rows == asked.why)
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
                args=(asked, data),
                kwargs={"why": None},
            )
        left, right = st.columns([1, 3], vertical_alignment="top")
        with left:
            _draw_result(asked.why, place, answers, data)
        with right:
            show_chart(bit_strips(answers.code, answers.codes[place]), "search_why")
        _draw_meaning(topics_of(model_of(job, data, split)), answers.code, answers.codes[place])


def _draw_result(row: int, place: int, answers: Answers, data: MultimodalDataset) -> None:
    said = caption_of(data, row)
    if data.thumbnails is not None:
        st.image(data.thumbnails[row], width=96, alt=said)
    st.text(cut(said, CAPTION))
    distance = int(answers.distances[place])
    tied = int(answers.counts.items[0, distance])
    st.text(f"#{place + 1} · {distance} {'bit' if distance == 1 else 'bits'} away")
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

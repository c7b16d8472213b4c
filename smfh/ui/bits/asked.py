"""The query that the map and the look-up show: the last one of the Search page, or one that was held out."""

from dataclasses import replace

import numpy as np
import streamlit as st

from smfh.asking import Answer
from smfh.runs import Run
from smfh.types import InputError
from smfh.ui.asked import Asked, answer_of, current_asked, pose
from smfh.ui.gallery import caption_of
from smfh.ui.items import cut

LAST = -1  # stands for the query of the Search page among the places of held-out queries
MOST_QUERIES = 500  # to choose from


def answer_asked(run: Run, asked: Asked) -> Answer:
    """The answer in the training database, which is what the map draws; ordered as on the other pages."""
    asked = replace(asked, database="training")
    return answer_of(run, pose(asked, run), asked)


def last_asked(run: Run) -> Asked | None:
    """What this visitor asked of this data on the Search page, if anything that can be asked."""
    asked, _ = current_asked(run)
    if asked.words is None and asked.row is None:
        return None
    try:
        pose(asked, run)
    except InputError:  # the Search page says what is wrong with it
        return None
    return asked


def words_of(run: Run, asked: Asked) -> str:
    """What is asked, for a person."""
    return asked.words or caption_of(run.data, asked.row or 0)


def choose_query(run: Run) -> Asked:
    """The last query of the Search page unless another one is chosen."""
    queries, last = run.split.queries, last_asked(run)
    what, way = st.columns([3, 2], vertical_alignment="bottom")
    spread = np.linspace(0, len(queries) - 1, min(len(queries), MOST_QUERIES)).astype(int).tolist()
    places = dict.fromkeys([run.typical_query(*run.directions[0]), *spread])

    def in_words(place: int) -> str:
        if place == LAST and last is not None:
            return cut(f"Last asked: {words_of(run, last)}")
        row = int(queries[place])
        return f"{cut(caption_of(run.data, row))} · item {row}"

    offered = [*([] if last is None else [LAST]), *places]
    place = what.selectbox("Query on the map", offered, format_func=in_words, key="space_query")
    asks_last = place == LAST and last is not None
    source, target = way.selectbox(
        "Direction",
        run.directions,
        format_func=" → ".join,
        key="space_direction",
        disabled=asks_last,
        help="The last question of the Search page keeps its own direction." if asks_last else None,
    )
    return last if asks_last and last is not None else Asked(source, target, row=int(queries[place]))

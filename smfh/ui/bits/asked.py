"""The query that the map and the look-up show: the last one of the Search page, or one that was held out."""

from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from smfh.hamming import pack
from smfh.study import typical_query, usual_direction
from smfh.types import BoolArray, InputError, IntArray, Words
from smfh.ui.bits.model import Model
from smfh.ui.gallery import caption_of, shortened
from smfh.ui.search.asking import KEPT, answers_of, pose
from smfh.ui.search.link import read_asked

DIRECTION, QUERY = "space_direction", "space_query"
LAST = -1  # stands for the query of the Search page among the places of held-out queries
MOST_QUERIES = 500  # to choose from


@dataclass(frozen=True, eq=False)
class Marked:
    """A query with its code, the items nearest to it, and how far the whole database lies."""

    caption: str
    source: str
    target: str
    code: Words  # (words,)
    rows: IntArray  # of the data set, nearest first
    distances: IntArray  # as many
    relevance: BoolArray | None  # as many; None where nobody knows what is right
    items_at: IntArray  # (bits + 1,)
    relevant_at: IntArray  # (bits + 1,)


def held_out(model: Model, source: str, target: str, place: int) -> Marked:
    """A query by its place among those that were never trained on."""
    row = int(model.split.queries[place])
    ranking = model.job.result.results[source, target, "training"].ranking
    return Marked(
        caption=caption_of(model.data, row),
        source=source,
        target=target,
        code=model.hasher.functions[source].encode(model.data.modalities[source][[row]])[0],
        rows=ranking.indices[place],
        distances=ranking.distances[place],
        relevance=ranking.relevance[place],
        items_at=ranking.counts.items[place],
        relevant_at=ranking.counts.relevant[place],
    )


def last_asked(model: Model) -> Marked | None:
    """What this visitor asked of this data on the Search page, if anything."""
    fingerprint, told = st.session_state.get(KEPT, (None, {}))
    if fingerprint != model.data.fingerprint:
        return None
    asked = replace(read_asked(told, model.data, model.hasher.bits)[0], database="training", ties="database")
    if asked.words is None and asked.row is None:
        return None
    try:
        posed = pose(asked, model.job.result, model.data, model.split)
    except InputError:  # the Search page says what is wrong with it
        return None
    found = answers_of(model.job, posed, asked, model.data, model.split)
    return Marked(
        caption=asked.words or caption_of(model.data, asked.row or 0),
        source=asked.source,
        target=asked.target,
        code=pack(found.code[None])[0],
        rows=found.rows,
        distances=found.distances,
        relevance=found.relevance,
        items_at=found.counts.items[0],
        relevant_at=found.counts.relevant[0],
    )


def choose_query(model: Model) -> Marked:
    """The last query of the Search page unless another one is chosen."""
    trained, queries = model.job.result, model.split.queries
    what, way = st.columns([3, 2], vertical_alignment="bottom")
    last, usual = last_asked(model), usual_direction(trained)
    typical = typical_query(trained.results[*usual, "training"])
    spread = np.linspace(0, len(queries) - 1, min(len(queries), MOST_QUERIES)).astype(int).tolist()
    places = [*([] if last is None else [LAST]), *dict.fromkeys([typical, *spread])]

    def words(place: int) -> str:
        if place == LAST and last is not None:
            return shortened(f"Last asked: {last.caption}")
        row = int(queries[place])
        return f"{shortened(caption_of(model.data, row))} · item {row}"

    place = what.selectbox("Query on the map", places, format_func=words, key=QUERY)
    directions = [usual, *(pair for pair in trained.hasher.directions if pair != usual)]
    asks_last = place == LAST and last is not None
    source, target = way.selectbox(
        "Direction",
        directions,
        format_func=lambda pair: f"{pair[0]} → {pair[1]}",
        key=DIRECTION,
        disabled=asks_last,
        help="The last question of the Search page keeps its own direction." if asks_last else None,
    )
    return last if asks_last and last is not None else held_out(model, source, target, int(place))

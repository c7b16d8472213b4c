"""The search box of Explore, the query's code, the results as a wall of pictures, and the map of codes.

Code and wall are drawn in the browser (wall.js): a click on a picture searches with it, a click on a bit
flips it. Each click changes the search state, which is part of the link, so Back returns to the former query.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from smfh.hashing import FittedHasher
from smfh.jobs import OVER
from smfh.retrieval.search import TIES, SearchResults, search, text_modalities
from smfh.runs import Run
from smfh.types import BoolArray, InputError, MultimodalDataset
from smfh.ui.address import go
from smfh.ui.canvas import draw_code_map
from smfh.ui.items import caption_of, cut, draw_terms, in_bits, labels_of, looks_of, picture_url, short_caption
from smfh.ui.page import PAGES, REDRAW_SECONDS, SLOW_REDRAW_SECONDS
from smfh.ui.plain import plain
from smfh.ui.search_state import (
    SearchState,
    change_search,
    current_search_state,
    describe_nearest,
    draw_filters,
    draw_random_button,
    draw_unknown_words,
    draw_word_box,
    make_query,
    results_of,
    save_search_state,
    searched_items,
)
from smfh.ui.server import snapshots_of
from smfh.ui.session import REQUESTED_REPLAY, CurrentRun, finished_run

WALL, MAP, ITERATION = "wall", "explore_map", "wall_iteration"  # session keys
WALL_ITEMS = 24
DIMMED_WALL = ".st-key-wall { opacity: .5; }"  # until the run that trains has results
NAME_CHARACTERS = 200
WALL_HELP = "A blue line joins items at the same distance. Click a picture to search with it, a bit to flip it."
DISTANCE_NOTES = {
    "hamming": "Hamming distance: the number of bits that differ",
    "asymmetric": "asymmetric distance: each bit that differs is weighted by how certain it is in the query's code",
}
TIE_NOTES = {"likeness": "similar first", "database": "database order"}
_WALL = st.components.v2.component(
    "smfh_wall",
    isolate_styles=False,  # the style of the page dims it
    **{kind: Path(__file__).with_name(f"wall.{kind}").read_text("utf-8") for kind in ("html", "css", "js")},
)


def draw_first_wall(current: CurrentRun) -> None:
    """Draw search box and results during a visitor's first run, as soon as it has a snapshot."""
    if frames := snapshots_of(current.job.key).frames():
        draw_wall(Run(current.key, current.settings.source, *current.loaded, frames[-1]), current)
        return

    @st.fragment(run_every=REDRAW_SECONDS if current.job.state in ("queued", "running") else None)
    def wait() -> None:
        st.text("Pictures appear after the first iteration.")
        if len(snapshots_of(current.job.key)):
            st.rerun()

    wait()


@st.fragment
def draw_wall(run: Run, current: CurrentRun) -> None:
    """Draw search box, results, slider over iterations, and map, as a fragment of the page.

    While a run on the same data trains, the wall shows the results of its latest snapshot.
    """
    state, _ = current_search_state(run)
    save_search_state(state, run)
    state = with_example(state, run)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", key="explore_box"):
        if text_modalities(run.data):
            draw_word_box(state, run, "Type words", label_visibility="collapsed")
        draw_filters(state, run, label_visibility="collapsed")
        draw_random_button("explore_any", state, run)
        about = "Open in Search: other distances, uploads, and why results match."
        if st.button("Open in Search", "explore_search", about, icon=":material/open_in_new:"):
            save_search_state(state, run)
            go(PAGES["Search"].script, PAGES["Search"].prefix)
    wall = st.container(key="wall_place")
    with wall, st.container(gap="xsmall"):
        draw_unknown_words(state, run)
    is_live = current.state not in OVER
    is_followed = (current.key.data, current.key.split) == (run.key.data, run.key.split)
    with st.container(key="wall_iterations"):
        if is_live:
            st.caption("The results are updated after each iteration." if is_followed else "Results of the last run.")
        chosen = None if is_live else _choose_snapshot(run)

    @st.fragment(run_every=SLOW_REDRAW_SECONDS if is_live else None)
    def draw() -> None:
        clicked = with_example(current_search_state(run)[0], run)
        frames = snapshots_of(current.job.key).frames() if is_live and is_followed else ()
        st.html(f"<style>{DIMMED_WALL if is_live and not frames else ''}</style>")
        _draw_results(run, clicked, frames[-1] if frames else chosen)
        if clicked != state:  # a click redraws this part first, then the page
            st.rerun()

    with wall:
        draw()
    _draw_map(run, state, is_live or chosen is not None)
    draw_terms(run.data)


def _draw_map(run: Run, state: SearchState, is_partial: bool) -> None:
    """Draw an expander with the map of codes, on which the query and its results are marked."""
    label = "Map of codes with this query and its results"
    with st.expander(label, icon=":material/scatter_plot:", key=MAP, on_change="rerun") as expander:
        if not expander.open:
            return
        if is_partial:
            st.caption(
                "The map shows the final codes; it appears when the run has finished and its last iteration is shown."
            )
            return
        try:
            results = results_of(run, make_query(state, run), state)
        except InputError:  # shown in place of the wall
            return
        draw_code_map(run, "PCA", results, "explore_codes", lambda row: pick(state, run, row))
        st.caption("Click a picture to search with it.")


def _choose_snapshot(run: Run) -> FittedHasher | None:
    """Draw a slider over iterations, or a replay button; return the chosen snapshot, or None for the last one."""
    finished = finished_run()
    snapshots = () if finished is None else snapshots_of(finished.job.key).frames()
    if len(snapshots) < 2:
        if run.method.steps > 1 and finished is not None and not finished.is_private:
            label, icon = "Replay training", ":material/movie:"
            about = "Train this run again, with the same result, and record the results after each step."
            if st.button(label, "watch", about, icon=icon, type="tertiary"):
                st.session_state[REQUESTED_REPLAY] = True
                st.rerun()
        return None
    iterations = [snapshot.trace[-1].iteration for snapshot in snapshots]
    if st.session_state.get(ITERATION) not in iterations:
        st.session_state[ITERATION] = iterations[-1]
    about = "Results of the model after this iteration."
    chosen = st.select_slider("Iteration", iterations, key=ITERATION, help=about)
    return None if chosen == iterations[-1] else snapshots[iterations.index(chosen)]


def with_example(state: SearchState, run: Run) -> SearchState:
    """Return the search state; if it has no query, add the data set's example or a held-out query."""
    if state.words is not None or state.row is not None:
        return state
    if state.source in text_modalities(run.data):
        return replace(state, words=run.source.card.example or None)
    return replace(state, row=int(run.split.queries[0]))


def _draw_results(run: Run, state: SearchState, snapshot: FittedHasher | None) -> None:
    """Draw the query's code, the results and a summary, or the reason why the query cannot be used.

    The results are those of `snapshot`, or of the finished run if it is None.
    """
    try:
        query = make_query(state, run)
        if snapshot is None:
            results = results_of(run, query, state)
        else:
            how = (state.target, state.database, state.ties, state.flips)
            results = search(snapshot, run.data, run.split, query, *how, distance=state.distance)
    except InputError as error:
        st.text("\n".join(error.problems))
        return

    def picked() -> None:
        pick(state, run, st.session_state[WALL].picked)

    def flipped() -> None:
        change_search(state, run, flips=valid_flips(st.session_state[WALL].flips, run.hasher.bits))

    content = wall_content(run.data, results, state)
    _WALL(data=content, key=WALL, on_picked_change=picked, on_flips_change=flipped)
    st.caption(f"{plain(describe_wall(results, state))} {WALL_HELP}")


def pick(state: SearchState, run: Run, row: Any) -> None:
    """Search with the item in this row, by its picture if it has one; ignore rows that do not exist."""
    if not isinstance(row, int) or not 0 <= row < len(run.data):
        return
    source = "image" if "image" in run.data.modalities else state.target
    target = state.source if state.target == source else state.target
    change_search(state, run, words=None, row=row, also=(), source=source, target=target)


def valid_flips(sent: Any, bits: int) -> tuple[int, ...]:
    """Return the bits that the visitor flipped, in order, as the browser sent them; ignore invalid numbers."""
    flips = sent if isinstance(sent, list) else []
    return tuple(sorted({bit for bit in flips if isinstance(bit, int) and 0 <= bit < bits}))


def wall_content(data: MultimodalDataset, results: SearchResults, state: SearchState) -> dict[str, Any]:
    """Return the data that wall.js draws: the query and its code, and the results in groups.

    It has no lists, because Streamlit imports pandas to check whether a list is a data frame.
    """
    query, rows = results.query, results.rows[:WALL_ITEMS].tolist()
    pictures, (groups, labels) = looks_of(data, rows, results.target), group_results(results, len(rows))
    relevant = [True] * len(rows) if results.relevance is None else results.relevance[: len(rows)].tolist()
    items = [
        {
            "row": row,
            "name": cut(caption_of(data, row), NAME_CHARACTERS),
            "caption": cut(short_caption(caption_of(data, row)), NAME_CHARACTERS),
            "labels": cut(", ".join(labels_of(data, row)), NAME_CHARACTERS),
            "picture": picture_url(pictures[place]),
            "code": _digits(results.codes[place]),
            "group": groups[place],
            "label": labels[place],
            "relevant": relevant[place],
        }
        for place, row in enumerate(rows)
    ]
    asked = [f"“{short_caption(caption_of(data, query.row))}”"] if query.row is not None else []
    asked += [f"“{state.words}”"] if query.row is None and state.words is not None else []
    more = len(query.others) + len(query.pictures[:1] if not asked else [])
    asked += [f"{more} more" if asked else "your picture"] if more else []
    return {
        "asked": f"{query.source} {' + '.join(asked)} → {state.target}",
        "picture": None if query.row is None else picture_url(looks_of(data, [query.row], query.source)[0]),
        "code": _digits(results.code),
        "flips": state.flips,
        "weights": None if results.weights is None else tuple(results.weights.tolist()),
        "order": TIE_NOTES[state.ties],
        "items": tuple(items),
    }


def group_results(results: SearchResults, number: int) -> tuple[list[int], list[str]]:
    """Return a group number and a label for each of the first results; tied results share a group.

    Results whose name is the query come first, then results that contain its words, whatever their distance.
    Each of these two kinds forms one group.
    """
    distances, names = results.distances[:number], min(results.names, number)
    containing = min(names + results.containing, number)  # the place after the last of them
    new = np.ones(number, dtype=np.bool_)
    new[1:] = distances[1:] != distances[:-1]
    new[1:containing] = False
    new[[place for place in (names, containing) if place < number]] = True
    same = (results.codes[:number] == results.code).all(axis=1)
    distinct = np.unique(distances)
    decimals = next((d for d in (2, 3) if len(np.unique(distinct.round(d))) == len(distinct)), 4)
    labels = [
        "exact name"
        if place < names
        else "has all words"
        if place < containing
        else "same code"
        if same[place]
        else in_bits(distances[place])
        if results.distance == "hamming"
        else f"distance {distances[place]:.{decimals}f}"
        for place in range(number)
    ]
    return np.cumsum(new).tolist(), labels


def _digits(code: BoolArray) -> str:
    return "".join(map(str, code.astype(int)))


def describe_wall(results: SearchResults, state: SearchState) -> str:
    """Return a sentence about the results: what was searched, how near and relevant they are, order of ties."""
    parts = [searched_items(results, state), describe_nearest(results)]
    if results.relevance is not None:
        first = results.relevance[:WALL_ITEMS]
        query = results.query
        typed = bool(query.words) and query.row is None
        asked = "a class that your words name" if typed else "a class of the query"
        other = "another class; the scores compare items by the labels of the data set" if typed else "no common class"
        mark = "" if first.all() else f" (✗: {other})"
        parts.append(f"{np.count_nonzero(first)} of {len(first)} have {asked}{mark}")
    return " · ".join([*parts, DISTANCE_NOTES[results.distance], TIES[state.ties]])

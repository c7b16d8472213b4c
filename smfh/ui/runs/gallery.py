"""The gallery of saved runs: cards with the results of one query, and the comparison of two runs.

The models of the cards on the current page are read one after the other. Only what the cards show of them is
cached, so the memory that a gallery takes does not grow with the number or size of the runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from smfh.metrics import AP_DEFINITIONS
from smfh.retrieval.search import (
    MAX_CHARACTERS,
    Query,
    SearchResults,
    query_from_item,
    query_from_words,
    search,
    text_modalities,
)
from smfh.runs import RunRecord, text_to_image_first
from smfh.runs.run import median_query
from smfh.types import InputError, MultimodalDataset, Split
from smfh.ui.items import caption_of, cut, draw_gallery, draw_terms, in_bits, looks_of, mark_of
from smfh.ui.plain import plain
from smfh.ui.runs.model_file import check_fits
from smfh.ui.runs.saved_run import data_text, description, load_data, open_saved_run, settings_text
from smfh.ui.search_state import SearchState, adapt_state, default_search_state
from smfh.ui.server import remember, run_store
from smfh.ui.settings import ALWAYS, differences

COMPARED, PAGE = "runs_compared", "runs_page"  # session keys: ids of at most two runs, number of the page
PAGE_CARDS, CARD_RESULTS, COMPARED_RESULTS = 12, 6, 12
MAX_DATA_SETS = 3  # loaded for one page of cards
COLUMNS, CARD_PIXELS, COMPARED_PIXELS = 3, 320, 92  # cards per row; smallest width of a card and a result
PICTURE_PIXELS = 40  # of a result on a card, so that six fit in a row
LINE_WIDTH, LINE_HEIGHT, LINE_COLOUR = 144, 26, "#7b8fd6"  # of a sparkline, seen on light and dark pages
NOTE_CHARACTERS, CAPTION_CHARACTERS = 160, 48  # on a card
SCORE = "found"  # mAP@100
NO_MODEL = "Only scores: the file of this run has no model. Train it again to see its results."
TOO_MANY = (
    f"Only scores: the cards of one page show results on at most {MAX_DATA_SETS} data sets. Type the name of "
    "this data set into the search field."
)
DataKey = tuple[str, str]  # fingerprints of data set and split


@dataclass(frozen=True, eq=False)
class GalleryQuery:
    """The query that the cards of all runs on one data set use, and the loaded data."""

    title: str  # of the data set
    data: MultimodalDataset
    split: Split
    state: SearchState
    query: Query


@dataclass(frozen=True, eq=False)
class RunResults:
    """The first results that a query finds with a saved run, and the run's objective by iteration."""

    results: SearchResults
    objective: tuple[float, ...]  # of the first phase of training


def draw_cards(runs: Sequence[RunRecord]) -> None:
    """Draw the query of each data set, the comparison if two runs are selected, and a page of cards."""
    pages = -(-len(runs) // PAGE_CARDS)
    page = min(st.session_state.get(PAGE, 1), pages)
    shown = runs[PAGE_CARDS * (page - 1) : PAGE_CARDS * page]
    queries = _draw_queries(shown, runs)
    draw_comparison(queries)
    grid = st.grid(COLUMNS, min_column_width=CARD_PIXELS, border=True, key="runs_cards")
    for run in shown:
        with grid.cell(), st.container(gap="xsmall", height="stretch", key=f"runs_card_{run.id}"):
            _draw_card(run, queries.get(data_key(run), TOO_MANY))
    if pages > 1:
        key = f"runs_page_{page}"  # a new control for each page, as the page may also change by a search
        turn = lambda: st.session_state.update({PAGE: st.session_state[key]})  # noqa: E731
        st.pagination(pages, default=page, key=key, on_change=turn)
    for query in queries.values():
        if isinstance(query, GalleryQuery):
            draw_terms(query.data)


def data_key(run: RunRecord) -> DataKey:
    """Return a key that is equal for runs on the same data set and split."""
    return run.key.data, run.key.split


def _draw_queries(shown: Sequence[RunRecord], runs: Sequence[RunRecord]) -> dict[DataKey, GalleryQuery | str]:
    """Draw a query field for each data set of these runs; return the queries, or why there is none.

    The default query depends on the first of all `runs` on the data set, so it is the same on every page.
    """
    firsts = {data_key(run): run for run in reversed(runs) if run.model_arrays}
    keys = dict.fromkeys(data_key(run) for run in shown if run.model_arrays)
    queries: dict[DataKey, GalleryQuery | str] = {}
    lines = []
    with st.container(horizontal=True, key="runs_queries"):
        for key in list(keys)[:MAX_DATA_SETS]:
            try:
                queries[key] = one = _draw_query(firsts[key])
            except InputError as error:
                queries[key] = " ".join(["Only scores:", *error.problems])
                continue
            query, state = one.query, one.state
            what = state.words if query.row is None else caption_of(one.data, query.row)
            held_out = "" if query.row is None else " (held-out item)"
            way = f"{state.source} “{cut(what or '')}”{held_out} → {state.target}"
            lines.append(" · ".join([f"{one.title}: {way}", *query.notes]))
    st.text("\n".join(lines))
    return queries


def _draw_query(run: RunRecord) -> GalleryQuery:
    """Draw the field for a query of a run's data set: words, or the number of a held-out query if it has no text.

    Without words, the query is the example of the data set, or else the held-out query with the run's median AP.
    Raises InputError if the data set is not available or the words cannot be used as a query.
    """
    data, split = load_data(run)
    state, title = default_search_state(data), data_text(run)
    key, words, number = f"runs_query_{run.key.data[:12]}_{run.key.split[:12]}", None, 0
    way = (state.source, state.target, "training", "hamming")
    typical = median_query(run_store().scores(run, data, split, *way)) if way in run.searches else 0
    if text_modalities(data):
        example = run.source.card.example
        st.session_state.setdefault(key, example)
        hint, icon = example or "Type words, or leave empty for a typical held-out item", ":material/search:"
        label, limit = f"Query for {plain(title)}", MAX_CHARACTERS
        typed = st.text_input(label, key=key, max_chars=limit, placeholder=hint, icon=icon)
        words, number = (typed or "").strip() or example or None, typical
    else:
        st.session_state.setdefault(key, 1 + typical)
        label = f"Held-out query for {plain(title)}, 1 to {len(split.queries):,}"
        number = int(st.number_input(label, 1, len(split.queries), key=key)) - 1
    if words is None:
        row = int(split.queries[number])
        state, query = replace(state, row=row), query_from_item(data, state.source, row)
    else:
        state = adapt_state(replace(state, words=words), data)
        query = query_from_words(data, state.source, words, state.interpret)
    return GalleryQuery(title, data, split, state, query)


def run_results(run: RunRecord, asked: GalleryQuery | str) -> RunResults | str:
    """Return the results of a query with a saved run, cached, or a message why there are none."""
    if not run.model_arrays:
        return NO_MODEL
    if isinstance(asked, str):
        return asked
    data, split, state, query = asked.data, asked.split, asked.state, asked.query

    def read() -> RunResults:
        train = data.take(split.train) if run_store().is_shipped(run) else None
        hasher = run_store().hasher(run, train)
        check_fits(hasher, data, split)
        how = (state.target, state.database, state.ties, (), COMPARED_RESULTS, state.distance)
        steps = [step.objective for step in hasher.trace if step.phase == hasher.trace[0].phase]
        return RunResults(search(hasher, data, split, query, *how), tuple(steps))

    try:
        return remember(("results of a saved run", run.id, run.when, query.identity, state.target), read)
    except InputError as error:
        return " ".join(["Only scores:", *error.problems])


def _draw_card(run: RunRecord, asked: GalleryQuery | str) -> None:
    """Draw the card of a run: title, settings, note, first results, scores, convergence and buttons."""
    st.text(" · ".join(filter(None, [f"“{run.title}”" if run.title else "", settings_text(run)])))
    st.text(data_text(run))
    if run.note:
        st.caption(plain(cut(run.note, NOTE_CHARACTERS)))
    found = run_results(run, asked)
    if isinstance(found, str) or isinstance(asked, str):
        st.caption(plain(str(found)))
    else:
        results, data = found.results, asked.data
        rows, relevance = results.rows[:CARD_RESULTS].tolist(), results.relevance
        captions = [f"{mark_of(relevance, k)}{caption_of(data, row)}" for k, row in enumerate(rows)]
        if data.thumbnails is None:
            st.text("\n".join(cut(caption, CAPTION_CHARACTERS) for caption in captions))
        else:
            with st.container(horizontal=True, gap="xsmall"):
                for picture, caption in zip(looks_of(data, rows, results.target), captions, strict=True):
                    st.image(picture, width=PICTURE_PIXELS, alt=caption)
        if relevance is not None:
            st.text(f"{np.count_nonzero(relevance[: len(rows)])} of {len(rows)} are relevant")
    st.text(scores_text(run))
    if isinstance(found, RunResults) and len(found.objective) > 1:
        first, *_, last = found.objective
        text = f"objective {first:.4g} → {last:.4g} in {len(found.objective)} iterations"
        with st.container(gap=None):
            st.image(sparkline(found.objective), width=LINE_WIDTH, alt=f"Line: {text}")
            st.caption(text)
    with st.container(horizontal=True, gap="xsmall", height="stretch", vertical_alignment="bottom"):
        icon, compared = ":material/open_in_new:", list(st.session_state.get(COMPARED, ()))
        opens = st.button("Open in Explore", f"runs_open_{run.id}", icon=icon)
        if run.id in compared:
            label, icon, ids = "Deselect", ":material/check:", [one for one in compared if one != run.id]
        else:
            label, icon, ids = "Compare", ":material/compare:", [*compared, run.id]
        st.button(label, f"runs_compare_{run.id}", on_click=select_to_compare, args=(ids,), icon=icon)
    if opens:
        open_saved_run(run)


def scores_text(run: RunRecord) -> str:
    """Return the mAP@100 of a saved run (Hamming distance, first two directions) as text, one per line."""
    label, ways = AP_DEFINITIONS[SCORE].label, text_to_image_first(run.directions)[:2]
    scores = {" → ".join(way): run.headline(*way).get(SCORE) for way in ways}
    lines = [f"{label} {way} {score:.3f}" for way, score in scores.items() if score is not None]
    return "\n".join([*lines, "by Hamming distance"]) if lines else "Not scored"


def sparkline(values: Sequence[float]) -> str:
    """Return a small line chart of the values as an SVG image."""
    heights = np.nan_to_num(np.array(values, dtype=np.float64))
    across = np.linspace(1, LINE_WIDTH - 1, len(heights))
    down = 1 + (LINE_HEIGHT - 2) * (heights.max() - heights) / (np.ptp(heights) or 1.0)
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LINE_WIDTH}" height="{LINE_HEIGHT}">'
        f'<polyline points="{points}" fill="none" stroke="{LINE_COLOUR}" stroke-width="1.5"/></svg>'
    )


def select_to_compare(ids: Sequence[str]) -> None:
    """Compare the last two of these runs; earlier runs on another data set are left out (callback)."""
    runs = _records(ids)
    same = [run.id for run in runs if data_key(run) == data_key(runs[-1])]
    st.session_state[COMPARED] = same[-2:]
    if len(same) < len(runs):
        st.toast("Runs on different data sets cannot be compared. Only the last one stays selected.")


def _records(ids: Sequence[str]) -> list[RunRecord]:
    found = map(run_store().get, ids)
    return [run for run in found if run is not None]


def draw_comparison(queries: Mapping[DataKey, GalleryQuery | str]) -> None:
    """Draw the results of the two selected runs side by side; if one is selected, ask for another.

    The query is the one in `queries`; if there is none for this data set, a field for a query is drawn.
    """
    runs = _records(st.session_state.get(COMPARED, ()))
    if len(runs) < 2:
        if runs:
            st.caption("To compare two runs, select another run on the same data set.")
        return
    with st.container(border=True, key="runs_comparison"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader("Two runs, one query", anchor=False, width="content")
            end = lambda: st.session_state.pop(COMPARED, None)  # noqa: E731
            st.button("End comparison", "runs_compare_end", on_click=end, icon=":material/close:")
        asked = queries.get(data_key(runs[0]))
        if asked is None:
            asked = _draw_queries(runs, runs).get(data_key(runs[0]), NO_MODEL)
        before, after = (run.method for run in runs)
        changes = differences(before, after)
        if before.name != after.name:
            pairs = {name: (getattr(before, name), getattr(after, name)) for name in ALWAYS}
            changes += [f"{name} {old} → {new}" for name, (old, new) in pairs.items() if old != new]
        st.text(f"Different settings: {', '.join(changes) or 'none'}")
        found = [run_results(run, asked) for run in runs]
        both = [set(one.results.rows.tolist()) for one in found if isinstance(one, RunResults)]
        if len(both) == 2:
            st.text(f"Results in common: {len(both[0] & both[1])} of the first {len(both[0])}")
        for column, run, one in zip(st.columns(2, gap="large"), runs, found, strict=True):
            with column:
                if run.title:
                    st.text(f"“{run.title}”")
                st.text(f"{description(run)}\n{scores_text(run)}")
                if isinstance(one, str) or isinstance(asked, str):
                    st.caption(plain(str(one)))
                    continue
                results = one.results
                score = results.average_precision
                st.text("This query: not scored" if score is None else f"This query: AP@100 {score:.3f}")
                notes = [(in_bits(distance),) for distance in results.distances]
                key, rows = f"runs_compared_{run.id}", results.rows.tolist()
                draw_gallery(asked.data, rows, notes, key, results.relevance, results.target, COMPARED_PIXELS)

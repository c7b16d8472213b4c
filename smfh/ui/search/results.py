"""The results of a search: cards, explanations, results of other methods, distances and export."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from smfh.export.page import content_bytes, search_page, size_problem
from smfh.features.text import PIECE
from smfh.hamming import DISTANCES
from smfh.hashing import COMPARED, HashMethod, make_method
from smfh.jobs import Job
from smfh.plots import bit_strips, distance_histogram
from smfh.retrieval.bits import BitTopic
from smfh.retrieval.search import DATABASES, MAX_RESULTS, TIES, SearchResults, explain, explain_bits, text_modalities
from smfh.runs import Run, RunKey
from smfh.types import BoolArray, FloatArray, InputError
from smfh.ui.address import hold
from smfh.ui.charts import show_chart
from smfh.ui.items import (
    PICTURE_PIXELS,
    caption_of,
    cut,
    draw_gallery,
    draw_terms,
    in_bits,
    labels_of,
    looks_of,
    mark_of,
    top_words,
)
from smfh.ui.plain import plain
from smfh.ui.running import draw_progress, is_over, steer, watch_job
from smfh.ui.search_state import (
    DISTANCE_NAMES,
    SearchState,
    change_search,
    describe_nearest,
    draw_search_button,
    results_of,
    searched_items,
    topics_of,
    uploaded_files,
)
from smfh.ui.server import derive, job_queue, local_engine, private_key
from smfh.ui.session import RIVAL_JOBS, current_run, submit

PAGE_RESULTS, METHOD_RESULTS = 24, 8
METHOD_CARD_PIXELS = 92
COLUMNS, CARD_PIXELS = 6, 136  # cards per row, so that all rows are full; smallest width of a card
STYLE = """<style>
.st-key-search_results { grid-auto-rows: 1fr; }
.st-key-search_results img { aspect-ratio: 1; object-fit: contain; }
</style>"""  # cards of equal height, also while pictures load
CAPTION_CHARACTERS, LABELS_CHARACTERS, QUERY_CHARACTERS, SUMMARY_CHARACTERS = 90, 40, 300, 90
MAX_MEANINGS = 12  # lines
MAX_PARTS = 5  # items that can be added to a query
RADIUS = "search_radius"  # session key
REFUSED = "rivals_refused"  # session key: why a run could not be started
EXPORT_HELP = (
    "One HTML file with the codes, pictures and hash function of this run. It works in any browser, without "
    "a server or network, and gives the same results for exact words among the training items. The file is "
    "made when you click."
)


def draw_query(state: SearchState, results: SearchResults, run: Run) -> None:
    """Draw the query, its code, and a summary of the results."""
    query, data = results.query, run.data
    with st.container(horizontal=True, vertical_alignment="center", key="search_question"):
        _draw_query_picture(results, run)
        with st.container(gap="xxsmall"):
            st.text(_describe_query(state, results, run))
            if query.row is not None:
                is_held_out = query.row in run.split.queries
                pair = state.database == ("unseen" if is_held_out else "training")
                st.text(
                    f"item {query.row}, {'a held-out query' if is_held_out else 'a training item'}"
                    f"{'; its matching item is in the data' if pair else ''}"
                )
            digits = "".join(map(str, results.code.astype(int)))
            st.text(f"code {' '.join(digits[i : i + 8] for i in range(0, len(digits), 8))}")
            within = f"{results.count_within(state.radius):,} within radius {state.radius}"
            summary = [searched_items(results, state), describe_nearest(results), within]
            if results.relevance is not None:
                first = results.relevance[: state.number]
                summary.append(f"{np.count_nonzero(first)} of the first {len(first)} relevant")
                summary.append(f"AP@100 {results.average_precision:.3f}, {DISTANCE_NAMES[results.distance]} distance")
            st.text(" · ".join(summary))
    if results.is_unlike_all:
        st.warning("This picture is unlike anything in this data set. The results are guesses.")
    if query.classes is None:
        st.caption("Not scored: your query has no known class.")
    elif query.row is None:
        names = ", ".join(np.array(data.class_names)[query.classes])
        st.text(f"Relevant: items of a class named in your words ({cut(names, QUERY_CHARACTERS)})")


def _draw_query_picture(results: SearchResults, run: Run) -> None:
    """Draw the pictures of a query: those of its item and of uploads; a query of words has none."""
    query = results.query
    if query.row is not None:
        picture = looks_of(run.data, [query.row], query.source)[0]
        st.image(picture, width=PICTURE_PIXELS, alt="the query")
    if query.pictures:
        for file in uploaded_files():
            st.image(file, width=PICTURE_PIXELS, alt="the query")


def _describe_query(state: SearchState, results: SearchResults, run: Run) -> str:
    """Return the query as text: its words, or the caption and labels of the item."""
    row = results.query.row
    if row is None:
        pictures = len(results.query.pictures)
        parts = [f"“{state.words}”"] if state.words is not None else []
        parts += [] if not pictures else ["Your picture" if pictures == 1 else f"Your {pictures} pictures"]
        return " and ".join(parts)
    caption, labels = caption_of(run.data, row), ", ".join(labels_of(run.data, row))
    text = f"“{cut(caption, QUERY_CHARACTERS)}”"
    return f"{text} · {labels}" if labels not in ("", caption) else text


def draw_results(state: SearchState, results: SearchResults, run: Run) -> None:
    """Draw a page of results as cards, with buttons to search with a result and to explain it."""
    number = min(state.number, len(results.rows))
    pages = -(-number // PAGE_RESULTS)
    page = min(state.page, pages)
    ranks = range(PAGE_RESULTS * (page - 1), min(PAGE_RESULTS * page, number))
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(f"Results {ranks[0] + 1} to {ranks[-1] + 1} of {number}", width="content")
        if pages > 1:
            key = f"search_page_{page}"  # a new control for each page: this kind cannot be set from the link
            turn = lambda: change_search(state, run, page=st.session_state[key])  # noqa: E731
            st.pagination(pages, default=page, key=key, on_change=turn)
    all_relevant = results.relevance is None or results.relevance[ranks].all()
    st.caption(f"{DISTANCES[results.distance]} {TIES[state.ties]}" + ("" if all_relevant else " ✗: not relevant."))
    pictures = looks_of(run.data, results.rows[ranks].tolist(), results.target)
    st.html(STYLE)
    grid = st.grid(COLUMNS, min_column_width=CARD_PIXELS, border=True, key="search_results")
    for rank, picture in zip(ranks, pictures, strict=True):
        with grid.cell():
            _draw_card(state, results, run, rank, picture)
    draw_terms(run.data)


def _draw_card(state: SearchState, results: SearchResults, run: Run, rank: int, picture: bytes) -> None:
    """Draw one result: picture, caption, words if its modality has words, other labels, distance."""
    data, row, target = run.data, int(results.rows[rank]), results.target
    caption, labels = caption_of(data, row), ", ".join(labels_of(data, row))
    words = [] if target == "image" else top_words(data, row, target)
    words = [word for word in words if not word.startswith(PIECE)]
    classes = results.query.classes
    with st.container(gap="xxsmall", height="stretch"):
        if not words:
            st.image(picture, width=PICTURE_PIXELS, alt=caption)
        st.text(f"{mark_of(results.relevance, rank)}{cut(caption, CAPTION_CHARACTERS)}")
        if words:
            st.text(", ".join(words))
            st.image(picture, width=PICTURE_PIXELS // 2, alt=caption)
        if labels != caption and (classes is None or (data.labels[row] != classes).any()):
            st.text(f"▪ {cut(labels, LABELS_CHARACTERS)}")
        is_containing = results.names <= rank < results.names + results.containing
        st.text(f"{in_bits(results.distances[rank])} away{'; contains the words' if is_containing else ''}")
        with st.container(horizontal=True, gap="xsmall", height="stretch", vertical_alignment="bottom"):
            this = {"words": None, "row": row, "also": (), "source": target, "target": state.source}
            about = plain(f"Search with this item: {target} → {state.source}")
            look = {"type": "tertiary", "icon": ":material/search:", "help": about}
            draw_search_button(f"Use #{rank + 1}", f"search_with_{row}", state, run, this, **look)
            if state.row != row and row not in state.also and len(state.also) < MAX_PARTS:
                more = {"also": (*state.also, row)}
                about = "Add the picture of this item to the query."
                look = {"type": "tertiary", "icon": ":material/add:", "help": about}
                draw_search_button(f"Add #{rank + 1}", f"search_add_{row}", state, run, more, **look)
            look = {"type": "tertiary", "help": "Why did this match?"}
            draw_search_button(f"Why #{rank + 1}?", f"search_why_{row}", state, run, {"why": row}, **look)


def draw_why(state: SearchState, results: SearchResults, run: Run) -> None:
    """Draw the chosen result beside the query, why it matches, and in an expander their codes bit by bit."""
    if (row := state.why) is None:
        return
    if row not in results.rows:
        st.text(f"Item {row} is not among the results. Press “Why” on one of the results below.")
        return
    rank = results.rows.tolist().index(row)
    code, caption = results.codes[rank], caption_of(run.data, row)
    with st.container(border=True, key="search_why"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.subheader("Why did this match?", anchor=False)
            look = {"icon": ":material/close:", "type": "tertiary"}
            draw_search_button("Close", "search_why_close", state, run, {"why": None}, **look)
        query, result, reasons = st.columns([1, 1, 4])
        with query:
            st.markdown("**Query**")
            _draw_query_picture(results, run)
            st.text(cut(_describe_query(state, results, run), CAPTION_CHARACTERS))
        with result:
            st.markdown(f"**Result #{rank + 1}**")
            st.image(looks_of(run.data, [row], results.target)[0], width=PICTURE_PIXELS, alt=caption)
            st.text(cut(caption, CAPTION_CHARACTERS))
            st.text(f"{in_bits(results.distances[rank])} away by {DISTANCE_NAMES[results.distance]} distance")
        with reasons:
            st.text("\n".join(explain(run.data, results, rank)))
        with st.expander("Bits of both codes", icon=":material/grid_on:"):
            st.text(explain_bits(results, rank))
            _draw_bits(results, code, run)


def _draw_bits(results: SearchResults, code: BoolArray, run: Run) -> None:
    """Draw the codes of query and result, weights of differing bits, and topics of bits that are on."""
    show_chart(bit_strips(results.code, code, results.weights), "search_why")
    if results.weights is not None and (results.code != code).any():
        st.text(weight_sum(results.weights, results.code != code))
        st.caption(f"A bit's weight is the query's distance from that bit's threshold; the weights sum to {len(code)}.")
    for title, chosen in (
        ("Bits on in both codes", results.code & code),
        ("Bits on only in the query", results.code & ~code),
        ("Bits on only in the result", ~results.code & code),
    ):
        bits = [topic for topic in topics_of(run) if chosen[topic.number] and topic.kind != "dead"]
        if bits:
            st.markdown(f"**{title}**")
            st.text("\n".join(meaning_lines(bits)))


def weight_sum(weights: FloatArray, differ: BoolArray) -> str:
    """Return an asymmetric distance as text: the sum of the weights of the differing bits, heaviest first."""
    bits = sorted(np.flatnonzero(differ).tolist(), key=lambda bit: -weights[bit])
    parts = [f"{weights[bit]:.2f} (bit {bit})" for bit in bits[:MAX_MEANINGS]]
    if len(bits) > MAX_MEANINGS:
        rest = float(weights[bits[MAX_MEANINGS:]].sum())
        parts.append(f"{rest:.2f} ({len(bits) - MAX_MEANINGS} more)")
    return f"{weights[differ].sum():.2f} bits = {' + '.join(parts)}"


def meaning_lines(bits: Iterable[BitTopic]) -> list[str]:
    """Return a line for each meaning with its bits, such as `bits 3, 17: animal, mammal`; most bits first."""
    groups: dict[str, list[int]] = {}
    for bit in bits:
        groups.setdefault(bit.summary, []).append(bit.number)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[1]))
    lines = [
        f"{'bit' if len(numbers) == 1 else 'bits'} {', '.join(map(str, numbers))}: {cut(summary, SUMMARY_CHARACTERS)}"
        for summary, numbers in ordered[:MAX_MEANINGS]
    ]
    more = len(ordered) - MAX_MEANINGS
    return [*lines, f"… and {more} more meanings"] if more > 0 else lines


def draw_methods(state: SearchState, results: SearchResults, run: Run) -> None:
    """Draw a row of results for each method, the current one first, and buttons that train other methods."""
    st.subheader("The same query with other methods", anchor=False)
    st.caption(
        f"Same bits and seed, otherwise defaults. AP@100 by {DISTANCE_NAMES[results.distance]} distance, with ties in "
        "database order; –: not scored; ✗: not relevant."
    )
    with st.container(border=True, key=f"search_method_{run.method.name}"):
        _draw_row(results, run)
    started: dict[RunKey, Job[Run]] = st.session_state.get(RIVAL_JOBS, {})
    untrained = []
    for name in [name for name in COMPARED if name != run.method.name]:
        method = make_method(name, bits=run.method.bits, seed=run.method.seed)
        run_key = replace(run.key, method=method)
        job: Job[Run] | None = job_queue().find(private_key(run.source, run_key)) or started.get(run_key)
        if job is None or job.state in ("cancelled", "failed"):
            untrained.append(method)
        if job is None or job.state == "cancelled":
            continue
        with st.container(border=True, key=f"search_method_{name}"):
            if job.state == "finished":
                _draw_row(results_of(job.result, results.query, replace(state, flips=())), job.result)
                continue
            st.markdown(f"**{method.title}**")
            if job.state == "failed":
                st.text("Training failed: " + " ".join(job.problems))
                continue
            key, icon = f"search_cancel_{name}", ":material/close:"
            st.button("Cancel", key, on_click=steer, args=(job.cancel,), icon=icon)
            watch_job(job, False, partial(draw_progress, job, method), is_over)
    for problem in st.session_state.pop(REFUSED, ()):
        st.error(plain(problem))
    icon = ":material/play_arrow:"
    with st.container(horizontal=True, vertical_alignment="center", key="search_missing"):
        for method in untrained:
            key = f"search_train_{method.name}"
            st.button(f"Train {method.title}", key, on_click=_train, args=([method],), icon=icon)
        if len(untrained) > 1:
            label, key = f"Train all {len(untrained)}", "search_train_all"
            st.button(label, key, on_click=_train, args=(untrained,), type="primary", icon=icon)


def _draw_row(results: SearchResults, run: Run) -> None:
    score = "–" if results.average_precision is None else f"{results.average_precision:.3f}"
    about, found = st.columns([1, 5], vertical_alignment="center")
    with about:
        st.markdown(f"**{run.method.title}**")
        st.text(f"AP@100 {score}")
    with found:
        rows, distances = results.rows[:METHOD_RESULTS].tolist(), results.distances[:METHOD_RESULTS]
        notes = [(in_bits(distance),) for distance in distances]
        key = f"method_{run.method.name}"
        draw_gallery(run.data, rows, notes, key, results.relevance, results.target, METHOD_CARD_PIXELS)


def _train(methods: list[HashMethod]) -> None:
    """Queue a run of each of these methods on the same data; the current run stays on the page."""
    if (current := current_run()) is None:
        return
    before: dict[RunKey, Job[Run]] = st.session_state.get(RIVAL_JOBS, {})
    started = {key: job for key, job in before.items() if job.state != "finished"}
    st.session_state[RIVAL_JOBS] = started
    try:
        for method in methods:
            job = submit(replace(current.settings, method=method), current.loaded)
            started[replace(current.key, method=method)] = job
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def draw_distances(state: SearchState, results: SearchResults, run: Run) -> None:
    """Draw a histogram of the items by distance, with a slider for the lookup radius."""
    bits = run.hasher.bits
    key = hold(f"{RADIUS}_{bits}", min(state.radius, bits))  # a slider with another range is another widget
    st.subheader("Distances to all items", anchor=False)
    radius = st.slider(
        "Radius",
        0,
        bits,
        key=key,
        on_change=lambda: change_search(state, run, radius=st.session_state[key]),
        help="A hash-table lookup returns the items within this distance.",
    )
    chart = distance_histogram(results.counts, radius, relevance_known=results.relevance is not None)
    show_chart(chart, "search_distances")
    st.caption(f"{DATABASES[state.database]} The first {MAX_RESULTS} results can be shown.")


def draw_export(state: SearchState, run: Run) -> None:
    """Draw a button that exports a search by words as one HTML file, if the data supports it."""
    texts = text_modalities(run.data)
    if not texts or state.target in texts or run.data.dtype != "float32":
        return
    how = (state.source if state.source in texts else texts[0], state.target, state.ties)
    size = derive(run, ("page", how), lambda: content_bytes(run.data, run.split, *how))
    if too_large := size_problem(size, state.ties):
        st.caption(f"Too large to export. {too_large}")
        return
    st.download_button(
        "Export this search as one HTML file",
        lambda: make_page(run, *how, state.distance),
        f"smfh_{run.data.name}_{run.hasher.bits}_bits.html",
        "text/html",
        "search_page",
        icon=":material/download:",
        help=EXPORT_HELP,
        on_click="ignore",
    )


def make_page(run: Run, source: str, target: str, ties: str, distance: str) -> str:
    """Return the HTML file, made in another process so that no other page waits for it."""
    return local_engine().call(search_page, run.hasher, run.data, run.split, source, target, ties, distance)

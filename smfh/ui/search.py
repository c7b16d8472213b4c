"""The Search page: the form, the query, its results as cards, why they match, other methods, distances, export."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from smfh.export.page import content_bytes, search_page, size_problem
from smfh.features.text import PIECE
from smfh.hamming import DISTANCES
from smfh.hashing import COMPARED, HashMethod, make_method
from smfh.jobs import Job
from smfh.plots import bit_strips, distance_histogram
from smfh.retrieval.search import (
    DATABASES,
    MAX_PICTURE_BYTES,
    MAX_RESULTS,
    TIES,
    SearchResults,
    explain,
    explain_bits,
    find_fewest_flips,
    picture_modalities,
    text_modalities,
)
from smfh.runs import Run, RunKey
from smfh.types import BoolArray, InputError
from smfh.ui.address import draw_notes, hold
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
from smfh.ui.page import begin_run, draw_progress, is_over, steer, watch_job
from smfh.ui.plain import plain
from smfh.ui.search_state import (
    DISTANCE_NAMES,
    RESULT_COUNTS,
    UPLOAD,
    SearchState,
    change_search,
    current_search_state,
    derive_from_query,
    describe_nearest,
    draw_choice,
    draw_filters,
    draw_random_button,
    draw_search_button,
    draw_unknown_words,
    draw_word_box,
    make_query,
    results_of,
    save_search_state,
    searched_items,
    topics_of,
    uploaded_files,
)
from smfh.ui.server import derive, job_queue, local_engine, private_key
from smfh.ui.session import RIVAL_JOBS, current_run, submit

PICK, CODE, COMBINE, RADIUS = "search_pick", "search_code", "search_combine", "search_radius"  # session keys
REFUSED = "rivals_refused"  # session key: why a run could not be started
PART_PIXELS = 32  # width of the picture of an item that is part of a query
FORMATS = ("png", "jpg", "jpeg", "gif", "webp", "bmp")
MAX_OFFERED = 5_000  # queries in the list
OPTION_CHARACTERS = 70
TIE_ORDERS = {"likeness": "by similarity", "database": "in database order"}
CODE_HELP = "Highlighted bits are on. Click a bit to flip it: the results below use the code shown here."
NO_FLIPS = "No flips help: every relevant item has the same code as an item that is not relevant."
PAGE_RESULTS, METHOD_RESULTS = 24, 8
METHOD_CARD_PIXELS = 92
COLUMNS, CARD_PIXELS = 6, 136  # cards per row, so that all rows are full; smallest width of a card
STYLE = """<style>
.st-key-search_results { grid-auto-rows: 1fr; }
.st-key-search_results img { aspect-ratio: 1; object-fit: contain; }
</style>"""  # cards of equal height, also while pictures load
CAPTION_CHARACTERS, LABELS_CHARACTERS, QUERY_CHARACTERS, SUMMARY_CHARACTERS = 90, 40, 300, 90
MAX_TERMS = 12  # bits of a distance, or meanings
MAX_PARTS = 5  # items that can be added to a query
EXPORT_HELP = (
    "One HTML file with the codes, pictures and hash function of this run. It works in any browser, without "
    "a server or network, and gives the same results for exact words among the training items. The file is "
    "made when you click."
)


def draw_page() -> None:
    """Draw the Search page of the current run."""
    run = begin_run("Search", "Search with words, an item or a picture, and see why results match.")
    state, notes = current_search_state(run)
    draw_notes(notes)
    save_search_state(state, run)
    _draw_form(state, run)
    draw_unknown_words(state, run)
    try:
        results = results_of(run, make_query(state, run), state)
    except InputError as error:
        st.text("\n".join(f"✗ {problem}" for problem in error.problems))
        return
    for draw in (_draw_query, _draw_code, _draw_why, _draw_results, _draw_methods, _draw_distances):
        draw(state, results, run)
    _draw_export(state, run)


def _draw_form(state: SearchState, run: Run) -> None:
    """Draw the inputs of a query, its direction and its display; changes are written to the link."""
    data, queries = run.data, run.split.queries
    texts, pictures = text_modalities(data), picture_modalities(data)
    offered = queries[:MAX_OFFERED].tolist()

    def option(row: int) -> str:
        words = dict.fromkeys([caption_of(data, row), ", ".join(labels_of(data, row))])
        return f"{cut(' · '.join(words), OPTION_CHARACTERS)} · item {row}"

    def picked() -> None:
        if (row := st.session_state[PICK]) is not None:
            change_search(state, run, words=None, row=row, also=())

    columns = iter(st.columns([*[5] * bool(texts), 5, *[2] * bool(pictures), 2], vertical_alignment="bottom"))
    if texts:
        with next(columns):
            draw_word_box(state, run, "Words")
    next(columns).selectbox(
        f"{'or one' if texts else 'One'} of {len(queries):,} held-out queries",
        offered,
        key=hold(PICK, state.row if state.row in offered else None),
        format_func=option,
        placeholder="Choose one, or type to filter",
        on_change=picked,
    )
    if pictures:
        with next(columns), st.popover("Picture", icon=":material/upload:", width="stretch"):
            _draw_upload(state, run, {"words": None, "row": None, "also": (), "source": pictures[0]})
    with next(columns):
        draw_random_button("search_any", state, run, width="stretch")
    if state.also:
        with st.container(horizontal=True, vertical_alignment="center", key="search_also"):
            st.text("Combined with", width="content")
            for row in state.also:
                st.image(looks_of(data, [row], None)[0], width=PART_PIXELS, alt=caption_of(data, row))
                rest = tuple(other for other in state.also if other != row)
                label = f"Remove {plain(cut(caption_of(data, row), OPTION_CHARACTERS))}"
                look = {"type": "tertiary", "icon": ":material/close:"}
                draw_search_button(label, f"search_remove_{row}", state, run, {"also": rest}, **look)
    words = state.words if state.target in texts else None
    swapped = {"source": state.target, "target": state.source, "words": words}
    names, targets = list(data.modalities), [name for name in data.modalities if name != state.source]
    distances, ties = {"help": " ".join(DISTANCES.values())}, {"help": " ".join(TIES.values())}
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", key="search_ways"):
        draw_choice("From", "source", names, 110, state, run)
        look = {"icon": ":material/swap_horiz:", "help": "Search in the other direction."}
        draw_search_button("Swap", "search_turn", state, run, swapped, **look)
        draw_choice("To", "target", targets, 110, state, run)
        draw_filters(state, run)
        names_of = DISTANCE_NAMES.__getitem__
        draw_choice("Distance", "distance", DISTANCES, 135, state, run, format_func=names_of, **distances)
        draw_choice("Ties", "ties", TIES, 175, state, run, format_func=TIE_ORDERS.__getitem__, **ties)
        draw_choice("Results", "number", sorted({*RESULT_COUNTS, state.number}), 90, state, run)
    if not texts:
        st.caption("This data set does not support typed words. Choose a held-out item.")


def _draw_upload(state: SearchState, run: Run, picture: Mapping[str, Any]) -> None:
    """Draw the picture uploader; `picture` contains the changes that make the uploads the only query."""
    is_typed = state.words is not None or state.row is not None
    st.file_uploader(
        "Upload one or more pictures",
        FORMATS,
        accept_multiple_files=True,
        key=UPLOAD,
        on_change=lambda: change_search(state, run, **({} if state.with_uploads else picture)),
        max_upload_size=MAX_PICTURE_BYTES // 2**20,
    )
    st.caption("Pictures are not saved, and a link does not contain them.")
    if is_typed:
        st.toggle(
            "Combine with the words or the item",
            key=hold(COMBINE, state.with_uploads),
            on_change=lambda: change_search(state, run, with_uploads=st.session_state[COMBINE]),
        )
        if uploaded_files():
            draw_search_button("Search with pictures only", "search_upload_again", state, run, picture)


def _draw_code(state: SearchState, results: SearchResults, run: Run) -> None:
    """Draw the bits of the query's code as switches that flip them; flipped bits are part of the link."""
    on = results.code.nonzero()[0].tolist()
    flipped = f" · {in_bits(len(state.flips))} flipped" if state.flips else ""

    def changed() -> None:
        flips = set(state.flips) ^ set(on) ^ set(st.session_state[CODE])
        change_search(state, run, flips=tuple(sorted(flips)))

    def fix() -> None:
        query, how = results.query, (state.target, state.database)
        find = partial(find_fewest_flips, run.hasher, run.data, run.split, query, *how)
        flips = derive_from_query(run, query, ("fewest flips", how), find)
        if flips is None:
            st.toast(NO_FLIPS, icon=":material/block:")
        else:
            change_search(state, run, flips=tuple(flips.tolist()), distance="hamming")

    with st.expander(f"Edit the code{flipped}", icon=":material/edit:", expanded=bool(state.flips)):
        st.pills(
            "Bits of the query's code",
            range(len(results.code)),
            selection_mode="multi",
            key=hold(CODE, on),
            help=CODE_HELP,
            on_change=changed,
        )
        if state.flips:
            draw_search_button("Undo flips", "search_unflip", state, run, {"flips": ()}, icon=":material/undo:")
        elif results.relevance is not None and not results.relevance[0]:
            label = "Flip the fewest bits that bring a relevant item to the top by Hamming distance"
            st.button(label, key="search_mend", icon=":material/healing:", on_click=fix)


def _draw_query(state: SearchState, results: SearchResults, run: Run) -> None:
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


def _draw_results(state: SearchState, results: SearchResults, run: Run) -> None:
    """Draw a page of results as cards, with buttons to search with a result and to explain it."""
    number = min(state.number, len(results.rows))
    pages = -(-number // PAGE_RESULTS)
    page = min(state.page, pages)
    ranks = range(PAGE_RESULTS * (page - 1), min(PAGE_RESULTS * page, number))
    all_relevant = results.relevance is None or results.relevance[ranks].all()
    st.caption(
        f"Results {ranks[0] + 1} to {ranks[-1] + 1} of {number}. {DISTANCES[results.distance]} {TIES[state.ties]}"
        + ("" if all_relevant else " ✗: not relevant.")
    )
    if pages > 1:
        key = f"search_page_{page}"  # a new control for each page: this kind cannot be set from the link
        turn = lambda: change_search(state, run, page=st.session_state[key])  # noqa: E731
        st.pagination(pages, default=page, key=key, on_change=turn)
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


def _draw_why(state: SearchState, results: SearchResults, run: Run) -> None:
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
    differ = np.flatnonzero(results.code != code).tolist()
    if (weights := results.weights) is not None and differ:
        heaviest = sorted(differ, key=lambda bit: -weights[bit])
        parts = [f"{weights[bit]:.2f} (bit {bit})" for bit in heaviest[:MAX_TERMS]]
        if rest := heaviest[MAX_TERMS:]:
            parts.append(f"{weights[rest].sum():.2f} ({len(rest)} more)")
        st.text(f"{weights[differ].sum():.2f} bits = {' + '.join(parts)}")
        st.caption(f"A bit's weight is the query's distance from that bit's threshold; the weights sum to {len(code)}.")
    for title, chosen in (
        ("Bits on in both codes", results.code & code),
        ("Bits on only in the query", results.code & ~code),
        ("Bits on only in the result", ~results.code & code),
    ):
        meanings: dict[str, list[str]] = {}
        for topic in topics_of(run):
            if chosen[topic.number] and topic.kind != "dead":
                meanings.setdefault(topic.summary, []).append(str(topic.number))
        if meanings:
            ordered = sorted(meanings.items(), key=lambda one: -len(one[1]))
            lines = [
                f"{'bit' if len(bits) == 1 else 'bits'} {', '.join(bits)}: {cut(meaning, SUMMARY_CHARACTERS)}"
                for meaning, bits in ordered[:MAX_TERMS]
            ]
            more = [f"… and {len(ordered) - MAX_TERMS} more meanings"] if len(ordered) > MAX_TERMS else []
            st.markdown(f"**{title}**")
            st.text("\n".join([*lines, *more]))


def _draw_methods(state: SearchState, results: SearchResults, run: Run) -> None:
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
            if not job.over:
                key, icon = f"search_cancel_{name}", ":material/close:"
                st.button("Cancel", key, on_click=steer, args=(job.cancel,), icon=icon)
            watch_job(job, job.over, partial(draw_progress, job, method), is_over)
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


def _draw_distances(state: SearchState, results: SearchResults, run: Run) -> None:
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


def _draw_export(state: SearchState, run: Run) -> None:
    """Draw a button that exports a search by words as one HTML file, made by a worker, if the data supports it."""
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
        lambda: local_engine().call(search_page, run.hasher, run.data, run.split, *how, state.distance),
        f"smfh_{run.data.name}_{run.hasher.bits}_bits.html",
        "text/html",
        "search_page",
        icon=":material/download:",
        help=EXPORT_HELP,
        on_click="ignore",
    )

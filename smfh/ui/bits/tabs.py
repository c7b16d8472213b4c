"""The map of codes, lookup within a radius, buckets, and the worst and best queries."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from smfh.plots import Curve, bucket_sizes, confusion, harmless, hit_rate_by_radius, size_by_radius
from smfh.retrieval.bits import confusion_shares, display_modality, largest_classes
from smfh.retrieval.code_space import KINDS, Buckets, fill_buckets
from smfh.retrieval.search import SearchResults
from smfh.runs import Run
from smfh.types import InputError
from smfh.ui.address import go, hold
from smfh.ui.canvas import MAP_KIND, draw_code_map
from smfh.ui.charts import show_chart, show_charts
from smfh.ui.items import about_item, caption_of, cut, draw_gallery, in_bits, labels_of
from smfh.ui.page import PAGES
from smfh.ui.search_state import SearchState, current_search_state, make_query, results_of
from smfh.ui.server import derive

LAST_SEARCH = -1  # in a list of positions of held-out queries, stands for the query of the Search page
MAX_QUERIES = 500  # in the list
GALLERY_ITEMS, GALLERY_BUCKETS, COMMON_CLASSES = 12, 6, 3
RADIUS, DEFAULT_RADIUS = "look_up_radius", 2  # session key; bits
TABLE_RESULTS = 12  # of each query, among which the table counts the relevant ones
CONFUSION_RESULTS = 100
CLASSES = "query_classes"  # session key


@st.fragment
def draw_space(run: Run) -> None:
    """Draw the map of codes, items selected on it, lookup and buckets, as a fragment of the page."""
    left, right = st.columns([1, 4], vertical_alignment="bottom")
    kind = left.segmented_control("Map", list(KINDS), default="PCA", required=True, key=MAP_KIND) or "PCA"
    with right:
        # the map shows training items, the radius counts bits
        state = replace(_choose_query(run), database="training", distance="hamming")
    results = results_of(run, make_query(state, run), state)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        rows = draw_code_map(run, kind, results, "picture_map")
    with right:
        st.markdown("##### Brushed items")
        if rows:
            items = "1 item" if len(rows) == 1 else f"{len(rows):,} items"
            more = f", first {GALLERY_ITEMS} shown" if len(rows) > GALLERY_ITEMS else ""
            shares = run.data.labels[rows].mean(axis=0)
            common = [k for k in np.argsort(-shares, kind="stable")[:COMMON_CLASSES] if shares[k] > 0]
            classes = [f"{shares[k]:.0%} {run.data.class_names[k]}" for k in common]
            st.text(f"{items}{more}: {', '.join(classes)}")
            first = rows[:GALLERY_ITEMS]
            draw_gallery(run.data, first, [about_item(run.data, row) for row in first], "brushed")
        else:
            st.info("Drag over the map to show items here.", icon=":material/select_all:")
    _draw_radius(run, state, results)
    st.markdown("##### Buckets: items with identical codes")
    buckets = buckets_of(run)
    left, right = st.columns(2, gap="large")
    with left:
        show_chart(bucket_sizes(buckets.sizes), "buckets")
    with right:
        st.text("One item of each of the largest buckets")
        sizes = buckets.sizes[:GALLERY_BUCKETS]
        rows = [int(run.split.train[buckets.members(bucket)[0]]) for bucket in range(len(sizes))]
        draw_gallery(run.data, rows, [(f"{size:,} items",) for size in sizes], "buckets")


def _choose_query(run: Run) -> SearchState:
    """Draw a menu with the last search and the held-out queries; return the chosen one as a search."""
    queries, (last, _) = run.split.queries, current_search_state(run)
    has_last = last.words is not None or last.row is not None
    try:
        make_query(last, run)
    except InputError:  # the Search page shows what is wrong
        has_last = False
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    spread = np.linspace(0, len(queries) - 1, min(len(queries), MAX_QUERIES)).astype(int).tolist()
    places = dict.fromkeys([run.typical_query(*run.directions[0]), *spread])

    def option(place: int) -> str:
        if place == LAST_SEARCH:
            return cut(f"Last search: {_query_text(run, last)}")
        row = int(queries[place])
        return f"{cut(caption_of(run.data, row))} · item {row}"

    offered = [*([LAST_SEARCH] if has_last else []), *places]
    place = left.selectbox("Query on the map", offered, format_func=option, key="space_query")
    is_last = place == LAST_SEARCH
    source, target = right.selectbox(
        "Direction",
        run.directions,
        format_func=" → ".join,
        key="space_direction",
        disabled=is_last,
        help="The last search has its own direction." if is_last else None,
    )
    return last if is_last else SearchState(source, target, row=int(queries[place]))


def _query_text(run: Run, state: SearchState) -> str:
    return state.words or caption_of(run.data, state.row or 0)


def _draw_radius(run: Run, state: SearchState, results: SearchResults) -> None:
    """Draw a slider for the lookup radius, mean scores at this radius, and the items that the query finds."""
    st.markdown("##### Lookup within a radius")
    bits = run.hasher.bits
    default = min(DEFAULT_RADIUS, bits)
    radius = st.slider("Hamming radius (bits)", 0, bits, default, key=f"{RADIUS}_{bits}")
    scores = run.scores(results.query.source, results.target)
    within = scores.within
    with st.container(horizontal=True, key="radius_measures"):
        st.metric("Items found (mean)", f"{within.items[radius]:,.1f}")
        about = "Share of queries that find at least one relevant item."
        st.metric("Queries with a relevant item", f"{within.hits[radius]:.0%}", help=about)
        about = "Queries that find no items count as 0."
        st.metric("Precision (mean)", f"{within.precision[radius]:.3f}", help=about)
    items, relevant = results.count_within(radius), int(results.counts.relevant[0, : radius + 1].sum())
    hits = "" if results.relevance is None else f", {relevant:,} of them relevant"
    found = "1 item" if items == 1 else f"{items:,} items"
    st.text(f"“{cut(_query_text(run, state))}” finds {found} within radius {radius}{hits}")
    if items:
        near = min(items, GALLERY_ITEMS, len(results.rows))
        notes = [(in_bits(int(distance)),) for distance in results.distances[:near]]
        draw_gallery(run.data, results.rows[:near], notes, "radius", results.relevance)
        all_relevant = results.relevance is None or results.relevance[:near].all()
        st.caption(f"The {near} nearest items{'.' if all_relevant else '; ✗: not relevant.'}")
    else:
        st.info("No item is within this radius. Increase the radius.", icon=":material/open_in_full:")
    curves = [Curve(run.method.name, run.method.title, (scores,))]
    hit_rate, size = hit_rate_by_radius(curves, radius), size_by_radius(curves, radius)
    show_charts({"hit_rate": hit_rate, "look_up_size": size})


def buckets_of(run: Run) -> Buckets:
    """Return the items of the database grouped by their code, cached."""
    codes = run.hasher.database_codes[display_modality(run.hasher)]
    return derive(run, "buckets", lambda: fill_buckets(codes), "Counting codes …")


def draw_queries(run: Run) -> None:
    """Draw filters, a table of queries, and the confusion of classes; a click opens a query in Search."""
    data, queries = run.data, run.split.queries
    left, middle, right = st.columns([2, 2, 4], vertical_alignment="bottom")
    direction = left.selectbox("Direction", run.directions, format_func=" → ".join, key="query_direction")
    first = middle.segmented_control("First", ["Worst", "Best"], default="Worst", required=True, key="query_end")
    chosen = [name for name in st.session_state.get(CLASSES, []) if name in data.class_names]
    classes = right.multiselect("Classes", data.class_names, key=hold(CLASSES, chosen), placeholder="Any class")
    score = run.scores(*direction).average_precision["found"]
    results = derive(run, ("all results", direction), lambda: run.results(*direction, depth=CONFUSION_RESULTS))
    order = np.argsort(-score.by_query if first == "Best" else score.by_query, kind="stable")
    if classes:
        columns = [name in classes for name in data.class_names]
        order = order[data.labels[queries[order]][:, columns].any(axis=1)]
    if len(order):
        rows = queries[order].tolist()
        metric = score.definition.label.replace("mAP", "AP")
        st.text(f"{len(order):,} held-out queries by {metric}; click one to open it in Search")
        relevant = results.relevance[order, :TABLE_RESULTS].sum(axis=1)
        event: Any = st.dataframe(
            {
                "AP": score.by_query[order],
                "Query": [harmless(cut(caption_of(data, row))) for row in rows],
                "Labels": [harmless(", ".join(labels_of(data, row))) for row in rows],
                f"Relevant of the first {TABLE_RESULTS}": relevant,
                "Item": rows,
            },
            key="query_table",
            hide_index=True,
            height=360,
            on_select="rerun",
            selection_mode=["single-row", "single-cell"],
            column_config={"AP": st.column_config.NumberColumn(format="%.3f", help=score.definition.words)},
            alt=f"Table of {len(order)} queries with their average precision",
        )
        position = picked_row(event)
        if position is not None and position < len(order):
            source, target = direction
            search = PAGES["Search"]
            go(search.script, search.prefix, row=str(rows[position]), source=source, target=target)
    else:
        st.info("No query has these classes. Remove one.")
    largest = largest_classes(data.labels[queries])
    labels, names = data.labels[:, largest], [data.class_names[k] for k in largest]
    shares = confusion_shares(results.rows, labels[queries], labels)
    show_chart(confusion(shares, names, CONFUSION_RESULTS), "confusion")


def picked_row(event: Mapping[str, Any]) -> int | None:
    """Return the position of the selected table row, or of the row of the selected cell; None without one."""
    selection = event["selection"]
    rows = [*selection["rows"], *(cell[0] for cell in selection["cells"])]
    return int(rows[0]) if rows else None

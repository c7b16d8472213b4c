"""The Bits page: all bits as tiles, the chosen bit, the map of codes, and the worst and best queries."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from smfh import plots
from smfh.plots import Chart, Curve, Tile, harmless
from smfh.retrieval.bits import (
    AGREEMENT_KAPPA,
    FOLLOWS_DIFFERENCE,
    GROUP_CORRELATION,
    BitGroup,
    BitTopic,
    class_contrast,
    class_shares,
    confusion_shares,
    correlate,
    database_bits,
    display_modality,
    largest_classes,
)
from smfh.retrieval.classifiers import outermost_classes
from smfh.retrieval.code_space import KINDS, Buckets, fill_buckets
from smfh.retrieval.search import SearchResults
from smfh.runs import Run
from smfh.types import InputError, MultimodalDataset
from smfh.ui.address import Part, current, draw_notes, go, hold, keep, part_of, whole
from smfh.ui.canvas import MAP_KIND, draw_code_map
from smfh.ui.charts import picked_numbers, show_chart, show_charts, show_pickable
from smfh.ui.items import about_item, caption_of, cut, draw_gallery, draw_terms, in_bits, labels_of
from smfh.ui.page import PAGES, begin_run
from smfh.ui.search_state import SearchState, current_search_state, make_query, results_of, topics_of
from smfh.ui.server import derive

CONTROLS = "bit_"  # prefix of the keys of controls
NUMBER, TILES = "bit_number", "bit_tiles"  # session keys
TOPIC_ITEMS, MAX_TILE_CLASSES = 6, 3
MAX_GROUP_LINES = 8  # of the table of groups, before it scrolls
FIDELITY_GAP = 0.05  # smallest difference of two modalities at which the less faithful one is named
Topics = tuple[BitTopic, ...]  # one for each bit
ORDERS: dict[str, Callable[[BitTopic], Any]] = {
    "Number": lambda topic: topic.number,
    "Correlated bits together": lambda topic: (-len(topic.group), topic.group, topic.number),
    "Class": lambda topic: (topic.kind != "live", topic.classes[0][0], -topic.classes[0][1]),
    "Balance, most even first": lambda topic: (abs(topic.balance - 0.5), topic.number),
    "Agreement, highest first": lambda topic: (-topic.agreement, topic.number),
}
FILTERS = {"All": ("live", "echo", "dead"), "One bit per group": ("live",), "Dead or redundant": ("echo", "dead")}
KIND_NOTES = {
    "dead": "Dead bit: it is the same for all items, so it carries no information.",
    "twin": "Duplicate bit: it equals or mirrors an earlier bit, so it adds no information.",
}
LAST_SEARCH = -1  # in a list of positions of held-out queries, stands for the query of the Search page
MAX_QUERIES = 500  # in the list
GALLERY_ITEMS, GALLERY_BUCKETS, COMMON_CLASSES = 12, 6, 3
RADIUS, DEFAULT_RADIUS = "look_up_radius", 2  # session key; bits
TABLE_RESULTS = 12  # of each query, among which the table counts the relevant ones
CONFUSION_RESULTS = 100
CLASSES = "query_classes"  # session key


def draw_page() -> None:
    """Draw the Bits page of the current run; only the open tab is drawn."""
    run = begin_run("Bits", "See which classes switch a bit on, which bits are redundant, and a map of codes.")
    topics, sizes, bits = topics_of(run), buckets_of(run).sizes, run.hasher.bits
    items, enough = int(sizes.sum()), math.ceil(math.log2(max(len(sizes), 2)))
    codes = f"{items:,} items have {len(sizes):,} distinct codes (the most common: {sizes.max():,} items)"
    st.text(
        f"{codes if len(sizes) < items else f'Each of {items:,} items has its own code'}; {enough} bits would be "
        "enough to tell them apart. Without dead and near-duplicate bits, "
        f"{len(groups_of(topics))} of {bits} remain."
    )
    link, notes = current(chosen_part(topics), CONTROLS)
    draw_notes(notes)
    keep(chosen_part(topics), link)
    chosen = topics[link.bit]
    left, right = st.columns([6, 5], gap="large")
    with left:
        _draw_tiles(topics, chosen, run.data)
    with right:
        _draw_topic(topics, chosen, run.data)
    _draw_reasons(chosen)
    tabs = {"Classes and bits": _draw_matrices, "Map of codes": _draw_space, "Worst and best queries": _draw_queries}
    for tab, draw in zip(st.tabs(list(tabs), key="bits_tab", on_change="rerun"), tabs.values(), strict=True):
        with tab:
            if tab.open:
                draw(run)


@dataclass(frozen=True)
class ChosenBit:
    """The number of the chosen bit, which is part of the link."""

    bit: int


def chosen_part(topics: Topics) -> Part[ChosenBit]:
    """Return the Part of the link that holds the chosen bit; the default is the first live bit."""
    first = next((topic.number for topic in topics if topic.kind == "live"), 0)
    return part_of(ChosenBit(first), "bits.", about=f"{len(topics)} {first}", bit=whole(0, len(topics) - 1))


def choose_bit(topics: Topics, number: int) -> None:
    """Save this bit as the chosen one, in the session and the link."""
    keep(chosen_part(topics), ChosenBit(number))


def groups_of(topics: Topics) -> list[BitGroup]:
    """Return the groups of correlated bits, largest first."""
    return sorted({topic.group for topic in topics if topic.group}, key=lambda group: (-len(group), group))


def _draw_tiles(topics: Topics, chosen: BitTopic, data: MultimodalDataset) -> None:
    """Draw fields for order, filter and bit number, and the bits as tiles; a click chooses a bit."""

    def clicked() -> None:
        if numbers := picked_numbers(st.session_state[TILES]):
            choose_bit(topics, numbers[0])

    left, middle, right = st.columns([3, 2, 2], vertical_alignment="bottom")
    order = left.selectbox("Order", list(ORDERS), key="bit_order")
    kind = middle.selectbox("Show", list(FILTERS), key="bit_filter")
    right.number_input(
        "Bit",
        0,
        len(topics) - 1,
        key=hold(NUMBER, chosen.number),
        on_change=lambda: choose_bit(topics, st.session_state[NUMBER]),
    )
    outermost = {data.class_names[k] for k in outermost_classes(data.labels)}  # without the classes inside them
    tiles, shown = [], outermost if len(outermost) > 1 else set(data.class_names)
    for topic in arrange(topics, order, kind):
        strongest = [name for name, _ in topic.classes if name in topic.follows and name in shown]
        classes = tuple(sorted(data.class_names.index(name) for name in strongest[:MAX_TILE_CLASSES]))
        tiles.append(Tile(topic.number, kind_of(topic), topic.balance, classes, topic.summary, topic.repeats))
    if not tiles:
        st.info("No bit is dead or redundant.")
        return
    show_pickable(plots.bit_tiles(tiles, data.class_names, chosen.number), TILES, ("points",), clicked)
    st.caption(
        f"Click a tile to see its bit. A tile has the colours of the {MAX_TILE_CLASSES} classes (or groups of "
        "classes) that its bit follows most: it is on at least "
        f"{FOLLOWS_DIFFERENCE * 100:.0f} percentage points more often for items of that class than for other "
        "items. The bar shows the share of items for which the bit is on. “≈ 5” means correlated with bit 5 "
        f"(|correlation| ≥ {GROUP_CORRELATION}), “≈ −5” with its opposite."
    )


def kind_of(topic: BitTopic) -> str:
    """Return the kind of a bit: "dead", "echo" if it is correlated with an earlier bit, or "live"."""
    return "dead" if topic.kind == "dead" else "live" if topic.repeats is None else "echo"


def arrange(topics: Sequence[BitTopic], order: str, kind: str) -> list[BitTopic]:
    """Return the descriptions of the bits that pass the filter `kind`, sorted by `order`."""
    return sorted((topic for topic in topics if kind_of(topic) in FILTERS[kind]), key=ORDERS[order])


def _draw_topic(topics: Topics, chosen: BitTopic, data: MultimodalDataset) -> None:
    """Draw the classes, balance and agreement of a bit, and its items if the modalities agree."""
    st.subheader(f"Bit {chosen.number}", anchor=False)
    number, total = len(chosen.follows), len(chosen.classes)
    classes = f"On for {number} of {total} {'class' if total == 1 else 'classes'}: {', '.join(chosen.follows)}"
    st.text(classes if chosen.follows else "Follows no class.")
    if chosen.kind in KIND_NOTES:
        st.info(KIND_NOTES[chosen.kind], icon=":material/info:")
    about = (
        "How often two modalities of a held-out item give the same bit; "
        f"{chosen.chance:.0%} by chance. κ = {chosen.kappa:.2f} (0: chance, 1: always); words and items are "
        f"listed if κ is at least {AGREEMENT_KAPPA}."
    )
    with st.container(horizontal=True, key="bit_measures"):
        st.metric("Balance", f"{chosen.balance:.0%}", help="Share of the database with the bit on.")
        st.metric("Modalities agree", f"{chosen.agreement:.0%}", help=about)
    if not chosen.agrees:
        (low, worst), *_, (high, best) = sorted((share, name) for name, share in chosen.fidelity.items())
        which = f"all modalities match the database for at least {low:.0%} of the items"
        if high - low >= FIDELITY_GAP:
            which = f"{worst} matches the database for {low:.0%} of the items, {best} for {high:.0%}"
        st.text(
            f"No words or items are listed, because the modalities disagree on this bit (κ {chosen.kappa:.2f}, "
            f"below {AGREEMENT_KAPPA}). They agree on {chosen.agreement:.0%} of held-out items, "
            f"{chosen.chance:.0%} by chance; {which}."
        )
    elif chosen.rows:
        st.text("Items for which the bit is on most strongly, in every modality")
        rows = chosen.rows[:TOPIC_ITEMS]
        draw_gallery(data, rows, [about_item(data, row) for row in rows], "bit")
        draw_terms(data)
    same = chosen.group_others
    others = [(k, f"{rho:+.2f}".replace("-", "−")) for k, rho in chosen.relatives if k not in dict(same)]
    for title, key, bits in (
        (
            f"Correlated bits: |correlation| ≥ {GROUP_CORRELATION} between any two; together they count as one bit",
            "bit_together",
            [(k, "equal" if sign > 0 else "opposite") for k, sign in same],
        ),
        ("Most correlated of the other bits", "bit_relatives", others),
    ):
        if bits and chosen.group:
            st.text(title)
            with st.container(horizontal=True, key=key):
                for k, note in bits:
                    st.button(f"{k} ({note})", f"relative_{k}", on_click=choose_bit, args=(topics, k))


def _draw_reasons(topic: BitTopic) -> None:
    """Draw two charts side by side: the words and the classes that switch the bit on."""
    charts = {"bit_classes": plots.bit_classes(topic.number, topic.classes)}
    if topic.words and topic.agrees:
        modality = next(iter(topic.words))
        if len(topic.words) > 1:
            modality = st.selectbox("Modality of the words", list(topic.words), key="bit_words_of", width=240)
        charts = {"bit_words": plots.bit_words(topic.number, modality, topic.words[modality])} | charts
    show_charts(charts)
    if not topic.words:
        st.caption("This data set has no vocabulary, so bits are described by classes only.")


def _draw_matrices(run: Run) -> None:
    """Draw a table of groups of correlated bits, and charts of classes, correlation and balance."""
    topics = topics_of(run)
    groups = [group for group in groups_of(topics) if len(group) > 1]
    if groups:
        limit = f"|correlation| ≥ {GROUP_CORRELATION}"
        st.text(f"Groups of correlated bits: {limit}. A minus sign marks the opposite of the first bit.")
        signed = [[f"{'−' if sign < 0 else ''}{bit}" for bit, sign in group] for group in groups]
        classes = [", ".join(topics[group[0][0]].follows) or "no class" for group in groups]
        st.dataframe(
            {
                "Bits": [", ".join(bits) for bits in signed],
                "Number": [len(group) for group in groups],
                "Classes with the first bit on": [harmless(names) for names in classes],
            },
            hide_index=True,
            height="content" if len(groups) <= MAX_GROUP_LINES else 36 * (MAX_GROUP_LINES + 1),
            key="vote_groups",
            alt=f"Table of {len(groups)} groups of correlated bits",
        )
    else:
        st.text(f"No two bits have a correlation of at least {GROUP_CORRELATION} (or at most −{GROUP_CORRELATION}).")

    def make() -> tuple[Chart, Chart, Chart]:
        codes, labels = database_bits(run.hasher, run.data, run.split), run.data.labels[run.split.train]
        largest = largest_classes(labels)
        names, labels = [run.data.class_names[k] for k in largest], labels[:, largest]
        by_group = [bit for group in groups_of(topics) for bit, _ in group]
        return (
            plots.class_bits(class_shares(codes, labels), class_contrast(codes, labels), names),
            plots.bit_correlation(correlate(codes), by_group),
            plots.bit_balance(codes.mean(axis=0), np.array([kind_of(topic) for topic in topics])),
        )

    class_chart, correlation, balance = derive(run, "matrices of bits", make, "Counting …")
    show_chart(class_chart, "class_bits")
    show_charts({"bit_correlation": correlation, "bit_balance": balance}, [3, 2])


@st.fragment
def _draw_space(run: Run) -> None:
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
        show_chart(plots.bucket_sizes(buckets.sizes), "buckets")
    with right:
        st.text("One item of each of the largest groups with identical codes")
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
        help="The direction is that of the last search." if is_last else None,
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
    hit_rate, size = plots.hit_rate_by_radius(curves, radius), plots.size_by_radius(curves, radius)
    show_charts({"hit_rate": hit_rate, "look_up_size": size})


def buckets_of(run: Run) -> Buckets:
    """Return the items of the database grouped by their code, cached."""
    codes = run.hasher.database_codes[display_modality(run.hasher)]
    return derive(run, "buckets", lambda: fill_buckets(codes), "Counting codes …")


def _draw_queries(run: Run) -> None:
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
                f"Relevant among the first {TABLE_RESULTS}": relevant,
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
    show_chart(plots.confusion(shares, names, CONFUSION_RESULTS), "confusion")


def picked_row(event: Mapping[str, Any]) -> int | None:
    """Return the position of the selected table row, or of the row of the selected cell; None without one."""
    selection = event["selection"]
    rows = [*selection["rows"], *(cell[0] for cell in selection["cells"])]
    return int(rows[0]) if rows else None

"""How finished cells are looked at: one definition for the whole page, direction, protocol; and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from smfh.comparison import Grid, View
from smfh.evaluation import PROTOCOLS
from smfh.export import compared_pairs, every_chart, pair_rows, sentences
from smfh.hashing import METHODS
from smfh.metrics import AP_DEFINITIONS
from smfh.paper import published_score
from smfh.plots import Chart
from smfh.plots.published import Published
from smfh.significance import Difference, how_tested
from smfh.ui.charts import show_chart, show_pickable
from smfh.ui.compare.choice import current_wanted, keep_wanted, set_once
from smfh.ui.compare.download import Spell, draw_downloads
from smfh.ui.compare.opening import CLICKED, draw_open, open_clicked, open_wanted
from smfh.ui.compare.wanted import MOST_RADIUS
from smfh.ui.server import run_store

LOG_K = "compare_log"
FEW = 2  # directions that fit side by side
FRESH = 3.0  # seconds until runs that have come meanwhile are drawn
BANDS = (
    "Lines are means over seeds, bands reach from the lowest seed to the highest. The pale, wider band is "
    "what another order of items at equal distance could give. A click on a point opens that run in Explore."
)
NAMES = {
    "found": "mAP@100 / relevant found",
    "capped": "mAP@100 / min(R, 100)",
    "all": "mAP@100 / all relevant",
    "full": "mAP, whole ranking",
}


def draw_results(grid: Grid, moving: bool, spell: Spell) -> None:
    """View, figures, tests and what to take home; drawn alone, and again while runs come in."""

    @st.fragment(run_every=FRESH if moving else None)
    def results() -> None:
        open_wanted(grid)
        view = choose_view(grid)
        if not grid.found(run_store()):
            st.info(
                "Nothing of this comparison is trained yet. Press Run, and each finished run appears here."
            )
            return
        draw_figures(grid, view)
        draw_downloads(grid, view, crosses(grid, view), spell)

    results()


def choose_view(grid: Grid) -> View:
    """Nothing of it trains; changing it draws again from what is stored."""
    wanted = current_wanted()
    directions = [f"{source} → {target}" for source, target in grid.directions]
    usual = directions[0]
    lengths = list(grid.comparison.bits)
    near = min(lengths, key=lambda bits: abs(bits - wanted.at))
    what, where, which, length, within = st.columns([4, 4, 3, 2, 2])
    definition = what.selectbox(
        "Metric",
        list(AP_DEFINITIONS),
        key=set_once("compare_definition", wanted.definition),
        format_func=NAMES.__getitem__,
    )
    with where:
        direction = _choose_direction(directions, wanted.direction or usual, usual)
    protocol = which.segmented_control(
        "Database",
        list(PROTOCOLS),
        required=True,
        key=set_once("compare_protocol", wanted.protocol),
        help="\n\n".join(f"**{name}**: {words}" for name, words in PROTOCOLS.items()),
    )
    bits = length.selectbox(
        "Curves at",
        lengths,
        key=_among("compare_at", lengths, near, near),
        format_func=lambda bits: f"{bits} bits",
    )
    radius = within.selectbox(
        "Look-up radius", range(MOST_RADIUS + 1), key=set_once("compare_radius", wanted.radius)
    )
    wanted = replace(
        wanted,
        definition=definition,
        protocol=protocol or wanted.protocol,
        direction=direction,
        at=bits,
        radius=radius,
    )
    keep_wanted(wanted)
    source, target = grid.directions[directions.index(wanted.direction)]
    return View(source, target, wanted.definition, wanted.protocol, bits, radius)


def _choose_direction(directions: Sequence[str], wanted: str, usual: str) -> str:
    key = _among("compare_direction", directions, wanted, usual)
    if len(directions) > FEW:
        chosen: str = st.selectbox("Direction", directions, key=key)
        return chosen
    return st.segmented_control("Direction", directions, required=True, key=key) or usual


def _among(key: str, options: Sequence[Any], value: Any, otherwise: Any) -> str:
    """The key of a widget whose options depend on the data."""
    if st.session_state.get(key, value) not in options:
        st.session_state[key] = value if value in options else otherwise
    return set_once(key, value)


def draw_figures(grid: Grid, view: View) -> None:
    """All figures with their formulas, and whether a difference is more than noise."""
    store, metric = run_store(), view.metric
    there = grid.found(store)
    st.text(f"{metric.label}: {metric.formula}", help=metric.words)
    with st.spinner("Reading what is stored …"):  # shows only where it takes a while: the first time
        charts = every_chart(grid, store, view, crosses(grid, view), st.session_state.get(LOG_K, False))
        pairs = _pairs(grid, tuple(record.id for record in there.values()), view)
    if len(grid.found(store)) < len(there):
        st.rerun()  # a file turned out to be damaged when it was read: it is to be trained again
    left, right = st.columns([3, 2], gap="large")
    with left:
        draw_score_chart(charts["map"])
    with right:
        draw_test(pairs, view)
        draw_open(grid)
    with st.container(horizontal=True, vertical_alignment="center", key="compare_curves"):
        st.markdown(f"#### Answers at {view.bits} bits", width="content")
        st.toggle("Log K", key=LOG_K)
    _draw_pair(charts, "precision", "recall")
    _draw_pair(charts, "radius", "hits")
    _draw_pair(charts, "training", "encoding")


@st.cache_data(max_entries=64, show_spinner=False)
def _pairs(_grid: Grid, ids: tuple[str, ...], view: View) -> list[Difference]:
    """The test over queries, once for the same runs: their ids tell the data too."""
    return compared_pairs(_grid, run_store(), view)


def _draw_pair(charts: Mapping[str, Chart], *names: str) -> None:
    for name, column in zip(names, st.columns(2, gap="large"), strict=True):
        with column:
            show_chart(charts[name], f"compare_{name}")


def draw_score_chart(chart: Chart) -> None:
    """A click on a point of it opens that run."""
    show_pickable(chart, CLICKED, ("points",), open_clicked)
    st.caption(BANDS)


def draw_test(pairs: Sequence[Difference], view: View) -> None:
    """Neighbours in words, all pairs in a table, and what the intervals cover."""
    st.markdown("#### Is it more than noise?")
    for sentence in sentences(pairs, view):
        st.text(sentence)
    if pairs:
        with st.expander(f"All {len(pairs)} pairs" if len(pairs) > 1 else "The pair"):
            st.dataframe(pair_rows(pairs), hide_index=True, alt="Differences between all pairs of methods")
    st.caption(how_tested(pairs))


def crosses(grid: Grid, view: View) -> list[Published]:
    """What the paper prints for these cells; it has one definition and one protocol."""
    comparison = grid.comparison
    if view.definition != "found" or view.protocol != "training":
        return []
    names = dict.fromkeys(method.name for method in comparison.methods)
    found = {
        (name, bits): published_score(
            comparison.source.name, f"{view.source}->{view.target}", name, "map", bits
        )
        for name in names
        for bits in comparison.bits
    }
    return [
        Published(name, METHODS[name].title, view.direction, bits, value)
        for (name, bits), value in found.items()
        if value is not None
    ]

"""How finished runs are looked at: one definition for the whole page, direction, protocol; and figures."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from smfh.comparison import Grid, View
from smfh.comparison.measures import MOST_RADIUS
from smfh.evaluation import PROTOCOLS
from smfh.export import compared_pairs, every_chart, pair_rows, sentences, winners
from smfh.hashing import METHODS
from smfh.metrics import AP_DEFINITIONS
from smfh.paper import published_score
from smfh.plots import Chart, Published
from smfh.significance import Difference, how_tested
from smfh.ui.address import current, keep
from smfh.ui.charts import show_chart, show_pickable
from smfh.ui.compare.ceiling import draw_ceiling
from smfh.ui.compare.download import Spell, draw_downloads
from smfh.ui.compare.opening import CHART, draw_open, open_clicked, remember_click
from smfh.ui.compare.wanted import CONTROLS, WANTED
from smfh.ui.plain import plain
from smfh.ui.server import kept_runs, remember

V = TypeVar("V")
LOG_K = "compare_log"
FEW = 2  # directions that fit side by side
BANDS = (
    "Lines are means over seeds, bands reach from the lowest seed to the highest. The pale, wider band is "
    "what another order of items at equal distance could give. A click on a point opens that run in Explore."
)
NAMES = {
    "found": "mAP@100 / relevant found",
    "capped": "mAP@100 / min(R, 100)",
    "all": "mAP@100 / all relevant",
    "full": "mAP, whole ranking",
    "precision": "P@100",
}


def draw_results(grid: Grid, spell: Spell) -> None:
    """View, figures, tests and what to take home."""
    open_clicked(grid)
    view = choose_view(grid)
    if grid.found(kept_runs(grid.owner)):
        published = published_points(grid, view)
        draw_figures(grid, view, published)
        draw_downloads(grid, view, published, spell)
    else:
        st.info("Nothing of this comparison is trained yet. Press Run, and each finished run appears here.")


def choose_view(grid: Grid) -> View:
    """Nothing of it trains; changing it draws again from what is stored."""
    wanted = current(WANTED, CONTROLS)[0]
    directions = [f"{source} → {target}" for source, target in grid.directions]
    lengths = grid.comparison.bits
    _begin_among("compare_direction", directions, directions[0])
    _begin_among("compare_at", lengths, min(lengths, key=lambda bits: abs(bits - wanted.at)))
    what, where, which, length, within = st.columns([4, 4, 3, 2, 2])
    definition = what.selectbox(
        "Metric", list(AP_DEFINITIONS), key="compare_definition", format_func=NAMES.__getitem__
    )
    direction: str | None
    if len(directions) > FEW:
        direction = where.selectbox("Direction", directions, key="compare_direction")
    else:
        direction = where.segmented_control(
            "Direction", directions, required=True, key="compare_direction", format_func=plain
        )
    protocol = which.segmented_control(
        "Database",
        list(PROTOCOLS),
        required=True,
        key="compare_protocol",
        help="\n\n".join(f"**{name}**: {words}" for name, words in PROTOCOLS.items()),
    )
    bits = length.selectbox("Curves at", lengths, key="compare_at", format_func=lambda bits: f"{bits} bits")
    radius = within.selectbox("Look-up radius", range(MOST_RADIUS + 1), key="compare_radius")
    direction, protocol = direction or directions[0], protocol or wanted.protocol
    wanted = replace(wanted, definition=definition, protocol=protocol, direction=direction)
    keep(WANTED, replace(wanted, at=bits, radius=radius))
    source, target = grid.directions[directions.index(direction)]
    return View(source, target, definition, protocol, bits, radius)


def _begin_among(key: str, options: Sequence[Any], value: Any) -> None:
    """Let a control whose options depend on the data begin with this value where it holds none of them."""
    if st.session_state.get(key) not in options:
        st.session_state[key] = value


def draw_figures(grid: Grid, view: View, published: Sequence[Published]) -> None:
    """All figures with their formulas, and whether a difference is more than noise."""
    store, metric = kept_runs(grid.owner), view.metric
    found = grid.found(store)
    st.latex(metric.latex, help=metric.words)
    with st.spinner("Reading what is stored …"):  # shows only where it takes a while: the first time
        log, ids = st.session_state.get(LOG_K, False), tuple(record.id for record in found.values())

        def once(make: Callable[[], V], *what: Hashable) -> V:
            """Their ids tell the runs and their data; what is private is not remembered."""
            return make() if grid.owner else remember((grid.key, ids, *what), make)

        has_level = store.ceiling(grid.ceiling_key) is not None
        charts = once(lambda: every_chart(grid, store, view, published, log), view, log, has_level)
        pairs = {
            one: once(partial(compared_pairs, grid, store, one), one, "pairs") for one in view.told_together
        }
    if len(grid.found(store)) < len(found):
        st.rerun()  # a file turned out to be damaged when it was read: it is to be trained again
    left, right = st.columns([3, 2], gap="large")
    with left:
        show_pickable(charts[view.definition], CHART, ("points",), remember_click)
        st.caption(BANDS)
        draw_ceiling(grid)
    with right:
        draw_test(pairs)
        draw_open(grid)
    st.markdown("#### The same by other measures")
    _draw_row(charts, *(one.definition for one in view.told_together[1:]))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"#### Answers at {view.bits} bits", width="content")
        st.toggle("Log K", key=LOG_K)
    _draw_row(charts, "at_k", "recall")
    _draw_row(charts, "radius", "hits")
    _draw_row(charts, "training", "encoding")


def _draw_row(charts: Mapping[str, Chart], *names: str) -> None:
    for name, column in zip(names, st.columns(len(names), gap="large"), strict=True):
        with column:
            show_chart(charts[name], f"compare_{name}")


def draw_test(tested: Mapping[View, Sequence[Difference]]) -> None:
    """By every measure: neighbours in words, all pairs in a table; and what the intervals cover."""
    st.markdown("#### Is it more than noise?")
    if first := winners({view.metric.label: pairs for view, pairs in tested.items()}):
        st.text(first)
    for tab, (view, pairs) in zip(
        st.tabs([view.metric.label for view in tested]), tested.items(), strict=True
    ):
        with tab:
            for sentence in sentences(pairs, view):
                st.text(sentence)
            if pairs:
                with st.expander(f"All {len(pairs)} pairs" if len(pairs) > 1 else "The pair"):
                    alt = f"Differences in {view.metric.label} between all pairs of methods"
                    st.dataframe(pair_rows(pairs), hide_index=True, alt=alt)
            st.caption(how_tested(pairs))


def published_points(grid: Grid, view: View) -> list[Published]:
    """What the paper prints for these runs; it has one definition and one protocol."""
    if (view.definition, view.protocol) != ("found", "training"):
        return []
    dataset, direction = grid.comparison.source.name, f"{view.source}->{view.target}"
    return [
        Published(name, METHODS[name].title, view.direction, bits, value)
        for name in dict.fromkeys(method.name for method in grid.comparison.methods)
        for bits in grid.comparison.bits
        if (value := published_score(dataset, direction, name, "map", bits)) is not None
    ]

"""Scores by share of corrupted training items: the controls, the job that measures them, and the chart."""

from collections.abc import Callable, Hashable
from dataclasses import replace

import streamlit as st

from smfh.datasets import CORRUPTIONS, make_source
from smfh.experiments.comparison import Comparison, Grid, View
from smfh.experiments.robustness import (
    Grids,
    clean_source,
    corrupted_grids,
    robustness_key,
    robustness_points,
    robustness_summary,
    robustness_work,
)
from smfh.jobs import Job, JobContext
from smfh.plots import Axis, score_curves
from smfh.runs import check_costs, current_limits
from smfh.runs.limits import dataset_bytes
from smfh.types import InputError, parameters
from smfh.ui.address import current, keep
from smfh.ui.charts import show_chart
from smfh.ui.compare.request import CONTROLS, REQUEST, SHARES
from smfh.ui.grids import draw_task, progress_of_grid
from smfh.ui.page import queue_position
from smfh.ui.plain import draw_problems, plain
from smfh.ui.server import Loaded, job_queue, load_source, private_key, remember, saved_runs
from smfh.ui.session import UPLOAD
from smfh.ui.visitor import visitor

MAX_CORRUPTED_BYTES = 256 << 20  # of the data, which is copied for every share
ABOUT = (
    "Trains the methods again with part of the training items corrupted on purpose. Queries and the labels "
    "that scores use stay correct. Choose unseen items as the database to test on clean items only."
)


def draw_robustness(grid: Grid, view: View, command: str) -> None:
    """Draw menus for a kind of corruption and its shares, then the measured curves or a button to measure.

    `command` is the shell command of the comparison at the chosen code length, or empty.
    """
    st.markdown("#### Robustness", help=ABOUT)
    request, helps = current(REQUEST, CONTROLS)[0], parameters(make_source("planted"))
    what, where = st.columns([5, 4])
    corruption = what.segmented_control(
        "Corrupt training items",
        ["", *CORRUPTIONS],
        required=True,
        key="compare_corruption",
        format_func=lambda name: CORRUPTIONS.get(name, "none").capitalize(),
        help="\n\n".join(f"**{title}**: {helps[name].help}" for name, title in CORRUPTIONS.items()),
    )
    shares = where.pills(
        "Share of items", SHARES, selection_mode="multi", key="compare_shares", format_func=lambda share: f"{share} %"
    )
    keep(REQUEST, replace(request, corruption=corruption or "", shares=tuple(sorted(shares))))
    if not corruption:
        st.caption(ABOUT)
        return
    try:
        grids = _grids(grid, view, corruption, [share / 100 for share in sorted(shares)])
    except InputError as error:
        draw_problems("These shares cannot be measured:", error.problems, st.info)
        return
    _draw_job(grids, view.bits)
    found = robustness_points(grids, saved_runs(grid.comparison.source), view)
    if found:
        axis = Axis(f"{CORRUPTIONS[corruption]} (%)")
        label = f"{view.metric.label} ({view.distance} distance)"
        chart = score_curves(found, label, axis, formula=view.metric.formula)
        show_chart(chart, "compare_robustness")
        st.text(robustness_summary(found, corruption, view.metric.label))
    if command:
        given = " ".join(f"{share:g}" for share in grids)
        st.code(f"{command} --{corruption.replace('_', '-')} {given}", language="bash", wrap_lines=True)


def _grids(grid: Grid, view: View, corruption: str, shares: list[float]) -> Grids:
    """Return the comparison at the chosen code length for each share, cached unless the data is private."""
    source = grid.comparison.source

    def make() -> Grids:
        loaded: Loaded = grid.data, grid.split
        if source.corruptions:
            loaded = load_source(clean_source(source), visitor())
        if dataset_bytes(loaded[0]) > MAX_CORRUPTED_BYTES:
            raise InputError("The data is too large to corrupt here; use the command below.")
        comparison: Comparison = replace(grid.comparison, bits=(view.bits,))
        return corrupted_grids(Grid(comparison, loaded[0].without_looks(), loaded[1]), corruption, shares)

    what: Hashable = ("robustness", grid.key, source, view.bits, corruption, tuple(shares))
    return make() if source.name == UPLOAD else remember(what, make)


def _draw_job(grids: Grids, bits: int) -> None:
    """Draw the button that trains the missing runs, or the progress of its job."""
    source = next(iter(grids.values())).comparison.source
    store, key = saved_runs(source), private_key(source, robustness_key(grids))
    missing = sum(len(grid.missing(store)) for grid in grids.values())
    job = job_queue().find(key)
    if missing == 0 and (job is None or job.over):
        return

    def prepare() -> Callable[[JobContext], object]:
        for grid in grids.values():
            check_costs(grid.missing(store), grid.data, grid.split, current_limits())
        return robustness_work(grids, store)

    def draw_progress(job: Job[object]) -> None:
        if not job.reports:
            st.progress(0.0, queue_position(job) or "starting")
            return
        share, progress = job.reports[-1]
        done, text = progress_of_grid(progress)
        st.progress((list(grids).index(share) + done) / len(grids), plain(f"{100 * share:g} %: {text}"))

    label = f"Train {missing} run{'s' * (missing > 1)} at {bits} bits"
    draw_task("robustness", key, label, prepare, draw_progress)

"""Fits on shards, wherever they run: how far they are, how fast, and their convergence, while they go on."""

import os

import streamlit as st

from smfh.cluster.progress import FitProgress, read_fits
from smfh.plots import convergence
from smfh.types import InputError
from smfh.ui.charts import show_chart
from smfh.ui.plain import plain

SETTING = "SMFH_SHARDS"  # named by who runs the server, never by a visitor
TICK, STILL_TICK = 2.0, 15.0  # seconds between two looks: at fits under way, or for one that begins
HOW = "To train on them: python -m smfh fit --shards, with --workers or --cluster."


def draw_shards() -> None:
    """Nothing where the server was given no shards; else a part that is drawn again by itself."""
    if not (address := os.environ.get(SETTING)):
        return
    with st.expander("On shards", icon=":material/database:", expanded=True, key="runs_shards"):
        try:
            moving = any(fit.is_moving for fit in read_fits(address)[1])
        except InputError as error:
            st.text("\n".join(error.problems))
            return
        st.fragment(_draw, run_every=TICK if moving else STILL_TICK)(address)


def _draw(address: str) -> None:
    try:
        manifest, fits = read_fits(address)
    except InputError as error:
        st.text("\n".join(error.problems))
        return
    sizes = ", ".join(f"{one.name} {one.dimensions:,}" for one in manifest.modalities)
    parts = len(manifest.parts)
    st.text(f"{manifest.name} · {manifest.items:,} items in {parts:,} part{'s' * (parts != 1)} · {sizes}")
    if not fits:
        st.caption(HOW)
    for number, fit in enumerate(fits):
        st.progress(fit.share, plain(in_words(fit, manifest.items)))
        if fit.is_moving and fit.dashboard.startswith(("http://", "https://")):
            st.link_button("Dask's dashboard", fit.dashboard, icon=":material/open_in_new:")
        if number == 0 and fit.trace:
            show_chart(convergence(fit.trace, total=fit.steps), "shards_convergence", download=False)


def in_words(fit: FitProgress, items: int) -> str:
    """Which fit it is, its step, its workers and its pace."""
    workers = f"{fit.workers} worker{'s' * (fit.workers != 1)}"
    told = [f"{fit.method}, {fit.bits} bits", f"step {len(fit.trace)} of {fit.steps}", workers]
    if seconds := fit.step_seconds:
        told.append(f"{items / seconds:,.0f} items a second")
    return " · ".join([*told, "done" if fit.is_over else "at work" if fit.is_moving else "not at work"])

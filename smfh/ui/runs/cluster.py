"""Training outside this server: the workers of the cluster, and the progress of runs on shards."""

import os

import streamlit as st

from smfh.engine.fitting import FitProgress, read_fits
from smfh.plots import convergence
from smfh.types import InputError
from smfh.ui import server
from smfh.ui.charts import show_chart
from smfh.ui.plain import plain

SHARDS_SETTING = "SMFH_SHARDS"  # environment variable with the address of the shards; visitors cannot set it
POLL_SECONDS, IDLE_POLL_SECONDS = 2.0, 15.0
HOW = "To train on these shards: python -m smfh fit --shards, with --workers or --cluster."


def draw_cluster() -> None:
    """Draw the number of workers and a link to Dask's dashboard, if the server uses a cluster."""
    if (engine := server.cluster()) is None:
        return
    if not engine.is_connected:
        st.caption("Runs are trained on a cluster. Uploads stay on this server.")
        return
    with st.container(horizontal=True, vertical_alignment="center", key="runs_cluster"):
        count = f"{engine.count} worker{'s' * (engine.count != 1)}"
        st.caption(f"Training runs on a cluster with {count}. Uploaded data stays on this server.", width="content")
        _draw_dashboard_link(engine.dashboard)


def _draw_dashboard_link(address: str) -> None:
    if address.startswith(("http://", "https://")):
        st.link_button("Dask dashboard", address, icon=":material/open_in_new:")


def draw_shards() -> None:
    """Draw the runs trained on the shards in the folders of SMFH_SHARDS, and refresh them regularly."""
    if not (address := os.environ.get(SHARDS_SETTING)):
        return
    with st.expander("Runs trained on shards", icon=":material/database:", expanded=True, key="runs_shards"):
        try:
            moving = any(fit.is_moving for fit in read_fits(address)[1])
        except InputError:  # drawn below
            moving = False
        st.fragment(_draw_fits, run_every=POLL_SECONDS if moving else IDLE_POLL_SECONDS)(address)


def _draw_fits(address: str) -> None:
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
        st.progress(fit.share, plain(describe_fit(fit, manifest.items)))
        if fit.is_moving:
            _draw_dashboard_link(fit.dashboard)
        if number == 0 and fit.trace:
            show_chart(convergence(fit.trace, total=fit.steps), "shards_convergence")


def describe_fit(fit: FitProgress, items: int) -> str:
    """Describe a run on shards in one line: method, step, workers, speed and state."""
    workers = f"{fit.workers} worker{'s' * (fit.workers != 1)}"
    words = [f"{fit.method}, {fit.bits} bits", f"step {len(fit.trace)} of {fit.steps}", workers]
    if seconds := fit.step_seconds:
        words.append(f"{items / seconds:,.0f} items per second")
    return " · ".join([*words, "finished" if fit.is_over else "running" if fit.is_moving else "not running"])

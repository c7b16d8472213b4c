"""Precision and recall over all queries, and what has changed since a pinned run."""

import numpy as np
import streamlit as st

from smfh.plots import Curve, precision_at_k, recall_at_k
from smfh.runs import Run
from smfh.ui.charts import show_chart
from smfh.ui.gallery import draw_gallery
from smfh.ui.plain import plain
from smfh.ui.session import pin
from smfh.ui.settings import differences

CHANGED = 5  # queries shown where a pinned run did better or worse


def draw_curves(run: Run, pinned: Run | None) -> None:
    """Precision and recall over the number of answers; display only, nothing is computed anew."""
    st.markdown("#### Precision and recall over the number of answers")
    protocol, directions, depth, scale = st.columns([2, 3, 3, 1], vertical_alignment="bottom")
    searched = protocol.segmented_control(
        "Database", ["training", "unseen"], default="training", required=True, key="curve_protocol"
    )
    every = {f"{source} → {target}": (source, target) for source, target in run.directions}
    chosen = directions.pills(
        "Direction",
        list(every),
        selection_mode="multi",
        default=list(every)[:2],
        key="curve_directions",
        format_func=plain,
    )
    K = depth.slider("K", 1, 1000, 100, key="curve_k")
    log = scale.toggle("Log K", key="curve_log")
    curves = [
        Curve(
            which.method.name,
            f"{which.method.title}, {which.method.bits} bits",
            (which.scores(*every[direction], searched),),
            pinned=which is not run,
        )
        for which in ([run] if pinned is None or pinned is run else [run, pinned])
        for direction in chosen
        if every[direction] in which.directions
    ]
    left, right = st.columns(2)
    with left:
        show_chart(precision_at_k(curves, K, log), "precision")
    with right:
        show_chart(recall_at_k(curves, K, log), "recall")


def draw_pin(run: Run, pinned: Run | None) -> None:
    """Keep this run beside the next one; then what has changed, and for which queries."""
    if pinned is None or pinned is run:
        pinned_words = "This run is pinned: train with other settings, and both are drawn." if pinned else ""
        with st.container(horizontal=True, vertical_alignment="center", key="pin"):
            if pinned is None:
                st.button("Pin this run", icon=":material/keep:", on_click=pin, args=(run,), key="pin_run")
            else:
                st.button("Unpin", icon=":material/keep_off:", on_click=pin, args=(None,), key="pin_run")
            st.caption(pinned_words or "Pinned, it is drawn under the next one, with what has changed.")
        return
    changes = differences(pinned.method, run.method)
    st.markdown("#### Compared with the pinned run")
    st.text(f"Changed: {', '.join(changes) or 'the data only'}")
    st.button("Unpin", icon=":material/keep_off:", on_click=pin, args=(None,), key="pin_run")
    if (pinned.key.data, pinned.key.split) != (run.key.data, run.key.split):
        st.caption("The pinned run was on other data, so single queries cannot be compared.")
        return
    _draw_changed_queries(run, pinned)


def _draw_changed_queries(run: Run, pinned: Run) -> None:
    source, target = run.directions[0]
    now, before = (
        which.scores(source, target).average_precision["found"].by_query for which in (run, pinned)
    )
    gain = now - before
    order = np.argsort(-np.abs(gain), kind="stable")[:CHANGED]
    rows = [int(run.split.queries[place]) for place in order]
    st.caption(plain(f"Queries whose AP changed most, {source} → {target}:"))
    draw_gallery(run.data, rows, [(f"AP {gain[place]:+.3f}",) for place in order], "changed")

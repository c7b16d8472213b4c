"""Answers to one held-out query, and the curves over all of them."""

import numpy as np
import streamlit as st

from smfh.datasets import DATASETS
from smfh.plots import Curve, precision_at_k, recall_at_k
from smfh.runs import Run
from smfh.types import Answers
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, draw_gallery, in_bits, labels_of, relevance_words
from smfh.ui.opening import open_query
from smfh.ui.server import derive
from smfh.ui.session import pin
from smfh.ui.settings import differences

ANSWERS = 12
CHANGED = 5  # queries shown where a pinned run did better or worse


def draw_try(run: Run) -> None:
    """One query of another modality → the nearest pictures; the next query at a click."""
    source, target = run.directions[0]
    queries = run.split.queries
    place = st.session_state.get("try_query", run.typical_query(source, target)) % len(queries)

    def another() -> None:
        st.session_state["try_query"] = int(np.random.default_rng().integers(len(queries)))

    with st.container(horizontal=True, vertical_alignment="center", key="try_row"):
        st.markdown(f"#### Try it: {source} → {target}")
        st.button("Another", icon=":material/casino:", on_click=another)
        if st.button("Open in Search", icon=":material/search:"):
            open_query(int(queries[place]), source, target)
    answers = derive(run, ("answers", ANSWERS), lambda: run.answers(source, target, depth=ANSWERS))
    draw_query(run, answers, place)


def draw_query(run: Run, answers: Answers, place: int) -> None:
    data, row = run.data, int(run.split.queries[place])
    st.text(f"“{caption_of(data, row)}” · {', '.join(labels_of(data, row))}")
    relevance = answers.relevance[place]
    notes = [
        (f"{in_bits(int(distance))} away", relevance_words(bool(relevant)))
        for distance, relevant in zip(answers.distances[place], relevance, strict=True)
    ]
    draw_gallery(data, answers.rows[place], notes, "try")
    precision = run.scores(*run.directions[0]).average_precision["found"].by_query[place]
    st.caption(
        f"{np.count_nonzero(relevance)} of the first {len(relevance)} share a label with the query · "
        f"AP {precision:.3f} · the query was held out"
    )
    if data.thumbnails is not None and data.name in DATASETS:
        st.caption(DATASETS[data.name].card.terms)


def draw_curves(run: Run, pinned: Run | None) -> None:
    """Precision and recall over the number of answers; display only, nothing is computed anew."""
    st.markdown("#### Precision and recall over the number of answers")
    protocol, directions, depth, scale = st.columns([2, 3, 3, 1], vertical_alignment="bottom")
    searched = protocol.segmented_control(
        "Database", ["training", "unseen"], default="training", required=True, key="curve_protocol"
    )
    every = {f"{source} → {target}": (source, target) for source, target in run.directions}
    chosen = directions.pills(
        "Direction", list(every), selection_mode="multi", default=list(every)[:2], key="curve_directions"
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
    st.caption(f"Queries whose AP changed most, {source} → {target}:")
    draw_gallery(run.data, rows, [(f"AP {gain[place]:+.3f}",) for place in order], "changed")

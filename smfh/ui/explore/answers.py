"""Answers to one held-out query, and the curves over all of them."""

import numpy as np
import streamlit as st

from smfh.datasets import DATASETS
from smfh.jobs import Job
from smfh.plots import precision_at_k, recall_at_k
from smfh.study import Trained, typical_query, usual_direction
from smfh.types import MultimodalDataset, RetrievalResult, Split
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, draw_gallery, labels_of, relevance_words
from smfh.ui.going import open_query
from smfh.ui.settings import differences
from smfh.ui.training import job_method, run_key, runs_of

ANSWERS = 12
CHANGED = 5  # queries shown where a pinned run did better or worse


def draw_try(trained: Trained, data: MultimodalDataset, split: Split) -> None:
    """One query of another modality → the nearest pictures; the next query at a click."""
    source, target = usual_direction(trained)
    result = trained.results[source, target, "training"]
    place = st.session_state.get("try_query", typical_query(result)) % len(split.queries)
    row = int(split.queries[place])

    def another() -> None:
        st.session_state["try_query"] = int(np.random.default_rng().integers(len(split.queries)))

    with st.container(horizontal=True, vertical_alignment="center", key="try_row"):
        st.markdown(f"#### Try it: {source} → {target}")
        st.button("Another", icon=":material/casino:", on_click=another)
        if st.button("Open in Search", icon=":material/search:"):
            open_query(row, source, target)
    draw_query(data, row, result, place)


def draw_query(data: MultimodalDataset, row: int, result: RetrievalResult, place: int) -> None:
    st.text(f"“{caption_of(data, row)}” · {', '.join(labels_of(data, row))}")
    ranking = result.ranking
    rows, distances = ranking.indices[place, :ANSWERS], ranking.distances[place, :ANSWERS]
    notes = [
        (f"{distance} bits away", relevance_words(bool(relevant)))
        for distance, relevant in zip(distances, ranking.relevance[place], strict=False)
    ]
    draw_gallery(data, rows, notes, "try")
    right = np.count_nonzero(ranking.relevance[place, :ANSWERS])
    st.caption(
        f"{right} of the first {len(rows)} share a label with the query · "
        f"AP {result.average_precision[place]:.3f} · the query was held out"
    )
    if data.thumbnails is not None and data.name in DATASETS:
        st.caption(DATASETS[data.name].card.terms)


def draw_curves(job: Job[Trained], pinned: Job[Trained] | None) -> None:
    """Precision and recall over the number of answers; display only, nothing is computed anew."""
    st.markdown("#### Precision and recall over the number of answers")
    protocol, directions, depth, scale = st.columns([2, 3, 3, 1], vertical_alignment="bottom")
    searched = protocol.segmented_control(
        "Database", ["training", "unseen"], default="training", required=True, key="curve_protocol"
    )
    every = [f"{source} → {target}" for source, target in job.result.hasher.directions]
    chosen = directions.pills(
        "Direction", every, selection_mode="multi", default=every[:2], key="curve_directions"
    )
    K = depth.slider("K", 1, 1000, 100, key="curve_k")
    log = scale.toggle("Log K", key="curve_log")
    runs = [
        run
        for which in ([job] if pinned is None or pinned is job else [job, pinned])
        for run in runs_of(which, searched, chosen, pinned=which is not job)
    ]
    left, right = st.columns(2)
    with left:
        show_chart(precision_at_k(runs, K, log), "precision")
    with right:
        show_chart(recall_at_k(runs, K, log), "recall")


def draw_pin(job: Job[Trained], pinned: Job[Trained] | None, data: MultimodalDataset, split: Split) -> None:
    """Keep this run beside the next one; then what has changed, and for which queries."""
    if pinned is None or pinned is job:
        pinned_words = "This run is pinned: train with other settings, and both are drawn." if pinned else ""
        with st.container(horizontal=True, vertical_alignment="center", key="pin"):
            if pinned is None:
                st.button("Pin this run", icon=":material/keep:", on_click=_pin, args=(job,), key="pin_run")
            else:
                st.button("Unpin", icon=":material/keep_off:", on_click=_pin, args=(None,), key="pin_run")
            st.caption(pinned_words or "Pinned, it is drawn under the next one, with what has changed.")
        return
    changes = differences(job_method(pinned), job_method(job))
    st.markdown("#### Compared with the pinned run")
    st.text(f"Changed: {', '.join(changes) or 'the data only'}")
    st.button("Unpin", icon=":material/keep_off:", on_click=_pin, args=(None,), key="pin_run")
    before, now = run_key(pinned), run_key(job)
    if (before.data, before.split) != (now.data, now.split):
        st.caption("The pinned run was on other data, so single queries cannot be compared.")
        return
    _draw_changed_queries(job.result, pinned.result, data, split)


def _draw_changed_queries(now: Trained, before: Trained, data: MultimodalDataset, split: Split) -> None:
    direction = (*usual_direction(now), "training")
    gain = now.results[direction].average_precision - before.results[direction].average_precision
    order = np.argsort(-np.abs(gain), kind="stable")[:CHANGED]
    rows = [int(split.queries[place]) for place in order]
    st.caption(f"Queries whose AP changed most, {direction[0]} → {direction[1]}:")
    draw_gallery(data, rows, [(f"AP {gain[place]:+.3f}",) for place in order], "changed")


def _pin(job: Job[Trained] | None) -> None:
    st.session_state["pinned"] = job

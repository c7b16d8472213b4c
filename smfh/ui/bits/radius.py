"""Look-up by radius: what one query finds, what all of them find, and how full the buckets are."""

import numpy as np
import streamlit as st

from smfh.landscape import Buckets, fill_buckets
from smfh.metrics import look_up
from smfh.plots import bucket_sizes, hit_rate_by_radius, size_by_radius
from smfh.ui.bits.asked import Marked
from smfh.ui.bits.model import Model
from smfh.ui.charts import show_chart
from smfh.ui.gallery import draw_gallery, relevance_words, shortened
from smfh.ui.training import runs_of

RADIUS = "look_up_radius"
USUAL = 2
SHOWN, SHOWN_BUCKETS = 12, 6


def draw_radius(model: Model, marked: Marked) -> None:
    """One slider moves the figures over all queries and the gallery of one."""
    st.markdown("##### Look-up within a radius")
    bits = model.hasher.bits
    if st.session_state.get(RADIUS, 0) > bits:
        del st.session_state[RADIUS]
    radius = st.slider("Hamming radius (bits)", 0, bits, min(USUAL, bits), key=RADIUS)
    found = look_up(model.job.result.results[marked.source, marked.target, "training"].ranking.counts, radius)
    with st.container(horizontal=True, key="radius_measures"):
        st.metric("Items found, mean", f"{found.items.mean():,.1f}")
        st.metric("Queries with a hit", f"{found.hit_rate:.0%}", help="They find an item with their label.")
        st.metric("Precision, mean", f"{found.precision.mean():.3f}", help="Finding nothing counts 0.")
    draw_found(model, marked, radius)
    runs = runs_of(model.job, "training", [f"{marked.source} → {marked.target}"], pinned=False)
    left, right = st.columns(2, gap="large")
    with left:
        show_chart(hit_rate_by_radius(runs, radius), "hit_rate")
    with right:
        show_chart(size_by_radius(runs, radius), "look_up_size")


def draw_found(model: Model, marked: Marked, radius: int) -> None:
    """What the query on the map finds within the radius, nearest first."""
    items, relevant = (int(counts[: radius + 1].sum()) for counts in (marked.items_at, marked.relevant_at))
    right = "" if marked.relevance is None else f", {relevant:,} of them with its label"
    st.text(f"“{shortened(marked.caption)}” finds {items:,} items within radius {radius}{right}")
    if not items:
        st.info("Nothing lies so near. Widen the radius.", icon=":material/open_in_full:")
        return
    near = np.flatnonzero(marked.distances <= radius)[:SHOWN].tolist()
    notes = [_notes(marked, place) for place in near]
    draw_gallery(model.data, marked.rows[near], notes, "radius")


def _notes(marked: Marked, place: int) -> list[str]:
    away = f"{marked.distances[place]} bits away"
    return [away] if marked.relevance is None else [away, relevance_words(bool(marked.relevance[place]))]


def draw_buckets(model: Model) -> None:
    """How many items share a code, and the fullest buckets."""
    st.markdown("##### Buckets: items that share a code")
    buckets = _buckets(model.key, model)
    left, right = st.columns(2, gap="large")
    with left:
        show_chart(bucket_sizes(buckets.sizes), "buckets")
    with right:
        st.text("One item of each of the fullest buckets")
        chosen = range(min(SHOWN_BUCKETS, len(buckets.sizes)))
        rows = [int(model.split.train[buckets.members(bucket)[0]]) for bucket in chosen]
        draw_gallery(
            model.data, rows, [(f"{buckets.sizes[bucket]:,} items",) for bucket in chosen], "buckets"
        )


@st.cache_resource(max_entries=8, show_spinner="Filling the buckets …")
def _buckets(key: str, _model: Model) -> Buckets:
    return fill_buckets(_model.codes)

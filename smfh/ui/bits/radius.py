"""Look-up by radius: what one query finds, what all of them find, and how full the buckets are."""

import numpy as np
import streamlit as st

from smfh.asking import Answer
from smfh.bits import shown_modality
from smfh.landscape import Buckets, fill_buckets
from smfh.plots import Curve, bucket_sizes, hit_rate_by_radius, size_by_radius
from smfh.runs import Run
from smfh.types import Words
from smfh.ui.charts import show_chart
from smfh.ui.gallery import draw_gallery, in_bits
from smfh.ui.items import cut
from smfh.ui.server import derive

RADIUS = "look_up_radius"
USUAL = 2
SHOWN, SHOWN_BUCKETS = 12, 6


def draw_radius(run: Run, words: str, answer: Answer) -> None:
    """One slider moves the figures over all queries and the gallery of one."""
    st.markdown("##### Look-up within a radius")
    bits = run.hasher.bits
    if st.session_state.get(RADIUS, 0) > bits:
        del st.session_state[RADIUS]
    radius = st.slider("Hamming radius (bits)", 0, bits, min(USUAL, bits), key=RADIUS)
    scores = run.scores(answer.question.source, answer.target)
    within = scores.within
    with st.container(horizontal=True, key="radius_measures"):
        st.metric("Items found, mean", f"{within.items[radius]:,.1f}")
        hits = f"{within.hits[radius]:.0%}"
        st.metric("Queries with a hit", hits, help="They find an item with their label.")
        st.metric("Precision, mean", f"{within.precision[radius]:.3f}", help="Finding nothing counts 0.")
    draw_found(run, words, answer, radius)
    curves = [Curve(run.method.name, run.method.title, (scores,))]
    left, right = st.columns(2, gap="large")
    with left:
        show_chart(hit_rate_by_radius(curves, radius), "hit_rate")
    with right:
        show_chart(size_by_radius(curves, radius), "look_up_size")


def draw_found(run: Run, words: str, answer: Answer, radius: int) -> None:
    """What the query on the map finds within the radius, nearest first."""
    items, relevant = answer.within(radius), int(answer.counts.relevant[0, : radius + 1].sum())
    right = "" if answer.relevance is None else f", {relevant:,} of them with its label"
    what = "1 item" if items == 1 else f"{items:,} items"
    st.text(f"“{cut(words)}” finds {what} within radius {radius}{right}")
    if not items:
        st.info("Nothing lies so near. Widen the radius.", icon=":material/open_in_full:")
        return
    near = min(items, SHOWN, len(answer.rows))  # the first ones: nearest come first
    away = [in_bits(int(distance)) for distance in answer.distances[:near]]
    right_ones = np.ones(near) if answer.relevance is None else answer.relevance[:near]
    notes = [(words if right else f"✗ {words}",) for words, right in zip(away, right_ones, strict=True)]
    draw_gallery(run.data, answer.rows[:near], notes, "radius")
    wrong = near - int(np.count_nonzero(right_ones))
    st.caption(f"{near} nearest" + (f", {wrong} of them (✗) without a label of the query." if wrong else "."))


def draw_buckets(run: Run) -> None:
    """How many items share a code, and the fullest buckets."""
    st.markdown("##### Buckets: items that share a code")
    buckets = buckets_of(run)
    left, right = st.columns(2, gap="large")
    with left:
        show_chart(bucket_sizes(buckets.sizes), "buckets")
    with right:
        st.text("One item of each of the fullest buckets")
        sizes = buckets.sizes[:SHOWN_BUCKETS]
        rows = [int(run.split.train[buckets.members(bucket)[0]]) for bucket in range(len(sizes))]
        draw_gallery(run.data, rows, [(f"{size:,} items",) for size in sizes], "buckets")


def buckets_of(run: Run) -> Buckets:
    """The items of the database by their code."""
    return derive(run, "buckets", lambda: fill_buckets(shown_codes(run)), "Filling the buckets …")


def shown_codes(run: Run) -> Words:
    """The codes of the database, as pictures are found by them."""
    return run.hasher.database_codes[shown_modality(run.hasher)]

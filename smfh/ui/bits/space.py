"""The space of codes: a map to brush, with a query and its answers on it."""

import numpy as np
import streamlit as st

from smfh.asking import Answer
from smfh.hamming import pack
from smfh.landscape import KINDS, CodeMap, map_codes
from smfh.plots import code_map
from smfh.runs import Run
from smfh.types import FloatArray, MultimodalDataset
from smfh.ui.bits.asked import answer_asked, choose_query, words_of
from smfh.ui.bits.radius import draw_buckets, draw_radius, shown_codes
from smfh.ui.canvas import make_sheet, show_pictures
from smfh.ui.charts import picked_numbers, show_pickable
from smfh.ui.gallery import about_item, caption_of, draw_gallery
from smfh.ui.items import cut
from smfh.ui.server import derive, reading

MARKED = 12  # answers
MOST_PICTURES = 12


@st.fragment
def draw_space(run: Run) -> None:
    """Map, brushed items, radius and buckets; drawn again alone, without the rest of the page."""
    how, what = st.columns([1, 4], vertical_alignment="bottom")
    kind = how.segmented_control("Map", list(KINDS), default="PCA", required=True, key="map_kind") or "PCA"
    with what:
        asked = choose_query(run)
    answer = answer_asked(run, asked)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        rows = draw_map(run, kind, answer)
    with right:
        draw_brushed(run.data, rows)
    draw_radius(run, words_of(run, asked), answer)
    draw_buckets(run)


def _show_pca() -> None:
    st.session_state["map_kind"] = "PCA"


def draw_map(run: Run, kind: str, answer: Answer) -> list[int]:
    """The map; the rows of the items that are brushed."""
    data, place = run.data, st.empty()

    def lay_out() -> CodeMap:
        with place.container(horizontal=True, vertical_alignment="center"):
            st.text("Laying out the codes: a few seconds …")
            st.button("Show PCA instead", key="map_cancel", on_click=_show_pca)
        glance, of = st.empty(), (shown_codes(run), run.split.train, run.hasher.bits, kind)
        return reading().call(map_codes, *of, check=lambda: glance.empty())  # where who leaves is noticed

    flat = derive(run, ("map", kind), lay_out)
    place.empty()
    chart = code_map(
        kind,
        flat.positions,
        flat.rows,
        data.labels[flat.rows].argmax(axis=1),  # the first class that each item has
        data.class_names,
        [cut(caption_of(data, int(row))) for row in flat.rows],
        flat.items,
        flat.locate(pack(answer.code[None])[0]),
        flat.find(answer.rows[:MARKED]),
    )
    if data.thumbnails is None:
        rows = picked_numbers(show_pickable(chart, "code_map", ("box", "lasso", "points")))
    else:
        pictures = [data.thumbnails[row] for row in flat.rows]
        sheet = derive(run, ("sheet", kind), lambda: make_sheet(pictures), "Drawing the pictures small …")
        rows = show_pictures(chart, sheet, "picture_map")
        st.caption("A dot is an item that has no room for its picture, in the colour of its class: zoom in.")
    st.caption(
        f"{kind}: {KINDS[kind]}. Items of one code stand round one place. The star is the query, amid the "
        f"codes nearest to it; rings are its first {MARKED} answers, where they are drawn."
    )
    return rows


def draw_brushed(data: MultimodalDataset, rows: list[int]) -> None:
    """The brushed items, or how to brush."""
    st.markdown("##### Brushed items")
    if not rows:
        st.info("Drag over the map, and the items under it appear here.", icon=":material/select_all:")
        return
    more = f", the first {MOST_PICTURES} of them here" if len(rows) > MOST_PICTURES else ""
    st.text(f"{len(rows):,} {'item' if len(rows) == 1 else 'items'}{more}: {class_shares(data, rows)}")
    shown = rows[:MOST_PICTURES]
    draw_gallery(data, shown, [about_item(data, row) for row in shown], "brushed")


def class_shares(data: MultimodalDataset, rows: list[int], most: int = 3) -> str:
    """The commonest classes of some items and their shares."""
    shares: FloatArray = data.labels[rows].mean(axis=0)
    order = np.argsort(-shares, kind="stable")[:most]
    return ", ".join(f"{shares[k]:.0%} {data.class_names[k]}" for k in order if shares[k] > 0)

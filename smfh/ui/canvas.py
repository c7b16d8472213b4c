"""The map of codes with pictures, on a canvas (canvas.js) with move, zoom and selection by dragging.

All pictures are sent to the browser once, as one sheet; for a new query only a few numbers are sent. Pictures
are drawn where they do not overlap. Other items are dots in the colour of their class; zoom in to see them.
"""

import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image, ImageOps

from smfh.hamming import pack
from smfh.plots import MapChart, code_map
from smfh.plots.theme import class_colour
from smfh.retrieval.bits import display_modality
from smfh.retrieval.code_space import KINDS, CodeMap, map_codes
from smfh.retrieval.search import SearchResults
from smfh.runs import Run
from smfh.types import IntArray, MultimodalDataset, Words
from smfh.ui.charts import offer_data, picked_numbers, show_pickable
from smfh.ui.items import caption_of, cut
from smfh.ui.server import derive, local_engine

PICTURE_PIXELS = 40  # side of a picture on the sheet
WEBP_QUALITY = 80
MARKED_RESULTS = 12
MAP_KIND = "map_kind"  # session key of the choice on the Bits page
GRID_STEPS = 10_000  # across the map, to which positions are rounded
HTML, CSS, JAVASCRIPT = (
    Path(__file__).with_name(f"canvas.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")
)

_SHEET = st.components.v2.component(
    "smfh_sheet",
    js="""
    export default async function ({ data }) {
      window.smfhSheet = await createImageBitmap(new Blob([data], { type: "image/webp" }))
      window.dispatchEvent(new Event("smfh-sheet"))
    }
    """,
)
_MAP = st.components.v2.component("smfh_map", html=HTML, css=CSS, js=JAVASCRIPT)


def make_sheet(pictures: Sequence[bytes]) -> bytes:
    """Return all pictures in one WebP file, approximately square, row by row in cells of equal size."""
    columns, cell = sheet_columns(len(pictures)), (PICTURE_PIXELS, PICTURE_PIXELS)
    sheet = Image.new("RGB", (columns * PICTURE_PIXELS, -(-len(pictures) // columns) * PICTURE_PIXELS), "white")
    for k, picture in enumerate(pictures):
        image = Image.open(io.BytesIO(picture)).convert("RGB")
        place = (k % columns * PICTURE_PIXELS, k // columns * PICTURE_PIXELS)
        sheet.paste(ImageOps.pad(image, cell, color="white"), place)
    file = io.BytesIO()
    sheet.save(file, "WEBP", quality=WEBP_QUALITY)
    return file.getvalue()


def sheet_columns(pictures: int) -> int:
    """Return the number of columns of a sheet with this many pictures."""
    return max(1, math.isqrt(pictures - 1) + 1)


def map_chart(kind: str, codes: CodeMap, data: MultimodalDataset, query: Words, results: IntArray) -> MapChart:
    """Return the chart of a map of codes; `query` is a packed code, `results` are rows to mark."""
    rows = codes.rows
    return code_map(
        kind,
        codes.positions,
        rows,
        data.labels[rows].argmax(axis=1),  # the first class of each item
        data.class_names,
        [cut(caption_of(data, row)) for row in rows.tolist()],
        codes.items,
        codes.locate(query),
        codes.find(results),
    )


def draw_code_map(
    run: Run, kind: str, results: SearchResults, key: str, on_pick: Callable[[int], None] | None = None
) -> list[int]:
    """Draw a map of the codes with query and results; return the rows of the items selected on it.

    `on_pick` is called with the row of an item that is clicked alone.
    """
    data, place = run.data, st.empty()

    def lay_out() -> CodeMap:
        with place.container(horizontal=True, vertical_alignment="center"):
            st.text("Computing the map: a few seconds …")
            show_pca = {MAP_KIND: "PCA"}
            st.button("Show PCA instead", "map_cancel", on_click=st.session_state.update, args=(show_pca,))
        # drawing the heartbeat raises an exception when the visitor has left, which ends the call
        heartbeat, codes = st.empty(), run.hasher.database_codes[display_modality(run.hasher)]
        arguments = (codes, run.split.train, run.hasher.bits, kind)
        return local_engine().call(map_codes, *arguments, check=lambda: heartbeat.empty())

    flat = derive(run, ("map", kind), lay_out)
    place.empty()
    chart = map_chart(kind, flat, data, pack(results.code[None])[0], results.rows[:MARKED_RESULTS])

    def picked() -> None:
        sent = st.session_state[key]
        rows = picked_numbers(sent) if pictures is None else brushed_rows(sent.rows, chart)
        if on_pick is not None and len(rows) == 1:
            on_pick(rows[0])

    if (pictures := data.thumbnails) is None:
        rows = picked_numbers(show_pickable(chart, key, ("box", "lasso", "points"), picked))
    else:
        sheet = derive(
            run,
            ("sheet", kind),
            lambda: make_sheet([pictures[row] for row in flat.rows]),  # decoded once, not at every rerun
            "Preparing the pictures …",
        )
        rows = show_pictures(chart, sheet, key, picked)
        st.caption("A dot is an item whose picture has no space here, in the colour of its class. Zoom in to see it.")
    st.caption(
        f"{kind}: {KINDS[kind]}. Items with identical codes form a cluster. Star: the query, placed among its "
        f"nearest codes. Rings: the first {MARKED_RESULTS} results, where they are on the map."
    )
    return rows


def show_pictures(chart: MapChart, sheet: bytes, key: str, on_brush: Callable[[], None] = lambda: None) -> list[int]:
    """Draw the map with a picture for each point; return the rows of the selected items."""
    st.text(chart.title)
    _SHEET(data=sheet, key=f"{key}_sheet")
    x, y = (np.round(GRID_STEPS * chart.positions.T)).astype(int).tolist()
    content = {
        "map": f"{chart.kind} {hash(chart.positions.tobytes())}",  # a new map clears the selection
        "description": chart.description,
        "x": x,
        "y": y,
        "rows": chart.items.tolist(),
        "words": list(chart.hover_texts),
        "query": None if chart.query is None else np.round(GRID_STEPS * chart.query).astype(int).tolist(),
        "results": [] if chart.results is None else chart.results.tolist(),
        "columns": sheet_columns(len(chart.items)),
        "side": PICTURE_PIXELS,
        "colours": [class_colour(position) for position in chart.classes.tolist()],
    }
    drawn = _MAP(data=content, key=key, on_rows_change=on_brush)
    offer_data(chart, key)
    return brushed_rows(drawn.rows, chart)


def brushed_rows(sent: Any, chart: MapChart) -> list[int]:
    """Return the rows of items that the browser reports as selected and that are on this map."""
    drawn = set(chart.items.tolist())
    return [row for row in sent if row in drawn] if isinstance(sent, list) else []

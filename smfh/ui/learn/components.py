"""The diagram, galleries and matrices as components, which do not flicker when a slider moves.

Their CSS and JavaScript are in the files next to this one. Names are inserted as text, never as HTML.
"""

import base64
import io
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from smfh.datasets import DATASETS
from smfh.lessons.diagram import boxes_of, diagram_frames
from smfh.lessons.lesson_runs import Gallery
from smfh.lessons.walkthrough import STEP_INFO, TOLERANCE, MatrixKey, Step, Walkthrough
from smfh.plots.theme import class_colour
from smfh.types import FloatArray, IntArray, MultimodalDataset
from smfh.ui.items import caption_of, cut, pictures_of

SIDE_PIXELS = 72
MAX_NAME_LENGTH = 16
GOES_IN, COMES_OUT, REST = "Goes in", "Comes out", "Not used in this step"
TITLES = {
    "features": ("X", "Features: the data of each item"),
    "rebuilt": ("Y Uᵀ", "Features as codes and bases rebuild them; compare with X"),
    "basis": ("U", "Basis: how much of each feature each bit stands for"),
    "function": ("W", "Hash function: the weight of each feature for each bit"),
    "relaxed": ("Y", "Relaxed codes: the value of each bit for each item; shared by all modalities"),
    "threshold": ("ȳ", "Thresholds: the mean of each bit over all items; above it the bit is on"),
    "code": ("codes", "The bits: 1 where Y is above the threshold"),
    "graph": ("Â", "Label graph: the number of classes that two sampled items (marked orange) share"),
    "labels": ("Labels", "Labels: 1 where an item has a class"),
    "query": ("Query", "Code of the query: its features times W, compared with the thresholds"),
    "distances": (
        "Distance",
        "Hamming distance: the number of bits that differ from the query; in the order of the items",
    ),
    "results": ("Results", "Items sorted by distance; ✗ marks items without a class of the query"),
}
HEADINGS = {  # of the diagram, above the boxes of this name
    "items": "1 Data",
    "features": "2 Features",
    "basis": "3 Training: U, labels, W",
    "relaxed": "4 Codes",
    "distances": "5 Search",
}
ARROWS = (  # of the diagram, between the boxes of these names
    *(("labels", "graph"), ("features", "basis"), ("features", "function"), ("basis", "relaxed")),
    *(("relaxed", "basis"), ("graph", "relaxed"), ("graph", "function"), ("function", "relaxed")),
    *(("relaxed", "function"), ("relaxed", "code")),
    *(("code", "distances"), ("function", "query"), ("query", "distances")),
)


def _component(name: str, html: str) -> Any:
    css, js = (Path(__file__).with_name(f"{name}.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return st.components.v2.component(f"smfh_{name}", html=html, css=css, js=js)


_GALLERIES = _component("galleries", '<div class="galleries"></div>')
_MATRICES = _component("matrices", '<div class="groups"></div><div class="groups rest"></div>')
_LEGEND = st.components.v2.component(
    "smfh_legend",
    html='<div class="legend"></div>',
    css=""".legend { display: flex; flex-wrap: wrap; gap: .1rem .9rem; font: .75rem var(--st-font);
      color: var(--st-text-color); } b { margin-right: .25rem; }""",
    js="""
    export default function ({ data, parentElement }) {
      parentElement.querySelector(".legend").replaceChildren(...data.map(([mark, colour, text]) => {
        const entry = document.createElement("span"), sign = document.createElement("b")
        Object.assign(sign, { textContent: mark }).style.color = colour
        entry.append(sign, text)
        return entry
      }))
    }
    """,
)
_DIAGRAM = _component("diagram", Path(__file__).with_name("diagram.html").read_text("utf-8"))


def show_diagram(
    walkthrough: Walkthrough,
    query: int,
    stage: int,
    selected: str,
    key: str,
    on_stage: Callable[[], None],
    on_box: Callable[[], None],
) -> None:
    """Show the whole method with the numbers of the example; `stage` is the number of steps done.

    A click on a box sets `box` to `name:modality`; moving through the training sets `stage`.
    """
    content = diagram_content(walkthrough, query) | {"stage": stage, "selected": selected}
    _DIAGRAM(data=content, key=key, on_stage_change=on_stage, on_box_change=on_box)


def diagram_content(walkthrough: Walkthrough, query: int) -> dict[str, Any]:
    """Return what the diagram draws: items, boxes, arrows and the numbers after every step."""
    data, modalities = walkthrough.example.data, list(walkthrough.example.features)[::-1]  # text first
    relevant = (data.labels & data.labels[query]).any(axis=1).tolist()
    pictures, boxes = picture_urls(data, range(len(data))), []
    for box in boxes_of(walkthrough):
        name, modality = box.split(":", 1)
        rows, columns = names_of(walkthrough, (name, modality))
        title, meaning = f"{TITLES[name][0]} {modality}".strip(), TITLES[name][1]
        boxes.append({"id": box, "title": title, "meaning": meaning, "rows": rows, "columns": columns})

    return {
        "label": "Diagram of the method: from pictures and words to codes and results",
        "items": [
            {"name": caption_of(data, row), "picture": picture, "relevant": relevant[row]}
            for row, picture in enumerate(pictures)
        ],
        "query_text": f"{walkthrough.source} of “{cut(caption_of(data, query), MAX_NAME_LENGTH)}”",
        "modalities": modalities,
        "source": walkthrough.source,
        "bits": walkthrough.method.bits,
        "classes": list(data.class_names),
        "boxes": boxes,
        "headings": HEADINGS,
        "arrows": ARROWS,
        "frames": diagram_frames(walkthrough, query),
    }


def gallery_items(
    data: MultimodalDataset, gallery: Gallery, notes: Sequence[Sequence[str]] = ()
) -> list[dict[str, Any]]:
    """Return the items of a gallery for `show_galleries`; `notes` has the lines below each item."""
    urls = picture_urls(data, gallery.rows)
    rows = zip(gallery.rows, urls, gallery.relevant, notes or [()] * len(urls), strict=True)
    return [
        {"name": caption_of(data, row), "picture": url, "relevant": relevant, "notes": note}
        for row, url, relevant, note in rows
    ]


def show_galleries(galleries: Sequence[tuple[str, Sequence[dict[str, Any]]]], key: str) -> None:
    """Show rows of items, each with a title; items that are not relevant are faded and marked ✗."""
    _GALLERIES(data=[{"title": title, "items": items} for title, items in galleries], key=key)


def picture_urls(data: MultimodalDataset, rows: Sequence[int]) -> list[str]:
    """Return the pictures of these items as data URLs, cached unless the data is an upload."""
    url_of = _cached_url if data.name in DATASETS else small_picture_url
    return [url_of(picture) for picture in pictures_of(data, rows, None)]


def small_picture_url(picture: bytes) -> str:
    """Return a thumbnail of the picture as a data URL."""
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.thumbnail((SIDE_PIXELS, SIDE_PIXELS))
    file = io.BytesIO()
    image.save(file, "WEBP", quality=80)
    return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"


_cached_url = lru_cache(maxsize=4096)(small_picture_url)


def show_map_legend(class_names: Sequence[str], key: str) -> None:
    """Show what the marks and colours of a map of codes mean."""
    marks = [("★", "#D77F0D", "the query"), ("◯", "currentColor", "results")]
    classes = [("●", class_colour(k), cut(name)) for k, name in enumerate(class_names)]
    _LEGEND(data=[*marks, *classes], key=key)


def show_matrices(
    groups: Mapping[str, Sequence[dict[str, Any]]], selected: str, key: str, on_click: Callable[[], None]
) -> None:
    """Show matrices as tables; a click on an entry sets `cell` to `name:modality:row:column`."""
    shown = [{"title": title, "matrices": tables} for title, tables in groups.items() if tables]
    _MATRICES(data={"groups": shown, "selected": selected}, key=key, on_cell_change=on_click)


def matrix_groups(walkthrough: Walkthrough, step: Step) -> dict[str, list[dict[str, Any]]]:
    """Return all matrices by group: what goes into the step, what comes out, and what it does not use."""
    info, before, after = STEP_INFO[step.name], step.before.matrices, step.after.matrices
    rest = [name for name in TITLES if name not in (*info.inputs, *info.outputs)]
    groups: dict[str, list[dict[str, Any]]] = {}
    for group, names, values in ((GOES_IN, info.inputs, before), (COMES_OUT, info.outputs, after), (REST, rest, after)):
        keys = [key for name in names for key in after if key[0] == name]
        groups[group] = [
            matrix_table(
                walkthrough, key, values[key], step.after.sample, step.sizes[key] if group == COMES_OUT else None
            )
            for key in keys
        ]
    return groups


def matrix_table(
    walkthrough: Walkthrough, key: MatrixKey, values: FloatArray, sample: IntArray, sizes: FloatArray | None = None
) -> dict[str, Any]:
    """Return a matrix for `show_matrices`; `sizes` are the changes of its entries.

    A shade is the ratio of an entry to the largest absolute value: orange from −1, none at 0, violet to 1.
    """
    (name, modality), (rows, columns) = key, names_of(walkthrough, key)
    pictures = picture_urls(walkthrough.example.data, range(len(walkthrough.example.data)))
    decimals = 0 if name in ("code", "graph", "labels", "query", "distances") else 2
    largest = float(np.abs(values).max(initial=0)) or 1.0
    changed = np.zeros(values.shape, dtype=bool) if sizes is None else sizes > TOLERANCE
    return {
        "id": f"{name}:{modality}",
        "title": f"{TITLES[name][0]} {modality}".strip(),
        "meaning": TITLES[name][1],
        "rows": rows,
        "columns": columns,
        "entries": [[format_entry(value, decimals) for value in line] for line in values.tolist()],
        "shades": (values / largest).round(3).tolist(),
        "changed": changed.tolist(),
        "row_pictures": [] if name in ("basis", "function", "threshold", "query") else pictures,
        "column_pictures": pictures if name == "graph" else [],
        "sampled": [name == "graph" and row in sample for row in range(len(rows))],
    }


def names_of(walkthrough: Walkthrough, key: MatrixKey) -> tuple[Sequence[str], Sequence[str]]:
    """Return the row names and the column names of a matrix."""
    example, (name, modality) = walkthrough.example, key
    items = [cut(caption_of(example.data, row), MAX_NAME_LENGTH) for row in range(len(example.data))]
    bits = [f"bit {k}" for k in range(walkthrough.method.bits)]
    features = example.features.get(modality, ())
    if name in ("features", "rebuilt"):
        return items, features
    if name in ("basis", "function"):
        return features, bits
    classes = [cut(own, MAX_NAME_LENGTH) for own in example.data.class_names]
    other: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        "threshold": (["mean"], bits),
        "graph": (items, items),
        "labels": (items, classes),
        "query": (["query"], bits),
        "distances": (items, ["bits that differ"]),
    }
    return other.get(name, (items, bits))


def format_entry(value: float, decimals: int) -> str:
    """Format a number briefly: .66 instead of 0.66, and 0 for zero."""
    if value == 0 or decimals == 0:
        return f"{value:.0f}"
    text = f"{value:.{decimals}f}" if abs(value) < 100 else f"{value:.0f}"
    return text.replace("-", "−").replace("0.", ".", 1) if abs(value) < 1 else text.replace("-", "−")


def read_entry(text: str | None, step: Step) -> tuple[MatrixKey, int, int] | None:
    """Parse `matrix:modality:row:column` of a link or a click; None if the step has no such entry."""
    match = re.fullmatch(r"(\w+):(.*):(\d{1,3}):(\d{1,3})", text or "")
    if match is None:
        return None
    key, row, column = (match[1], match[2]), int(match[3]), int(match[4])
    matrix = step.after.matrices.get(key)
    exists = matrix is not None and row < matrix.shape[0] and column < matrix.shape[1]
    return (key, row, column) if exists else None

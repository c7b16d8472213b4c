"""Diagram, galleries and matrices of the Learn page as components, which a slider updates without flicker.

Their CSS and JavaScript are in the files next to this one. Names are inserted as text, never as HTML.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from smfh.lessons.diagram import ARROWS, HEADINGS, MEANINGS, diagram_frames
from smfh.lessons.lesson_runs import Gallery
from smfh.lessons.walkthrough import STEP_INFO, TOLERANCE, MatrixKey, Step, Walkthrough
from smfh.plots.theme import class_colour
from smfh.types import FloatArray, IntArray, MultimodalDataset
from smfh.ui.items import caption_of, cut, picture_url, pictures_of

MAX_NAME_LENGTH = 16
GOES_IN, COMES_OUT, REST = "Inputs", "Outputs", "Not used in this step"
WHOLE_NUMBERS = ("code", "graph", "labels", "query", "distances")  # matrices that are shown without decimals


def _component(name: str, html: str) -> Any:
    css, js = (Path(__file__).with_name(f"{name}.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return st.components.v2.component(f"smfh_{name}", html=html, css=css, js=js)


_GALLERIES = _component("galleries", '<div class="galleries"></div>')
_MATRICES = _component("matrices", '<div class="groups"></div><div class="groups rest"></div>')
_DIAGRAM = _component("diagram", Path(__file__).with_name("diagram.html").read_text("utf-8"))
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


def show_diagram(
    walkthrough: Walkthrough, query: int, stage: int, selected: str, key: str, **on_change: Callable[[], None]
) -> None:
    """Show the diagram of the method with the numbers of the example after `stage` steps.

    The component sets `box` to `name:modality` on a click, and `stage` when the visitor moves to another step.
    """
    data, modalities = walkthrough.example.data, list(walkthrough.example.features)[::-1]  # text first
    relevant = (data.labels & data.labels[query]).any(axis=1).tolist()
    frames, boxes = diagram_frames(walkthrough, query), []
    for box in frames[0]["values"]:
        name, modality = box.split(":", 1)
        (symbol, meaning), (rows, columns) = MEANINGS[name], names_of(walkthrough, (name, modality))
        title = f"{symbol} {modality}".strip()
        boxes.append({"id": box, "title": title, "meaning": meaning, "rows": rows, "columns": columns})
    content = {
        "label": "Diagram of the method: from pictures and words to codes and results",
        "items": [
            {"name": caption_of(data, row), "picture": picture, "relevant": relevant[row]}
            for row, picture in enumerate(_pictures(data, range(len(data))))
        ],
        "query_text": f"{walkthrough.source} of “{cut(caption_of(data, query), MAX_NAME_LENGTH)}”",
        "modalities": modalities,
        "source": walkthrough.source,
        "bits": walkthrough.method.bits,
        "classes": list(data.class_names),
        "boxes": boxes,
        "headings": HEADINGS,
        "arrows": ARROWS,
        "frames": frames,
        "stage": stage,
        "selected": selected,
    }
    _DIAGRAM(data=content, key=key, **on_change)


def show_galleries(
    data: MultimodalDataset, galleries: Sequence[Gallery], key: str, notes: Sequence[Sequence[str]] = ()
) -> None:
    """Show rows of items, each with a title; items that are not relevant are faded and marked ✗.

    `notes` has the lines below each item.
    """
    content = []
    for gallery in galleries:
        rows = gallery.rows
        own = zip(rows, _pictures(data, rows), gallery.relevant, notes or [()] * len(rows), strict=True)
        items = [
            {"name": caption_of(data, row), "picture": picture, "relevant": relevant, "notes": lines}
            for row, picture, relevant, lines in own
        ]
        content.append({"title": gallery.title, "items": items})
    _GALLERIES(data=content, key=key)


def _pictures(data: MultimodalDataset, rows: Sequence[int]) -> list[str]:
    return [picture_url(picture) for picture in pictures_of(data, rows, None)]


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
    """Return the matrices in three groups: inputs of the step, outputs of the step, and all others."""
    info, sample = STEP_INFO[step.name], step.after.sample

    def tables(names: Sequence[str], values: Mapping[MatrixKey, FloatArray], is_new: bool = False) -> list[Any]:
        keys = [key for name in names for key in values if key[0] == name]
        sizes = step.sizes if is_new else {}
        return [matrix_table(walkthrough, key, values[key], sample, sizes.get(key)) for key in keys]

    rest = [name for name in MEANINGS if name not in (*info.inputs, *info.outputs)]
    return {
        GOES_IN: tables(info.inputs, step.before.matrices),
        COMES_OUT: tables(info.outputs, step.after.matrices, is_new=True),
        REST: tables(rest, step.after.matrices),
    }


def matrix_table(
    walkthrough: Walkthrough, key: MatrixKey, values: FloatArray, sample: IntArray, sizes: FloatArray | None = None
) -> dict[str, Any]:
    """Return a matrix as a table for `show_matrices`; `sizes` are the changes of its entries.

    A shade is the ratio of an entry to the largest absolute value: orange from −1, none at 0, violet to 1.
    """
    (name, modality), (rows, columns) = key, names_of(walkthrough, key)
    pictures = _pictures(walkthrough.example.data, range(len(walkthrough.example.data)))
    decimals = 0 if name in WHOLE_NUMBERS else 2
    changed = np.zeros(values.shape, dtype=bool) if sizes is None else sizes > TOLERANCE
    return {
        "id": f"{name}:{modality}",
        "title": f"{MEANINGS[name][0]} {modality}".strip(),
        "meaning": MEANINGS[name][1],
        "rows": rows,
        "columns": columns,
        "entries": [[_format_entry(value, decimals) for value in line] for line in values.tolist()],
        "shades": (values / (float(np.abs(values).max(initial=0)) or 1.0)).round(3).tolist(),
        "changed": changed.tolist(),
        "row_pictures": [] if name in ("basis", "function", "threshold", "query") else pictures,
        "column_pictures": pictures if name == "graph" else [],
        "sampled": [name == "graph" and row in sample for row in range(len(rows))],
    }


def names_of(walkthrough: Walkthrough, key: MatrixKey) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of the rows and of the columns of a matrix."""
    example, (name, modality) = walkthrough.example, key
    items = [cut(caption_of(example.data, row), MAX_NAME_LENGTH) for row in range(len(example.data))]
    bits = [f"bit {k}" for k in range(walkthrough.method.bits)]
    match name:
        case "features" | "rebuilt":
            return items, example.features[modality]
        case "basis" | "function":
            return example.features[modality], bits
        case "threshold" | "query":
            return ["mean" if name == "threshold" else "query"], bits
        case "graph":
            return items, items
        case "labels":
            return items, [cut(own, MAX_NAME_LENGTH) for own in example.data.class_names]
        case "distances":
            return items, ["bits that differ"]
    return items, bits


def _format_entry(value: float, decimals: int) -> str:
    """Format a number briefly: .66 instead of 0.66, and 0 for zero."""
    text = f"{value:.{decimals if value and abs(value) < 100 else 0}f}".replace("-", "−")
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def read_entry(text: str | None, step: Step) -> tuple[MatrixKey, int, int] | None:
    """Parse `matrix:modality:row:column` of a link or a click; None if the step has no such entry."""
    if (match := re.fullmatch(r"(\w+):(.*):(\d{1,3}):(\d{1,3})", text or "")) is None:
        return None
    key, row, column = (match[1], match[2]), int(match[3]), int(match[4])
    matrix = step.after.matrices.get(key)
    return (key, row, column) if matrix is not None and row < len(matrix) and column < matrix.shape[1] else None

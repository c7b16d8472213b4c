"""Worst and best queries: a table of them, and which classes answer for which."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from smfh.bits import confusion_shares, largest_classes
from smfh.metrics import APScore
from smfh.plots import confusion
from smfh.runs import Run
from smfh.types import Answers, IntArray, MultimodalDataset
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, labels_of, shortened
from smfh.ui.opening import open_query
from smfh.ui.server import derive

FIRST = 12  # answers that the table counts
CONFUSED = 100  # answers that tell which class answers for which
TABLE, DIRECTION, CLASSES, END = "query_table", "query_direction", "query_classes", "query_end"


def draw_queries(run: Run) -> None:
    """Filters, the table, and the confusion of classes."""
    data, queries = run.data, run.split.queries
    way, end, by_class = st.columns([2, 2, 4], vertical_alignment="bottom")
    source, target = way.selectbox(
        "Direction", run.directions, format_func=lambda pair: f"{pair[0]} → {pair[1]}", key=DIRECTION
    )
    first = end.segmented_control("First", ["Worst", "Best"], default="Worst", required=True, key=END)
    known = set(data.class_names)
    st.session_state[CLASSES] = [name for name in st.session_state.get(CLASSES, []) if name in known]
    classes = by_class.multiselect("Classes", data.class_names, key=CLASSES, placeholder="Any class")
    score = run.scores(source, target).average_precision["found"]
    answers = derive(
        run, ("all answers", source, target), lambda: run.answers(source, target, depth=CONFUSED)
    )
    order = order_queries(score, data, queries, classes, first == "Best")
    if len(order):
        event: Any = draw_table(score, answers, data, queries, order)
        open_picked(picked_row(event), queries[order], source, target)
    else:
        st.info("No query has such a class. Take one away.")
    rows = largest_classes(data.labels[queries])
    labels, names = data.labels[:, rows], [data.class_names[k] for k in rows]
    show_chart(
        confusion(confusion_shares(answers.rows, labels[queries], labels), names, CONFUSED), "confusion"
    )


def order_queries(
    score: APScore, data: MultimodalDataset, queries: IntArray, classes: Sequence[str], best: bool
) -> IntArray:
    """Places of the queries that have one of the classes, by their AP."""
    AP = score.by_query
    order: IntArray = np.argsort(-AP if best else AP, kind="stable")
    if classes:
        columns = [name in classes for name in data.class_names]
        order = order[data.labels[queries[order]][:, columns].any(axis=1)]
    return order


def draw_table(
    score: APScore, answers: Answers, data: MultimodalDataset, queries: IntArray, order: IntArray
) -> Mapping[str, Any]:
    """A row for each query; a click on one picks it."""
    right = answers.relevance[order, :FIRST].sum(axis=1)
    rows = queries[order].tolist()
    st.text(
        f"{len(order):,} held-out queries by {score.definition.label.replace('mAP', 'AP')}; click one to open"
    )
    table = {
        "AP": score.by_query[order],
        "Query": [shortened(caption_of(data, row)) for row in rows],
        "Labels": [", ".join(labels_of(data, row)) for row in rows],
        f"Right of the first {FIRST}": right,
        "Item": rows,
    }
    picked: Any = st.dataframe(
        table,
        key=TABLE,
        hide_index=True,
        height=360,
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        column_config={"AP": st.column_config.NumberColumn(format="%.3f", help=score.definition.words)},
        alt=f"Table of {len(order)} queries with their average precision",
    )
    event: Mapping[str, Any] = picked
    return event


def picked_row(event: Mapping[str, Any] | None) -> int | None:
    """The position of the row that is picked, or whose cell is."""
    selection = (event or {}).get("selection", {})
    rows = [*selection.get("rows", []), *(cell[0] for cell in selection.get("cells", []))]
    return int(rows[0]) if rows else None


def open_picked(position: int | None, rows: IntArray, source: str, target: str) -> None:
    """Ask the picked query on the Search page."""
    if position is not None and position < len(rows):
        open_query(int(rows[position]), source, target)

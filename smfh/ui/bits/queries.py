"""Worst and best queries: a table of them, and which classes answer for which."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from smfh.bits import confusion_shares, largest_classes
from smfh.metrics import APScore
from smfh.plots import confusion, harmless
from smfh.runs import Run
from smfh.types import Answers, IntArray, MultimodalDataset
from smfh.ui.address import hold
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, labels_of
from smfh.ui.items import cut
from smfh.ui.opening import open_query
from smfh.ui.server import derive

FIRST = 12  # answers that the table counts
CONFUSED = 100  # answers that tell which class answers for which
CLASSES = "query_classes"


def draw_queries(run: Run) -> None:
    """Filters, the table, and the confusion of classes; a click on a query asks it on the Search page."""
    data, queries = run.data, run.split.queries
    way, end, by_class = st.columns([2, 2, 4], vertical_alignment="bottom")
    direction = way.selectbox("Direction", run.directions, format_func=" → ".join, key="query_direction")
    first = end.segmented_control("First", ["Worst", "Best"], default="Worst", required=True, key="query_end")
    chosen = [name for name in st.session_state.get(CLASSES, []) if name in data.class_names]
    classes = by_class.multiselect(
        "Classes", data.class_names, key=hold(CLASSES, chosen), placeholder="Any class"
    )
    score = run.scores(*direction).average_precision["found"]
    answers = derive(run, ("all answers", direction), lambda: run.answers(*direction, depth=CONFUSED))
    order = order_queries(score, data, queries, classes, first == "Best")
    if len(order):
        position = picked_row(draw_table(score, answers, data, queries, order))
        if position is not None and position < len(order):
            open_query(int(queries[order[position]]), *direction)
    else:
        st.info("No query has such a class. Take one away.")
    columns = largest_classes(data.labels[queries])
    labels, names = data.labels[:, columns], [data.class_names[k] for k in columns]
    shares = confusion_shares(answers.rows, labels[queries], labels)
    show_chart(confusion(shares, names, CONFUSED), "confusion")


def order_queries(
    score: APScore, data: MultimodalDataset, queries: IntArray, classes: Sequence[str], best: bool
) -> IntArray:
    """Places of the queries that have one of the classes, by their AP."""
    order: IntArray = np.argsort(-score.by_query if best else score.by_query, kind="stable")
    if classes:
        columns = [name in classes for name in data.class_names]
        order = order[data.labels[queries[order]][:, columns].any(axis=1)]
    return order


def draw_table(
    score: APScore, answers: Answers, data: MultimodalDataset, queries: IntArray, order: IntArray
) -> Mapping[str, Any]:
    """A row for each query; a click on one picks it."""
    rows = queries[order].tolist()
    metric = score.definition.label.replace("mAP", "AP")
    st.text(f"{len(order):,} held-out queries by {metric}; click one to open")
    table = {
        "AP": score.by_query[order],
        "Query": [harmless(cut(caption_of(data, row))) for row in rows],
        "Labels": [harmless(", ".join(labels_of(data, row))) for row in rows],
        f"Right of the first {FIRST}": answers.relevance[order, :FIRST].sum(axis=1),
        "Item": rows,
    }
    picked: Any = st.dataframe(
        table,
        key="query_table",
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

"""Worst and best queries: a table of them, and which classes answer for which."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from smfh.plots import confusion
from smfh.study import usual_direction
from smfh.types import IntArray, MultimodalDataset, RetrievalResult
from smfh.ui.bits.model import Model
from smfh.ui.charts import show_chart
from smfh.ui.gallery import caption_of, labels_of, shortened
from smfh.ui.going import open_query

FIRST = 12  # answers that the table counts
TABLE, DIRECTION, CLASSES, END = "query_table", "query_direction", "query_classes", "query_end"


def draw_queries(model: Model) -> None:
    """Filters, the table, and the confusion of classes."""
    trained, data = model.job.result, model.data
    way, end, by_class = st.columns([2, 2, 4], vertical_alignment="bottom")
    usual = usual_direction(trained)
    directions = [usual, *(d for d in trained.hasher.directions if d != usual)]
    source, target = way.selectbox(
        "Direction", directions, format_func=lambda pair: f"{pair[0]} → {pair[1]}", key=DIRECTION
    )
    first = end.segmented_control("First", ["Worst", "Best"], default="Worst", required=True, key=END)
    known = set(data.class_names)
    st.session_state[CLASSES] = [name for name in st.session_state.get(CLASSES, []) if name in known]
    classes = by_class.multiselect("Classes", data.class_names, key=CLASSES, placeholder="Any class")
    result = trained.results[source, target, "training"]
    order = order_queries(result, data, model.split.queries, classes, first == "Best")
    if len(order):
        event: Any = draw_table(result, data, model.split.queries, order)
        open_picked(picked_row(event), model.split.queries[order], source, target)
    else:
        st.info("No query has such a class. Take one away.")
    labels = data.labels
    show_chart(
        confusion(result.ranking.indices, labels[model.split.queries], labels, data.class_names), "confusion"
    )


def order_queries(
    result: RetrievalResult, data: MultimodalDataset, queries: IntArray, classes: Sequence[str], best: bool
) -> IntArray:
    """Places of the queries that have one of the classes, by their AP."""
    score = result.average_precision
    order: IntArray = np.argsort(-score if best else score, kind="stable")
    if classes:
        columns = [name in classes for name in data.class_names]
        order = order[data.labels[queries[order]][:, columns].any(axis=1)]
    return order


def draw_table(
    result: RetrievalResult, data: MultimodalDataset, queries: IntArray, order: IntArray
) -> Mapping[str, Any]:
    """A row for each query; a click on one picks it."""
    right = result.ranking.relevance[order, :FIRST].sum(axis=1)
    rows = queries[order].tolist()
    st.text(
        f"{len(order):,} held-out queries by {result.scores.label.replace('mAP', 'AP')}; click one to open it"
    )
    table = {
        "AP": result.average_precision[order],
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
        column_config={"AP": st.column_config.NumberColumn(format="%.3f", help=result.scores.definition)},
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

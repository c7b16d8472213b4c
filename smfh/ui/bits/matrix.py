"""Classes by bits, bits by bits, and the balance of each."""

import streamlit as st

from smfh.bits import bit_kinds, class_contrast, class_shares, correlate, database_bits, largest_classes
from smfh.plots import Chart, bit_balance, bit_correlation, class_bits
from smfh.runs import Run
from smfh.ui.charts import show_chart
from smfh.ui.server import derive


def draw_matrix(run: Run) -> None:
    classes, correlation, balance = derive(run, "matrices of bits", lambda: _charts(run), "Counting …")
    show_chart(classes, "class_bits")
    left, right = st.columns([3, 2], gap="large")
    with left:
        show_chart(correlation, "bit_correlation")
    with right:
        show_chart(balance, "bit_balance")


def _charts(run: Run) -> tuple[Chart, Chart, Chart]:
    codes = database_bits(run.hasher, run.data, run.split)
    labels = run.data.labels[run.split.train]
    rows = largest_classes(labels)
    names = [run.data.class_names[k] for k in rows]
    shares, contrast = class_shares(codes, labels[:, rows]), class_contrast(codes, labels[:, rows])
    return (
        class_bits(shares, contrast, names),
        bit_correlation(correlate(codes)),
        bit_balance(codes.mean(axis=0), bit_kinds(codes)),
    )

"""Classes by bits, bits by bits, and the balance of each."""

import streamlit as st

from smfh.hamming import unpack
from smfh.plots import Chart, bit_balance, bit_correlation, class_bits
from smfh.ui.bits.model import Model
from smfh.ui.charts import show_chart


def draw_matrix(model: Model) -> None:
    classes, correlation, balance = _charts(model.key, model)
    show_chart(classes, "class_bits")
    left, right = st.columns([3, 2], gap="large")
    with left:
        show_chart(correlation, "bit_correlation")
    with right:
        show_chart(balance, "bit_balance")


@st.cache_resource(max_entries=4, show_spinner="Counting …")
def _charts(key: str, _model: Model) -> tuple[Chart, Chart, Chart]:
    codes, data = unpack(_model.codes, _model.hasher.bits), _model.data
    labels = data.labels[_model.split.train]
    return class_bits(codes, labels, data.class_names), bit_correlation(codes), bit_balance(codes)

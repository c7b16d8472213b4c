"""A chart with its finding as title, its data as CSV, and words for who cannot see it."""

import streamlit as st

from smfh.plots import Chart, csv_of

CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "png", "scale": 2},
}


def show_chart(chart: Chart, key: str, download: bool = True) -> None:
    """The figure; its picture can be saved from its own corner, its data below it."""
    st.text(chart.title)  # in the figure it would not wrap on a phone; as text, nothing in it is markup
    st.plotly_chart(chart.figure(titled=False), key=f"chart_{key}", config=CONFIG, alt=chart.description)
    if download:
        st.download_button(
            "Data (CSV)",
            csv_of(chart.rows()),
            f"{key}.csv",
            "text/csv",
            key=f"csv_{key}",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
        )

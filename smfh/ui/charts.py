"""A chart with its finding as title, its data as CSV, and words for who cannot see it."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import streamlit as st

from smfh.plots import Chart, csv_of

MODE_BAR = {"displaylogo": False, "toImageButtonOptions": {"format": "png", "scale": 2}}
CONFIG = MODE_BAR | {"modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}
PICKABLE = MODE_BAR | {"modeBarButtonsToRemove": ["autoScale2d"]}
Mode = Literal["points", "box", "lasso"]


def show_chart(chart: Chart, key: str, download: bool = True) -> None:
    """The figure; its picture can be saved from its own corner, its data below it."""
    st.text(chart.title)  # in the figure it would not wrap on a phone; as text, nothing in it is markup
    st.plotly_chart(chart.drawn, key=f"chart_{key}", config=CONFIG, alt=chart.description)
    if download:
        offer_data(chart, key)


def show_pickable(
    chart: Chart, key: str, modes: tuple[Mode, ...], on_pick: Callable[[], None] | None = None
) -> Mapping[str, Any]:
    """A figure whose points can be clicked or brushed; the picked ones as Streamlit tells them."""
    st.text(chart.title)
    picked: Any = st.plotly_chart(
        chart.drawn,
        key=key,
        config=PICKABLE,
        alt=chart.description,
        on_select=on_pick or "rerun",
        selection_mode=modes,
    )
    offer_data(chart, key)
    event: Mapping[str, Any] = picked
    return event


def picked_numbers(event: Mapping[str, Any] | None) -> list[int]:
    """The numbers that the picked points carry, each once; marks carry none."""
    points = (event or {}).get("selection", {}).get("points", [])
    carried = [point.get("customdata") for point in points]
    flat = [value[0] if isinstance(value, list) and value else value for value in carried]
    return list(dict.fromkeys(int(value) for value in flat if isinstance(value, int | float)))


def offer_data(chart: Chart, key: str) -> None:
    st.download_button(
        f"{chart.kind[0].upper()}{chart.kind[1:]} (CSV)",  # a name of its own for who hears the page
        lambda: csv_of(chart.rows()),  # written when it is asked for
        f"{key}.csv",
        "text/csv",
        key=f"csv_{key}",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )

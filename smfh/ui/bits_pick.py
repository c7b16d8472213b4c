"""Charts whose points can be clicked or brushed; what is picked is read by plain functions."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import streamlit as st

from smfh.plots import Chart, csv_of

CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d"], "scrollZoom": False}
Mode = Literal["points", "box", "lasso"]


def show_pickable(
    chart: Chart, key: str, modes: tuple[Mode, ...], on_pick: Callable[[], None] | None = None
) -> Mapping[str, Any]:
    """The chart under its title, with its data as CSV; the picked points as Streamlit tells them."""
    st.text(chart.title)
    event: Any = st.plotly_chart(
        chart.figure(titled=False),
        key=key,
        config=CONFIG,
        alt=chart.description,
        on_select=on_pick or "rerun",
        selection_mode=modes,
    )
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
    picked: Mapping[str, Any] = event
    return picked


def picked_numbers(event: Mapping[str, Any] | None) -> list[int]:
    """The numbers that the picked points carry, each once; marks carry none."""
    points = (event or {}).get("selection", {}).get("points", [])
    carried = [point.get("customdata") for point in points]
    flat = [value[0] if isinstance(value, list) and value else value for value in carried]
    return list(dict.fromkeys(int(value) for value in flat if isinstance(value, int | float)))

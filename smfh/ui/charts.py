"""Charts on a page: title, figure with a text description, and the data as CSV."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import streamlit as st

from smfh.plots import Chart, csv_of
from smfh.ui.server import local_engine

MODE_BAR = {"displaylogo": False, "toImageButtonOptions": {"format": "png", "scale": 2}}
CONFIG = MODE_BAR | {"modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}
PICKABLE = MODE_BAR | {"modeBarButtonsToRemove": ["autoScale2d"]}
FIGURE = (
    "For a paper: SVG and PDF for one and two columns, with and without bands, and the Python code "
    "(Matplotlib) that draws them from a CSV."
)
Mode = Literal["points", "box", "lasso"]


def show_chart(chart: Chart, key: str) -> None:
    """Draw a chart, its title, and buttons to save its data and the figure."""
    st.text(chart.title)  # a title inside the figure would not wrap on a phone, and may contain markup
    st.plotly_chart(chart.drawn, key=f"chart_{key}", config=CONFIG, alt=chart.description)
    offer_data(chart, key)


def show_charts(charts: Mapping[str, Chart], widths: Sequence[int] = ()) -> None:
    """Draw charts, given by their keys, side by side; all have the same width unless `widths` is given."""
    columns = st.columns(widths or len(charts), gap="large")
    for column, (key, chart) in zip(columns, charts.items(), strict=True):
        with column:
            show_chart(chart, key)


def show_pickable(
    chart: Chart, key: str, modes: tuple[Mode, ...], on_pick: Callable[[], None] | None = None
) -> Mapping[str, Any]:
    """Draw a chart whose points can be selected by clicking or dragging; return Streamlit's selection event."""
    st.text(chart.title)
    look: dict[str, Any] = {"config": PICKABLE, "alt": chart.description, "selection_mode": modes}
    picked: Any = st.plotly_chart(chart.drawn, key=key, on_select=on_pick or "rerun", **look)
    offer_data(chart, key)
    event: Mapping[str, Any] = picked
    return event


def picked_numbers(event: Mapping[str, Any] | None) -> list[int]:
    """Return the numbers in the custom data of the points selected in a chart, without duplicates."""
    points = (event or {}).get("selection", {}).get("points", [])
    values = [point.get("customdata") for point in points]
    flat = [value[0] if isinstance(value, list) and value else value for value in values]
    return list(dict.fromkeys(int(value) for value in flat if isinstance(value, int | float)))


def offer_data(chart: Chart, key: str) -> None:
    """Draw buttons to save the data of a chart as CSV, and the chart as figures for a paper."""
    kind = f"{chart.kind[0].upper()}{chart.kind[1:]}"  # a distinct name for screen readers
    with st.container(horizontal=True, gap="small"):
        name, look = f"{key}.csv", {"type": "tertiary"}
        offer_file(f"{kind} (CSV)", lambda: csv_of(chart.rows()), name, "text/csv", f"csv_{key}", **look)
        make, name = partial(figure_files, chart), f"{key}.zip"
        offer_file(f"{kind} (figure)", make, name, "application/zip", f"figure_{key}", help=FIGURE, **look)


def figure_files(chart: Chart) -> bytes:
    """Return the chart as files for a paper, drawn in another process so that no page has to wait."""
    from smfh.plots.paper_figure import figure_zip  # imports pandas

    return local_engine().call(figure_zip, {chart.kind: chart})


def offer_file(label: str, make: Any, name: str, mime: str, key: str, **look: Any) -> None:
    """Draw a button that downloads a file; `make` is its content, or a function that returns it on a click."""
    icon = ":material/download:"
    st.download_button(label, make, name, mime, key, icon=icon, on_click="ignore", **look)

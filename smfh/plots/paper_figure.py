"""A chart as files for a paper: SVG and PDF for one and two columns, its data, and the code that draws it.

A drawn Plotly figure becomes a plain description and a table, from which `draw_figure` draws with Matplotlib.
"""

import html
import io
import pprint
import re
import zipfile
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from smfh.files.atomic import temporary_prefix
from smfh.files.latex import typeset
from smfh.plots import draw_figure
from smfh.plots.chart import Chart, Row, csv_of
from smfh.plots.theme import DIVERGING, GREY

MAX_FILE_ROWS = 200_000
Spec = dict[str, Any]


def figure_zip(charts: Mapping[str, Chart]) -> bytes:
    """Return a .zip with the files of each chart, in a folder with its name if there are several."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, chart in charts.items():
            for name, content in figure_files(chart).items():
                archive.writestr(f"{folder}/{name}" if len(charts) > 1 else name, content)
    return packed.getvalue()


def figure_files(chart: Chart) -> dict[str, bytes]:
    """Return SVG and PDF for one and two columns, with and without bands, figure.csv and figure.py."""
    spec, rows = figure_parts(chart)
    files = {"figure.csv": csv_of(rows).encode(), "figure.py": figure_code(spec).encode()}
    has_bands = any(one["kind"] == "band" for one in spec["series"])
    with TemporaryDirectory(prefix=temporary_prefix()) as folder:
        for columns, bands in product((1, 2), (True, False) if has_bands else (True,)):
            name = f"{'one-column' if columns == 1 else 'two-columns'}{'' if bands else '-without-bands'}"
            figure = draw_figure.draw(spec, rows, columns, bands)
            for path in (Path(folder, f"{name}.svg"), Path(folder, f"{name}.pdf")):
                draw_figure.save(figure, path)
                files[path.name] = path.read_bytes()
    return files


def figure_code(spec: Spec) -> str:
    """Return the Python script that draws figure.csv, with the description of this figure in it."""
    code = Path(draw_figure.__file__).read_text(encoding="utf-8")
    filled = f"SPEC: dict[str, Any] = {pprint.pformat(spec, width=110, sort_dicts=False)}\n"
    return re.sub(r"^SPEC: .*\n", lambda _: filled, code, count=1, flags=re.MULTILINE)


def figure_parts(chart: Chart) -> tuple[Spec, list[Row]]:
    """Return the description of a chart (panels and series), and its data as rows."""
    figure = chart.figure(titled=False)
    layout, series, rows = figure.layout, list[Spec](), list[Row]()
    places = list(dict.fromkeys((trace.xaxis or "x", trace.yaxis or "y") for trace in figure.data)) or [("x", "y")]
    panels = [_panel(layout, *place) for place in places]
    domains = [tuple(layout[_axis_name(place[0])].domain or (0, 1)) for place in places]
    is_across = len(set(domains)) > 1
    if formula := getattr(chart, "formula", ""):
        typeset_formula = typeset(formula, words=lambda text: text.replace("$", r"\$"))
        for given, drawn in (("$, ", "$\n"), ("$ · ", "$\n"), (r"\sum", r"\Sigma"), (r"\frac", r"\dfrac")):
            typeset_formula = typeset_formula.replace(given, drawn)  # limits beside the sum sign need less space
        panels[-1]["x"]["label"] += f"\n{typeset_formula}"
    heights: dict[Any, float] = {}  # of stacked bars, by panel and position
    for trace in figure.data:
        one = _series(trace, places.index((trace.xaxis or "x", trace.yaxis or "y")))
        for row in _trace_rows(trace):
            if one["kind"] == "bars" and layout.barmode == "stack":
                place = one["panel"], row["x"], row["y"]
                row["base"] = base = heights.get(place, 0.0)
                heights[place] = base + float(row["value"] or 0)
            rows.append({"series": len(series), "name": one["name"], **row})
        series.append(one)
    shape = (1, len(places)) if is_across else (len(places), 1)
    return {"title": chart.title, "shape": shape, "panels": panels, "series": series}, rows[:MAX_FILE_ROWS]


def _text(text: str) -> str:
    """Return a text of Plotly as plain text for Matplotlib, which would take two $ for mathematics."""
    words = html.unescape(re.sub(r"<[^>]*>", " ", text)).replace("$", r"\$")
    return "".join(sign if sign.isprintable() else " " for sign in words)


def _axis_name(ref: str) -> str:
    return f"{ref[0]}axis{ref[1:]}"


def _panel(layout: Any, x: str, y: str) -> Spec:
    panel: Spec = {"x": _axis(layout[_axis_name(x)]), "y": _axis(layout[_axis_name(y)]), "marks": []}
    for shape in layout.shapes:
        if shape.type == "line" and shape.x0 == shape.x1 and str(shape.xref).startswith(x):
            panel["marks"].append({"way": "x", "at": float(shape.x0)})
        elif shape.type == "line" and shape.y0 == shape.y1 and str(shape.yref).startswith(y):
            panel["marks"].append({"way": "y", "at": float(shape.y0)})
    return panel


def _axis(axis: Any) -> Spec:
    is_log, limits = axis.type == "log", axis.range
    if limits is not None:
        limits = [float(10**end if is_log else end) for end in limits]
    ticks = None if axis.tickvals is None else [float(tick) for tick in axis.tickvals]
    names = None if ticks is None or axis.ticktext is None else [_text(str(name)) for name in axis.ticktext]
    label = _text((axis.title.text or "").split("<br>")[0])
    is_reversed = axis.autorange == "reversed"
    return {"label": label, "log": is_log, "limits": limits, "ticks": ticks, "names": names, "reversed": is_reversed}


def _series(trace: Any, panel: int) -> Spec:
    """Return the type and style of a trace."""
    one: Spec = {"name": _text(trace.name or ""), "panel": panel, "opacity": float(trace.opacity or 1)}
    one |= {"colour": GREY, "dash": "solid", "symbol": "", "width": 1.0, "listed": False}
    if trace.type in ("heatmap", "contour"):
        scale = trace.colorscale
        diverging = scale is not None and str(scale[0][1]) == _first_colour(DIVERGING)
        name = _text(trace.colorbar.title.text or "")
        limits = [None if end is None else float(end) for end in (trace.zmin, trace.zmax)]
        return one | {"kind": trace.type, "name": name, "diverging": diverging, "limits": limits}
    one["listed"] = trace.showlegend is not False and bool(one["name"])
    marker = trace.marker.color
    if trace.type == "bar":
        width = trace.width if isinstance(trace.width, int | float) else 0.85
        shape = trace.marker.pattern.shape
        look = {"pattern": shape if isinstance(shape, str) else "", "width": float(width)}
        colour = _hex(marker) if isinstance(marker, str) else GREY
        return one | {"kind": "bars", "colour": colour, "horizontal": trace.orientation == "h"} | look
    if trace.fill:
        colour, opacity = _split_colour(trace.fillcolor)
        return one | {"kind": "band", "colour": colour, "opacity": opacity, "listed": False}
    symbol = trace.marker.symbol if isinstance(trace.marker.symbol, str) else ""
    if "lines" in (trace.mode or "lines"):
        look = {"colour": _hex(trace.line.color or GREY), "dash": trace.line.dash or "solid"}
        width = 3.0 if trace.line.width is None else float(trace.line.width)
        shown = symbol if "markers" in (trace.mode or "") else ""
        if width:
            return one | {"kind": "line", "symbol": shown, "width": width} | look
    size = trace.marker.size
    size = float(size) if isinstance(size, int | float) else 9.0
    colour = _hex(marker) if isinstance(marker, str) else _hex(trace.line.color or GREY)
    return one | {"kind": "points", "symbol": symbol or "circle", "size": size, "colour": colour}


def _first_colour(name: str) -> str:
    import plotly.colors

    return str(plotly.colors.get_colorscale(name)[0][1])


def _split_colour(colour: str) -> tuple[str, float]:
    """Return #RRGGBB and the opacity of a colour such as rgba(1, 2, 3, 0.2)."""
    if not (parts := re.findall(r"[\d.]+", colour)) or colour.startswith("#"):
        return colour, 0.2
    red, green, blue = (int(float(part)) for part in parts[:3])
    return f"#{red:02X}{green:02X}{blue:02X}", float(parts[3]) if len(parts) > 3 else 1.0


def _hex(colour: str) -> str:
    return _split_colour(colour)[0] if colour.startswith("rgb") else colour


def _trace_rows(trace: Any) -> list[Row]:
    """Return the points, bars or cells of a trace."""
    if trace.type in ("heatmap", "contour"):
        z = np.asarray(trace.z, dtype=float)
        x = _numbers(trace.x) if trace.x is not None else list(range(z.shape[1]))
        y = _numbers(trace.y) if trace.y is not None else list(range(z.shape[0]))
        return [{"x": x[k], "y": y[i], "value": float(z[i, k])} for i in range(len(z)) for k in range(z.shape[1])]
    x, y = _numbers(trace.x), _numbers(trace.y)
    if trace.type != "bar":
        return [{"x": a, "y": b} for a, b in zip(x, y, strict=True)]
    base, colours = trace.base, trace.marker.color
    rows = list[Row]()
    for k, (a, b) in enumerate(zip(x, y, strict=True)):
        is_flat = trace.orientation == "h"
        start = base[k] if isinstance(base, list | tuple | np.ndarray) else base
        colour = "" if isinstance(colours, str | None) else _hex(str(colours[k]))
        bar: Row = {"x": 0.0 if is_flat else a, "y": b if is_flat else 0.0}
        rows.append({**bar, "value": a if is_flat else b, "base": float(start or 0), "colour": colour})
    return rows


def _numbers(values: Any) -> list[float]:
    """Return positions as numbers; names become 0, 1, …; a gap is NaN."""
    values = [] if values is None else list(values)
    if any(isinstance(value, str) for value in values):
        place = {value: number for number, value in enumerate(dict.fromkeys(values))}
        return [float(place[value]) for value in values]
    return [float("nan") if value is None else float(value) for value in values]

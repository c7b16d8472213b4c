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
import pandas as pd
from plotly.colors import get_colorscale

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
    """Return the description of a chart's figure (panels, types and styles of the series), and its data as rows."""
    figure = chart.figure(titled=False)
    layout, series, rows = figure.layout, list[Spec](), list[Row]()
    places = list(dict.fromkeys((trace.xaxis or "x", trace.yaxis or "y") for trace in figure.data)) or [("x", "y")]
    panels = [_panel(layout, *place) for place in places]
    is_across = len({tuple(layout[f"xaxis{x[1:]}"].domain or (0, 1)) for x, _ in places}) > 1
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
    """Convert a text for Plotly to plain text for Matplotlib; $ is escaped, because it would begin a formula."""
    words = html.unescape(re.sub(r"<[^>]*>", " ", text)).replace("$", r"\$")
    return "".join(sign if sign.isprintable() else " " for sign in words)


def _panel(layout: Any, x: str, y: str) -> Spec:
    """Return labels, scales, limits and ticks of two axes, and the reference lines across them."""
    panel: Spec = {}
    for ref in (x, y):
        axis = layout[f"{ref[0]}axis{ref[1:]}"]
        is_log, ticks = axis.type == "log", axis.tickvals
        panel[ref[0]] = {
            "label": _text((axis.title.text or "").split("<br>")[0]),
            "log": is_log,
            "limits": None if axis.range is None else [float(10**end if is_log else end) for end in axis.range],
            "ticks": None if ticks is None else [float(tick) for tick in ticks],
            "names": None if ticks is None or axis.ticktext is None else [_text(str(name)) for name in axis.ticktext],
            "reversed": axis.autorange == "reversed",
        }
    panel["marks"] = [
        {"way": ref[0], "at": float(shape[f"{ref[0]}0"])}
        for shape in layout.shapes
        for ref in (x, y)
        if shape.type == "line"
        and shape[f"{ref[0]}0"] == shape[f"{ref[0]}1"]
        and str(shape[f"{ref[0]}ref"]).startswith(ref)
    ]
    return panel


def _series(trace: Any, panel: int) -> Spec:
    """Return the type and style of a Plotly trace, for Matplotlib."""
    one: Spec = {"name": _text(trace.name or ""), "panel": panel, "opacity": float(trace.opacity or 1)}
    one |= {"colour": GREY, "dash": "solid", "symbol": "", "width": 1.0, "listed": False}
    if trace.type in ("heatmap", "contour"):
        scale = trace.colorscale
        diverging = scale is not None and str(scale[0][1]) == str(get_colorscale(DIVERGING)[0][1])
        limits = [None if end is None else float(end) for end in (trace.zmin, trace.zmax)]
        name = _text(trace.colorbar.title.text or "")
        return one | {"kind": trace.type, "name": name, "diverging": diverging, "limits": limits}
    one["listed"] = trace.showlegend is not False and bool(one["name"])
    own_colour = _split_colour(trace.marker.color)[0] if isinstance(trace.marker.color, str) else None
    if trace.type == "bar":
        shape, width = trace.marker.pattern.shape, trace.width
        look = {"pattern": shape if isinstance(shape, str) else "", "horizontal": trace.orientation == "h"}
        width = float(width) if isinstance(width, int | float) else 0.85
        return one | {"kind": "bars", "colour": own_colour or GREY, "width": width} | look
    if trace.fill:
        colour, opacity = _split_colour(trace.fillcolor)
        return one | {"kind": "band", "colour": colour, "opacity": opacity, "listed": False}
    symbol = trace.marker.symbol if isinstance(trace.marker.symbol, str) else ""
    line_colour = _split_colour(trace.line.color or GREY)[0]
    mode, width = trace.mode or "lines", 3.0 if trace.line.width is None else float(trace.line.width)
    if "lines" in mode and width:
        look = {"dash": trace.line.dash or "solid", "symbol": symbol if "markers" in mode else ""}
        return one | {"kind": "line", "colour": line_colour, "width": width} | look
    size = float(trace.marker.size) if isinstance(trace.marker.size, int | float) else 9.0
    return one | {"kind": "points", "symbol": symbol or "circle", "size": size, "colour": own_colour or line_colour}


def _split_colour(colour: str) -> tuple[str, float]:
    """Return a colour such as rgba(1, 2, 3, 0.2) as #RRGGBB and opacity; other forms as they are, with 0.2."""
    if not (parts := re.findall(r"[\d.]+", colour)) or colour.startswith("#"):
        return colour, 0.2
    red, green, blue = (int(float(part)) for part in parts[:3])
    return f"#{red:02X}{green:02X}{blue:02X}", float(parts[3]) if len(parts) > 3 else 1.0


def _trace_rows(trace: Any) -> list[Row]:
    """Return the points, bars or cells of a Plotly trace as rows of a table."""
    if trace.type in ("heatmap", "contour"):
        z = np.asarray(trace.z, dtype=float)
        y, x = (
            list(range(n)) if at is None else _numbers(at) for at, n in zip((trace.y, trace.x), z.shape, strict=True)
        )
        return [{"x": x[k], "y": y[i], "value": float(z[i, k])} for i, k in np.ndindex(z.shape)]
    x, y = _numbers(trace.x), _numbers(trace.y)
    if trace.type != "bar":
        return [{"x": a, "y": b} for a, b in zip(x, y, strict=True)]
    colours, is_flat, rows = trace.marker.color, trace.orientation == "h", list[Row]()
    for k, (a, b) in enumerate(zip(x, y, strict=True)):
        base = trace.base[k] if isinstance(trace.base, list | tuple | np.ndarray) else trace.base
        colour = "" if isinstance(colours, str | None) else _split_colour(str(colours[k]))[0]
        place: Row = {"x": 0.0, "y": b, "value": a} if is_flat else {"x": a, "y": 0.0, "value": b}
        rows.append({**place, "base": float(base or 0), "colour": colour})
    return rows


def _numbers(values: Any) -> list[float]:
    """Return positions as numbers; names become 0, 1, …; a gap is NaN."""
    values = [] if values is None else list(values)
    if any(isinstance(value, str) for value in values):
        values = pd.factorize(np.array(values, dtype=object))[0].tolist()
    return [float("nan") if value is None else float(value) for value in values]

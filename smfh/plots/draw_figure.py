"""Draw figure.csv with Matplotlib as SVG and PDF for a paper: python figure.py --columns 2 --no-bands."""

import argparse
import csv
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

WIDTH_INCHES = {1: 3.25, 2: 6.75}  # of one and of two columns of a page
LINE_CHARACTERS = {1: 52, 2: 110}  # of a label
FONT_POINTS = 8
MARKED_POINTS = 8  # symbols on a long line
SPEC: dict[str, Any] = {}  # labels, scales and look of the series; filled in when a figure is exported
DASHES: dict[str, Any] = {
    "solid": "-",
    "dot": (0, (1, 1.5)),
    "dash": (0, (5, 2)),
    "longdash": (0, (9, 2.5)),
    "dashdot": (0, (5, 2, 1, 2)),
    "longdashdot": (0, (9, 2, 1, 2)),
}
SYMBOLS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "star": "*",
    "hexagon": "h",
    "pentagon": "p",
    "diamond-tall": "d",
    "cross": "P",
    "x": "X",
    "bowtie": "<",
    "hourglass": ">",
    "square-cross": "8",
}


def draw(spec: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], columns: int = 1, bands: bool = True) -> Any:
    """Return a Matplotlib figure of the rows, for one or two columns of a page, with or without bands."""
    from matplotlib.figure import Figure

    down, across = spec["shape"]
    width = WIDTH_INCHES[columns]
    listed = [one for one in spec["series"] if one["listed"]]
    longest = max((len(one["name"]) for one in listed), default=0)
    side_by_side = max(1, LINE_CHARACTERS[columns] // (longest + 9))
    legend_rows = -(-len(listed) // side_by_side) if len(listed) > 1 else 0
    height = width * (0.68 if columns == 1 else 0.42) * (1 + 0.6 * (down - 1)) + 0.16 * legend_rows
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
    data: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        data.setdefault(int(row["series"]), []).append(row)
    for number, one in enumerate(spec["series"]):
        if bands or one["kind"] != "band":
            shift = number / len(spec["series"])
            draw_series(figure, axes[one["panel"]], one, data.get(number, []), shift)
    for axis, panel in zip(axes, spec["panels"], strict=False):
        finish_panel(axis, panel, LINE_CHARACTERS[columns] // across)
    if legend_rows:
        handles = {
            handle.get_label(): handle
            for axis in axes
            for handle in axis.get_legend_handles_labels()[0]
            if not handle.get_label().startswith("_")
        }
        look = {"fontsize": FONT_POINTS - 1, "frameon": False, "handlelength": 3.2, "columnspacing": 1.2}
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=side_by_side, **look)
    return figure


def draw_series(
    figure: Any, axis: Any, one: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], shift: float
) -> None:
    """Draw one series; its symbols are shifted by `shift`, a fraction of the spacing between symbols."""
    x, y = ([float(row[name]) if row[name] not in ("", None) else float("nan") for row in rows] for name in "xy")
    look = {"color": one["colour"], "alpha": one["opacity"], "label": one["name"] if one["listed"] else "_"}
    marker = SYMBOLS.get(one["symbol"].removesuffix("-open"), "o") if one["symbol"] else None
    fill = "none" if one["symbol"].endswith("-open") else "full"
    if one["kind"] == "band":
        axis.fill(x, y, linewidth=0, zorder=1, **look | {"label": "_"})
    elif one["kind"] == "line":
        every = max(1, len(x) // MARKED_POINTS)
        marks = {"marker": marker, "markevery": (int(shift * every), every), "markersize": 3.5, "fillstyle": fill}
        dash = DASHES.get(one["dash"]) or (0, [float(part.removesuffix("px")) / 2 for part in one["dash"].split(",")])
        axis.plot(x, y, linestyle=dash, linewidth=one["width"] / 2.2, zorder=3, **look, **marks)
    elif one["kind"] == "points":
        marks = {"marker": marker or "o", "markersize": one["size"] / 2.6, "fillstyle": fill}
        axis.plot(x, y, linestyle="", zorder=4, **look, **marks)
    elif one["kind"] == "bars":
        values = [float(row["value"]) for row in rows]
        base = [float(row["base"] or 0) for row in rows]
        look |= {"color": [row["colour"] or one["colour"] for row in rows], "hatch": one["pattern"], "linewidth": 0}
        if one["horizontal"]:
            axis.barh(y, values, left=base, height=one["width"], **look)
        else:
            axis.bar(x, values, bottom=base, width=one["width"], **look)
    else:
        across, down = sorted(set(x)), sorted(set(y))
        at = {(a, b): float(row["value"] or "nan") for a, b, row in zip(x, y, rows, strict=True)}
        grid = [[at.get((a, b), float("nan")) for a in across] for b in down]
        limits = {"vmin": one["limits"][0], "vmax": one["limits"][1]}
        colours = "PuOr" if one["diverging"] else "cividis"
        if one["kind"] == "contour":
            drawn = axis.contourf(across, down, grid, cmap=colours, levels=12)
        else:
            drawn = axis.pcolormesh(across, down, grid, cmap=colours, shading="nearest", **limits)
        figure.colorbar(drawn, ax=axis, label=one["name"])


def finish_panel(axis: Any, panel: Mapping[str, Any], characters: int) -> None:
    """Set labels, scales, limits, ticks and reference lines of a panel."""
    for way, about in (("x", panel["x"]), ("y", panel["y"])):
        lines = [line if "$" in line else textwrap.fill(line, characters) for line in about["label"].split("\n")]
        getattr(axis, f"set_{way}label")("\n".join(lines), fontsize=FONT_POINTS)
        if about["log"]:
            getattr(axis, f"set_{way}scale")("log")
            getattr(axis, f"{way}axis").set_minor_formatter("")
        if about["limits"]:
            getattr(axis, f"set_{way}lim")(*about["limits"])
        if about["ticks"] is not None:
            getattr(axis, f"set_{way}ticks")(about["ticks"], about["names"])
            getattr(axis, f"{way}axis").minorticks_off()
        if about["reversed"]:
            getattr(axis, f"invert_{way}axis")()
    for mark in panel["marks"]:
        line = axis.axvline if mark["way"] == "x" else axis.axhline
        line(mark["at"], color="#767C88", linestyle=":", linewidth=0.8, zorder=0)
    axis.tick_params(labelsize=FONT_POINTS - 1)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.25, linewidth=0.5)
    axis.set_axisbelow(True)


def save(figure: Any, path: Path) -> None:
    """Write the figure as vector graphics with searchable text; the file has no date, so that it is reproducible."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "smfh"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else {"CreationDate": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", default="figure.csv")
    parser.add_argument("--out", default="figure", help="file name without ending")
    parser.add_argument("--columns", type=int, choices=(1, 2), default=1)
    parser.add_argument("--no-bands", action="store_true")
    chosen = parser.parse_args()
    with Path(chosen.csv).open(encoding="utf-8", newline="") as file:
        drawn = draw(SPEC, list(csv.DictReader(file)), chosen.columns, not chosen.no_bands)
    for ending in (".svg", ".pdf"):
        save(drawn, Path(chosen.out + ending))

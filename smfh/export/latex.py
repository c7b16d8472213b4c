"""Tables for a paper: methods by code lengths, mean ± standard deviation over seeds."""

from collections.abc import Sequence

from smfh.comparison import Grid, View, points
from smfh.export.findings import told_directions
from smfh.files.latex import escape, latex_table
from smfh.runs import KeptRuns
from smfh.types import Point


def latex_of(grid: Grid, store: KeptRuns, view: View) -> str:
    """Booktabs tables: one of each measure for each direction, then one of training seconds."""
    scores = [
        _table(found, _caption(grid, found, one), lowest=False, decimals=3)
        for direction in told_directions(grid, view)
        for one in view.told_together
        if (found := points(grid, store, one.towards(*direction)))
    ]
    times = points(grid, store, view, "training")
    if times:
        caption = f"Training seconds on {grid.comparison.source.card.title}{_over_seeds(times)}."
        scores.append(_table(times, caption, lowest=True, decimals=2))
    return "\n\n".join(["% \\usepackage{booktabs}", *scores]) + "\n"


def _caption(grid: Grid, found: Sequence[Point], view: View) -> str:
    where = "training set as database" if view.protocol == "training" else "held-out items as database"
    return (
        f"{view.metric.label} on {grid.comparison.source.card.title}, {found[0].direction}, {where}, "
        f"{len(grid.split.queries):,} queries{_over_seeds(found)}; {view.metric.formula}."
    )


def _over_seeds(found: Sequence[Point]) -> str:
    seeds = max(len(point.values) for point in found)
    return f", mean ± standard deviation over {seeds} seeds" if seeds > 1 else ", one seed"


def _table(found: Sequence[Point], caption: str, lowest: bool, decimals: int) -> str:
    """The best of each column is bold; a cell that is not finished is a dash."""
    lengths = sorted({point.at for point in found})
    cells = {(point.title, point.at): point for point in found}
    better = min if lowest else max
    best = [better((p for p in found if p.at == bits), key=lambda p: p.mean) for bits in lengths]
    rows = [
        [escape(title), *(_cell(cells.get((title, bits)), best, decimals) for bits in lengths)]
        for title in dict.fromkeys(point.title for point in found)
    ]
    return latex_table(caption, ["Method", *(f"{bits:g} bits" for bits in lengths)], [rows])


def _cell(point: Point | None, best: Sequence[Point], decimals: int) -> str:
    if point is None:
        return "--"
    mean = f"{point.mean:.{decimals}f}"
    if point in best:
        mean = rf"\mathbf{{{mean}}}"
    spread = rf" \pm {point.deviation:.{decimals}f}" if len(point.values) > 1 else ""
    return f"${mean}{spread}$"

"""compare: methods × bits × seeds on a data set; finished runs are kept, only missing ones are trained."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tqdm import tqdm

from smfh.commands import options
from smfh.commands.spelling import compare_command, read_method
from smfh.comparison import (
    Comparison,
    Grid,
    GridProgress,
    Problems,
    View,
    name_training,
    points_every_way,
    train_grid,
)
from smfh.datasets import OwnData
from smfh.evaluation import PROTOCOLS
from smfh.export import csv_rows, html_of, latex_of
from smfh.hashing import COMPARED, METHODS
from smfh.jobs import Call, here
from smfh.plots import csv_of
from smfh.runs import KeptRuns, PrivateRuns, RunStore
from smfh.types import InputError, Point, collect_problems

EPILOG = """What is finished is kept in the cache folder (SMFH_CACHE), also when the command is killed:
started again it trains only what is missing. The pages read and fill the same folder.

examples:
  python -m smfh compare planted --bits 8 16 --seeds 2          no files needed
  python -m smfh compare emoji --methods smfh-plus smfh cmfh --bits 16 32 64 --seeds 3
  python -m smfh compare wiki --methods smfh:wiki smfh:wiki:graph_weight=5 --csv > alpha.csv
  python -m smfh compare emoji --html emoji.html               the report that the Compare page offers"""
USUAL_BITS = 64  # of the figures in the report


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    options.add_data_arguments(parser)
    add(
        "--methods",
        nargs="+",
        default=list(COMPARED),
        metavar="METHOD",
        help=f"some of {', '.join(METHODS)} (default all but smfh-program), each alone or followed by "
        "presets and parameters, as in smfh:wiki:graph_weight=2",
    )
    add("--bits", nargs="+", type=int, default=[16, 32, 64], help="code lengths")
    add("--seeds", type=int, default=3, help="runs a cell (default 3)")
    add("--protocol", default="training", choices=list(PROTOCOLS), help="what is searched (default training)")
    options.add_metric_argument(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the table as JSON")
    output.add_argument(
        "--csv", action="store_true", help="print every cell, direction and database as CSV, as on the page"
    )
    output.add_argument("--latex", action="store_true", help="print the table for LaTeX")
    options.add_cluster_argument(parser)
    add("--html", metavar="FILE.html", help="write the whole report with figures there")


def run(arguments: Namespace) -> None:
    (source, rows), report, *methods = collect_problems(
        lambda: options.chosen_data(arguments),
        lambda: options.writable_path(arguments.html, "--html", ".html"),
        *(partial(read_method, text) for text in arguments.methods),
    )
    comparison = Comparison(source, tuple(methods), tuple(arguments.bits), arguments.seeds)
    is_own = isinstance(source, OwnData)
    grid = Grid(comparison, *source.load(rows, arguments.split_seed))
    store: KeptRuns = PrivateRuns() if is_own else RunStore()
    with options.chosen_call(arguments) as (call, at_once):
        problems = train_missing(grid, store, call, at_once)
    bits = USUAL_BITS if USUAL_BITS in comparison.bits else comparison.bits[-1]
    view = View(*grid.directions[0], arguments.ap, arguments.protocol, bits)
    if grid.found(store):
        print(printed(grid, store, view, arguments))
        if report is not None:
            command = "" if is_own else compare_command(comparison, view)
            report.write_text(html_of(grid, store, view, command), encoding="utf-8")
    if problems:
        raise InputError([f"{name_training(run)}: {why}" for run, whys in problems.items() for why in whys])


def printed(grid: Grid, store: KeptRuns, view: View, arguments: Namespace) -> str:
    """The finished cells in the form that was asked for."""
    if arguments.csv:
        return csv_of(csv_rows(grid, store, view)).rstrip()
    if arguments.latex:
        return latex_of(grid, store, view).rstrip()
    measured = {one: points_every_way(grid, store, one) for one in view.told_together}
    if arguments.json:
        whole, precision = (measured[replace(view, definition=name)] for name in ("full", "precision"))
        together = zip(measured[view], whole, precision, strict=True)
        return json.dumps([row_of(*points, view) for points in together], indent=2)
    return as_text(grid, measured, view)


def train_missing(grid: Grid, store: KeptRuns, call: Call = here, at_once: int = 1) -> Problems:
    """What could not be trained; tells how much was there, and shows a bar on a terminal."""
    total, missing = len(grid.keys), len(grid.missing(store))
    print(f"{total - missing} of {total} runs are there; {missing} to train", file=sys.stderr, flush=True)
    with options.progress_bar(total, "run", initial=total - missing) as bar:
        problems = train_grid(grid, store, partial(show_progress, bar), call=call, at_once=at_once)
    print(f"trained {missing - len(problems)} runs", file=sys.stderr)
    return problems


def show_progress(bar: tqdm, progress: GridProgress, before: int = 0) -> None:
    """Move the bar to where the grid is; `before` counts the runs of other grids."""
    bar.set_description(name_training(progress.current) if progress.current else "done")
    bar.update(before + progress.done - bar.n)


def row_of(point: Point, whole: Point, precision: Point, view: View) -> dict[str, Any]:
    """One cell of the table for a program, by the chosen definition, over the whole ranking, and as P@100."""
    worst, best = point.ties or (point.mean, point.mean)
    return {
        "method": point.method,
        "title": point.title,
        "bits": point.at,
        "direction": point.direction.replace(" → ", "->"),
        "protocol": view.protocol,
        "score": view.metric.label,
        "mean": point.mean,
        "deviation": point.deviation,
        "map_all": whole.mean,
        "p_at_100": precision.mean,
        "lowest": min(point.values),
        "highest": max(point.values),
        "ties_at_worst": worst,
        "ties_at_best": best,
        "chance": point.chance,
        "seeds": len(point.values),
    }


def as_text(grid: Grid, measured: Mapping[View, Sequence[Point]], view: View) -> str:
    """A table a direction and measure: methods down, lengths across, mean ± deviation over seeds."""
    comparison = grid.comparison
    directions = dict.fromkeys(point.direction for point in measured[view])
    tables = [_table(grid, points, one, way) for way in directions for one, points in measured.items()]
    seeds = "1 seed" if comparison.seeds == 1 else f"{comparison.seeds} seeds, mean ± standard deviation"
    meanings = [f"{one.metric.label}: {one.metric.words}" for one in measured]
    return "\n".join(
        [*tables, f"{seeds}.", *meanings, PROTOCOLS[view.protocol], "Ties stand in database order."]
    )


def _table(grid: Grid, points: Sequence[Point], view: View, direction: str) -> str:
    comparison, cells = grid.comparison, {(p.title, p.at): p for p in points if p.direction == direction}
    width = max(len(title) for title in comparison.titles.values()) + 2
    lines = [f"{comparison.source.name}, {direction}, {view.metric.label}"]
    lines += [" " * width + "".join(f"{f'{bits} bits':>18}" for bits in comparison.bits)]
    for title in comparison.titles.values():
        row = [cells.get((title, bits)) for bits in comparison.bits]
        lines.append(f"{title:<{width}}" + "".join(f"{_cell(point):>18}" for point in row))
    chance = next(point.chance for point in cells.values())
    return "\n".join([*lines, f"{'chance':<{width}}{chance:>18.3f}", ""])


def _cell(point: Point | None) -> str:
    if point is None:
        return "–"
    return f"{point.mean:.3f}" + (f" ± {point.deviation:.3f}" if len(point.values) > 1 else "")

"""Train methods with several code lengths and seeds on a data set, and compare their scores.

Finished runs are saved in the cache folder (SMFH_CACHE), even if the command is killed; starting it again
trains only what is missing. The pages use the same folder.
"""

import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from itertools import product
from typing import Any

import pandas as pd
from tqdm import tqdm

from smfh.commands import options
from smfh.datasets import CORRUPTIONS, UserDataset
from smfh.datasets.planted import Planted
from smfh.experiments.comparison import (
    MEASURES,
    OF_A_RUN,
    Comparison,
    Grid,
    GridProgress,
    Problems,
    View,
    name_training,
    points_every_way,
    train_grid,
)
from smfh.experiments.robustness import clean_source, corrupted_grids, robustness_points, robustness_summary
from smfh.export import csv_rows, every_chart, html_of, latex_of, markdown_of
from smfh.hamming import DISTANCES
from smfh.hashing import COMPARED, METHODS, HashMethod
from smfh.jobs import Call, here
from smfh.metrics import GRADED
from smfh.plots import csv_of
from smfh.plots.paper_figure import figure_zip
from smfh.plugins import load_plugins, plugin_files
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.runs import MemoryRuns, RunStore, SavedRuns
from smfh.types import InputError, collect_problems, parameters

EPILOG = """examples:
  python -m smfh compare planted --bits 8 16 --seeds 2          no files needed
  python -m smfh compare emoji --methods smfh-plus smfh cmfh --bits 16 32 64 --seeds 3
  python -m smfh compare emoji --methods smfh-plus batch:strong "batch:same features as SMFH+"
  python -m smfh compare wiki --methods smfh:wiki smfh:wiki:graph_weight=5 --csv > alpha.csv
  python -m smfh compare emoji --html emoji.html               the report of the Compare page
  python -m smfh compare wiki --bits 64 --wrong-labels 0 0.2 0.4 0.6      scores by share of wrong labels"""
OTHERS = {"full": "map_all", "precision": "p_at_100"}  # further scores in the JSON output, and their names there
REPORT_BITS = 64  # code length of the figures in the report


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    options.add_data_arguments(parser)
    add(
        "--methods",
        nargs="+",
        default=[":".join(filter(None, (name, METHODS[name].best))) for name in COMPARED],
        metavar="METHOD",
        help=f"some of {', '.join(METHODS)} (default: all except smfh-program, each with its best preset); "
        "add presets and parameters with colons, as in smfh:wiki:graph_weight=2",
    )
    add("--bits", nargs="+", type=int, default=[16, 32, 64], help="code lengths (default 16 32 64)")
    add("--seeds", type=int, default=3, help="number of runs for each method and code length (default 3)")
    protocols = " ".join(f"{name}: {words}" for name, words in PROTOCOLS.items())
    add("--protocol", default="training", choices=list(PROTOCOLS), help=f"{protocols} Default: training.")
    options.add_options(parser, "ap", "distance")
    robustness = parser.add_argument_group("corrupted training items, as shares from 0 to 1")
    about = parameters(Planted())
    for name in CORRUPTIONS:
        flag = f"--{name.replace('_', '-')}"
        words = f"{about[name].help} Give several shares to print a curve."
        robustness.add_argument(flag, nargs="+", type=float, metavar="SHARE", help=words)
    robustness.add_argument("--corruption-seed", type=int, help="random seed of the corruption (default 0)")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the table as JSON")
    output.add_argument("--csv", action="store_true", help="print all directions and databases as CSV")
    output.add_argument("--latex", action="store_true", help="print tables for a paper in LaTeX (booktabs)")
    output.add_argument("--markdown", action="store_true", help="print the same tables in Markdown")
    options.add_options(parser, "cluster")
    add("--html", metavar="FILE.html", help="write a report with all figures to this file")
    add("--figures", metavar="FILE.zip", help="write all figures to this file, as SVG, PDF, CSV and Python code")


def run(arguments: Namespace) -> None:
    (source, rows), (shares, curve), report, figures, *methods = collect_problems(
        lambda: options.chosen_data(arguments),
        lambda: chosen_corruptions(arguments),
        lambda: options.output_path(arguments.html, "--html", ".html"),
        lambda: options.output_path(arguments.figures, "--figures", ".zip"),
        *(partial(options.read_method, text) for text in arguments.methods),
    )
    given = {} if arguments.corruption_seed is None else {"corruption_seed": arguments.corruption_seed}
    source = replace(source, **shares, **given)
    comparison = Comparison(source, tuple(methods), tuple(arguments.bits), arguments.seeds)
    is_private = isinstance(source, UserDataset)
    store: SavedRuns = MemoryRuns() if is_private else RunStore()
    grid = Grid(comparison, *(clean_source(source) if curve else source).load(rows, arguments.split_seed))
    grids = corrupted_grids(grid, curve, getattr(arguments, curve)) if curve else {0.0: grid}
    problems: list[str] = []
    with options.chosen_call(arguments) as (call, at_once):
        for one in grids.values():
            failed = train_missing(one, store, call, at_once)
            problems += [f"{name_training(run)}: {why}" for run, whys in failed.items() for why in whys]
    if curve:
        print_curve(grids, curve, store, arguments)
    elif grid.found(store):
        bits = REPORT_BITS if REPORT_BITS in comparison.bits else comparison.bits[-1]
        view = View(*grid.directions[0], arguments.ap, arguments.protocol, bits, distance=arguments.distance)
        print_grid(grid, store, view, arguments)
        if report is not None:
            command = "" if is_private else compare_command(comparison, view)
            report.write_text(html_of(grid, store, view, command), encoding="utf-8")
        if figures is not None:
            figures.write_bytes(figure_zip(every_chart(grid, store, view)))
    if problems:
        raise InputError(problems)


def chosen_corruptions(arguments: Namespace) -> tuple[dict[str, float], str]:
    """Return the first share of each given corruption, and the name of the one with several ("" if none)."""
    given = {name: shares for name in CORRUPTIONS if (shares := getattr(arguments, name)) is not None}
    curves = [name for name, shares in given.items() if len(shares) > 1]
    if len(curves) > 1:
        raise InputError(f"Only one option can have several shares, but these have: {', '.join(curves)}.")
    if curves and (arguments.html or arguments.figures or arguments.latex or arguments.markdown):
        raise InputError(
            "A curve over shares can be printed only as text, --csv or --json; leave out the other output options."
        )
    return {name: shares[0] for name, shares in given.items()}, "".join(curves)


def print_curve(grids: Mapping[float, Grid], corruption: str, store: SavedRuns, arguments: Namespace) -> None:
    """Print the scores by share of corrupted items, as text, CSV or JSON."""
    grid = next(iter(grids.values()))
    flat: list[dict[str, Any]] = []
    for direction, bits in product(grid.directions, grid.comparison.bits):
        view = View(*direction, arguments.ap, arguments.protocol, bits, distance=arguments.distance)
        points, score = robustness_points(grids, store, view), view.metric.label
        flat += [
            {"bits": bits, "protocol": view.protocol, "distance": view.distance, "score": score, "method": point.title}
            | {"direction": point.direction, corruption: point.at / 100, "mean": point.mean}
            | {"deviation": point.deviation, "seeds": len(point.values), "chance": point.chance}
            for point in points
        ]
        if not (arguments.json or arguments.csv):
            cells = pd.DataFrame(
                [(p.title, f"{p.at:g} %", f"{p.mean:.3f} ± {p.deviation:.3f}") for p in points],
                columns=["", CORRUPTIONS[corruption], "score"],
            )
            table = cells.pivot_table("score", "", CORRUPTIONS[corruption], "first", sort=False)
            heading = f"{grid.comparison.source.name}, {view.direction}, {score}, {bits} bits"
            print(f"{heading}, {view.protocol} items, {view.distance} distance\n{table.to_string()}")
            print(f"{robustness_summary(points, corruption, score)}\n")
    if arguments.json:
        options.print_json(flat)
    elif arguments.csv:
        print(csv_of(flat).rstrip())


def train_missing(grid: Grid, store: SavedRuns, call: Call = here, at_once: int = 1) -> Problems:
    """Train the missing runs of a grid with a progress bar; return the problems of failed runs."""
    total, missing = len(grid.keys), len(grid.missing(store))
    print(f"{total - missing} of {total} runs are saved; {missing} to train", file=sys.stderr, flush=True)
    with options.progress_bar(total, "run", initial=total - missing) as bar:
        problems = train_grid(grid, store, partial(show_progress, bar), call=call, at_once=at_once)
    print(f"trained {missing - len(problems)} runs", file=sys.stderr)
    return problems


def show_progress(bar: tqdm, progress: GridProgress, before: int = 0) -> None:
    """Update the progress bar from a grid's progress; `before` is the number of runs in earlier grids."""
    bar.set_description(name_training(progress.current) if progress.current else "done")
    bar.update(before + progress.done - bar.n)


def print_grid(grid: Grid, store: SavedRuns, view: View, arguments: Namespace) -> None:
    """Print the scores of the finished runs as CSV, LaTeX, Markdown, JSON or text, as the options say."""
    if arguments.csv:
        print(csv_of(csv_rows(grid, store, view)).rstrip())
    elif arguments.latex or arguments.markdown:
        print((latex_of if arguments.latex else markdown_of)(grid, store, view).rstrip())
    elif arguments.json:
        measured = {name: points_every_way(grid, store, replace(view, definition=name)) for name in OTHERS}
        measured |= {name: points_every_way(grid, store, view, name) for name in view.graded}
        others: dict[tuple[str, float, str], dict[str, float]] = {}
        for name, found in measured.items():
            for one in found:
                others.setdefault((one.title, one.at, one.direction), {})[OTHERS.get(name, name)] = one.mean
        rows = []
        for point in points_every_way(grid, store, view):
            worst, best = point.ties or (point.mean, point.mean)
            rows.append(
                {
                    "method": point.method,
                    "title": point.title,
                    "bits": point.at,
                    "direction": point.direction.replace(" → ", "->"),
                    "protocol": view.protocol,
                    "distance": view.distance,
                    "score": view.metric.label,
                    "mean": point.mean,
                    "deviation": point.deviation,
                    **others[point.title, point.at, point.direction],
                    "lowest": min(point.values),
                    "highest": max(point.values),
                    "ties_at_worst": worst,
                    "ties_at_best": best,
                    "chance": point.chance,
                    "seeds": len(point.values),
                }
            )
        options.print_json(rows)
    else:
        print(as_text(grid, store, view))


def as_text(grid: Grid, store: SavedRuns, view: View) -> str:
    """Return a text table (methods × code lengths, mean ± deviation) per direction and score."""
    comparison, lines = grid.comparison, list[str]()
    columns = {bits: f"{bits} bits" for bits in comparison.bits}
    tables = [("map", one.metric.label, points_every_way(grid, store, one)) for one in view.headline_views]
    tables += [(name, GRADED[name][0], points_every_way(grid, store, view, name)) for name in view.graded]
    for direction in dict.fromkeys(point.direction for point in tables[0][2]):
        for name, label, points in tables:
            table = pd.DataFrame("–", [*comparison.titles.values(), "chance"], list(columns.values()))
            for point in (point for point in points if point.direction == direction):
                table.loc[point.title, columns[int(point.at)]] = MEASURES[name].text(point)
                if point.chance is not None:
                    table.loc["chance", columns[int(point.at)]] = f"{point.chance:.3f}"
            heading = f"{comparison.source.name}, {direction}, {label}, {view.distance} distance"
            lines += [heading, table.to_string(), ""]
    seeds = "1 seed" if comparison.seeds == 1 else f"{comparison.seeds} seeds, mean ± standard deviation"
    meanings = [f"{one.metric.label}: {one.metric.words}" for one in view.headline_views]
    meanings += [": ".join(GRADED[name]) for name in view.graded]
    about = [PROTOCOLS[view.protocol], DISTANCES[view.distance], "Ties are in database order."]
    return "\n".join([*lines, f"{seeds}.", *meanings, *about])


def compare_command(comparison: Comparison, view: View) -> str:
    """Return the command that repeats a comparison: it trains missing runs and prints the table.

    Plug-in files are named without their folder, because pages show the command to visitors.
    """
    words, files = ["python", "-m", "smfh"], [path.name for path in plugin_files()]
    used = {comparison.source.name, *(method.name for method in comparison.methods)}
    for plugin in load_plugins():
        if plugin.origin in files and used & {*plugin.methods, *plugin.datasets}:
            words += ["--plugin", plugin.origin]
    words += ["compare", comparison.source.name]
    for name, text in _changed_fields(comparison.source):
        words += ["--option", f"{name}={text}"]
    words += ["--methods", *map(method_text, comparison.methods)]
    words += ["--bits", *map(str, comparison.bits), "--seeds", str(comparison.seeds)]
    words += ["--protocol", view.protocol] if view.protocol != "training" else []
    words += ["--ap", view.definition] if view.definition != "found" else []
    words += ["--distance", view.distance] if view.distance != "hamming" else []
    return shlex.join(words)


def method_text(method: HashMethod) -> str:
    """Return a method as text for `read_method`: name and non-default parameters, except bits and seed."""
    changed = (f"{name}={text}" for name, text in _changed_fields(method) if name not in OF_A_RUN)
    return ":".join([method.name, *changed])


def _changed_fields(configuration: Any) -> Iterator[tuple[str, str]]:
    """Yield the fields of a dataclass that differ from their defaults, with their values as text."""
    for field in fields(configuration):
        value = getattr(configuration, field.name)
        if value != field.default:
            yield field.name, ",".join(map(str, value)) if isinstance(value, tuple) else str(value)

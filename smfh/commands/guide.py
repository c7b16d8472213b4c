"""Write the tables of README and guide from measured scores and benchmarks, so that no number is typed in.

The measurements are in assets/guide/measured.json: scores with `--measure`, speed with `--bench`. Each table
stands between two comments in the Markdown file; everything else in the file is left as it is.
"""

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from smfh.bench.measure import machine
from smfh.commands.options import progress_bar, use_data_folder
from smfh.datasets import make_source
from smfh.experiments.comparison import Grid, View, best_method, default_comparison, train_grid
from smfh.experiments.robustness import DEFAULT_SHARES, corrupted_grids, robustness_points, robustness_summary
from smfh.folders import app_folder
from smfh.hamming import DISTANCES
from smfh.hashing import METHODS, HashMethod, make_method
from smfh.paper.plan import PAPER_METHODS, paper_method
from smfh.paper.published import COLUMNS, ROW, published_score
from smfh.paper.tables import DEFINITIONS, MEASURED, MEASURED_SEEDS
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.runs import RunStore, ensure_saved
from smfh.types import InputError, Point

EPILOG = """examples:
  python -m smfh guide                        write the tables
  python -m smfh guide --measure              train and score everything first (many minutes)
  python -m smfh guide --robustness           train with wrong labels and score (about ten minutes)
  python -m smfh bench --json > speed.json && python -m smfh guide --bench speed.json"""
ROBUSTNESS = Path("assets", "guide", "robustness.json")
FILES = ("README.md", *(f"assets/guide/{name}.md" for name in ("results", "speed")))
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
SETS, ROBUSTNESS_SEEDS = ("wiki", "emoji"), 2
DIRECTIONS = ("text → image", "image → text")
NEWER = ("smfh-plus", "dch", "scratch", "batch", "class-codes")
Scores = dict[str, Any]  # "dataset method bits protocol distance direction" → measure → mean


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--measure", action="store_true", help="train the methods of all tables first; saved runs are reused")
    add("--robustness", action="store_true", help="train with wrong labels first; saved runs are reused")
    add("--bench", metavar="FILE", help="take over the output of `bench --json`")
    add("--data", metavar="FOLDER", help="folder with the benchmark files (default: SMFH_DATA)")


def run(arguments: Namespace) -> None:
    use_data_folder(arguments)
    file, curves = app_folder() / MEASURED, app_folder() / ROBUSTNESS
    measured = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if arguments.measure:
        measured |= {"machine": machine(), "scores": measure()}
    if arguments.bench:
        measured["bench"] = json.loads(Path(arguments.bench).read_text(encoding="utf-8"))
    if measured:
        file.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if arguments.robustness:
        text = json.dumps(measure_robustness(), indent=1, ensure_ascii=False)
        curves.write_text(f"{text}\n", encoding="utf-8")
    if curves.is_file():
        measured["robustness"] = json.loads(curves.read_text(encoding="utf-8"))
    for name in FILES:
        path = app_folder() / name
        path.write_text(with_tables(path.read_text(encoding="utf-8"), measured), encoding="utf-8")
        print(f"wrote the tables of {name}")


def settings() -> list[tuple[str, str, HashMethod]]:
    """Return data set, name in the file and method of every run that a table needs, without seeds."""
    whole = make_method("smfh-plus", **METHODS["smfh-plus"].preset_values("whole ranking"))
    chosen: list[tuple[str, str, HashMethod]] = []
    for dataset in SETS:
        for name in NEWER:
            best = best_method(name, dataset)
            chosen += [(dataset, name, best.set_params(bits=bits)) for bits in (16, 64)]
        chosen.append((dataset, "smfh-plus", best_method("smfh-plus", dataset).set_params(bits=8)))
        chosen.append((dataset, "smfh-plus whole ranking", whole))
        chosen.append((dataset, "smfh", make_method("smfh")))
    for name in PAPER_METHODS:
        chosen += [("wiki", f"{name} paper", paper_method(name, "wiki").set_params(bits=b)) for b in (32, 64, 128)]
    return chosen


def measure() -> Scores:
    """Train or find all runs, and return the means and deviations of their scores over the seeds."""
    store, means, chosen = RunStore(), dict[str, Any](), settings()
    loaded = {name: (make_source(name), *make_source(name).load()) for name in SETS}
    with progress_bar(len(chosen) * MEASURED_SEEDS, "run") as bar:
        for dataset, name, method in chosen:
            source, data, split = loaded[dataset]
            found: dict[str, list[dict[str, float]]] = {}
            for seed in range(MEASURED_SEEDS):
                record = ensure_saved(store, source, method.set_params(seed=seed), data, split)
                for (a, b), protocol, distance in _searches():
                    scores = store.scores(record, data, split, a, b, protocol, distance)
                    key = f"{dataset} {name} {method.bits} {protocol} {distance} {a} → {b}"
                    ap = {k: one.mean for k, one in scores.average_precision.items()}
                    chance = scores.average_precision["found"].chance
                    one = {**ap, "ndcg": scores.ndcg_at_100, "chance": chance}
                    found.setdefault(key, []).append(one)
                bar.update()
            for key, runs in found.items():
                means[key] = {k: round(float(np.mean([run[k] for run in runs])), 4) for k in runs[0]}
                for k in DEFINITIONS.values():
                    means[key][f"{k} deviation"] = round(float(np.std([run[k] for run in runs], ddof=1)), 4)
    return means


def measure_robustness() -> list[dict[str, Any]]:
    """Train all methods with wrong labels; return the curves by data set, database and method.

    A curve has the mean over seeds and over both directions at every share.
    """
    curves: list[dict[str, Any]] = []
    for dataset in SETS:
        source = make_source(dataset)
        comparison = replace(default_comparison(source), bits=(64,), seeds=ROBUSTNESS_SEEDS)
        grids = corrupted_grids(Grid(comparison, *source.load()), "wrong_labels", DEFAULT_SHARES)
        store = RunStore()
        for grid in grids.values():
            train_grid(grid, store)
        for protocol in PROTOCOLS:
            views = [View(s, t, "found", protocol, 64) for s, t in (d.split(" → ") for d in DIRECTIONS)]
            both = [robustness_points(grids, store, view) for view in views]
            for title in comparison.titles.values():
                own = [[point.mean for point in points if point.title == title] for points in both]
                means = [round(float(value), 4) for value in np.mean(own, axis=0)]
                curves.append({"data": dataset, "database": protocol, "method": title, "scores": means})
    return curves


def _searches() -> list[tuple[tuple[str, str], str, str]]:
    ways = [tuple(direction.split(" → ")) for direction in DIRECTIONS]
    return [((a, b), protocol, distance) for a, b in ways for protocol in PROTOCOLS for distance in DISTANCES]


def with_tables(text: str, measured: dict[str, Any]) -> str:
    """Return the Markdown text with every marked table written anew."""

    def write(match: re.Match[str]) -> str:
        name = match[2]
        if name not in TABLES:
            raise InputError(f"There is no table {name}; there are {', '.join(TABLES)}.")
        if NEEDS.get(name, "scores") not in measured:
            return match[0]  # not measured yet
        return f"{match[1]}{TABLES[name](measured)}\n{match[3]}"

    return MARKED.sub(write, text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def _cell(measured: dict[str, Any], key: str, measure: str = "found") -> str:
    """Return both directions of a score, such as .719 / .333; the key ends before the direction."""
    values = [measured["scores"][f"{key} {direction}"][measure] for direction in DIRECTIONS]
    return " / ".join(_number(value) for value in values)


def _number(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def overview(measured: dict[str, Any]) -> str:
    """Return the table of the README: each method with its best preset, 64 bits."""
    places = [(dataset, protocol) for dataset in SETS for protocol in PROTOCOLS]
    names = {name: METHODS[name].title for name in ("smfh-plus", "smfh", *NEWER[1:])}
    names |= {"smfh": "SMFH, as published"}
    rows = [
        [title, *(_cell(measured, f"{d} {name} 64 {p} hamming") for d, p in places)] for name, title in names.items()
    ]
    chance = [_cell(measured, f"{d} smfh-plus 64 {p} hamming", "chance") for d, p in places]
    return _table(["", *(f"{d.title()}, {p}" for d, p in places)], [*rows, ["chance", *chance]])


def lengths(measured: dict[str, Any]) -> str:
    """Return the table of SMFH+ at 8, 16 and 64 bits and SMFH at 64."""
    places = [(dataset, protocol) for dataset in SETS for protocol in PROTOCOLS]
    which = [("smfh-plus", 8), ("smfh-plus", 16), ("smfh-plus", 64), ("smfh", 64)]
    rows = [
        [METHODS[m].title, str(b), *(_cell(measured, f"{d} {m} {b} {p} hamming") for d, p in places)] for m, b in which
    ]
    return _table(["mAP@100", "bits", *(f"{d.title()}, {p}" for d, p in places)], rows)


def newer(measured: dict[str, Any]) -> str:
    """Return the table of SMFH+ and newer methods with the same features."""
    labels = {"found": "mAP@100", "precision": "P@100", "full": "whole ranking", "ndcg": "NDCG@100"}
    rows = []
    for dataset in SETS:
        for measure, label in labels.items():
            ours = "smfh-plus whole ranking" if measure == "full" else "smfh-plus"
            names = (ours, *NEWER[1:])
            cells = [_cell(measured, f"{dataset} {name} 64 training hamming", measure) for name in names]
            rows.append([dataset.title() if measure == "found" else "", label, *cells])
    return _table(["", "", *(METHODS[name].title for name in NEWER)], rows)


def distances(measured: dict[str, Any]) -> str:
    """Return the table of scores by Hamming and by asymmetric distance."""
    rows = []
    for dataset in SETS:
        for name, bits, protocol, score in (
            ("smfh-plus", 16, "training", "found"),
            ("smfh-plus", 16, "unseen", "found"),
            ("smfh-plus", 64, "training", "found"),
            ("smfh-plus whole ranking", 64, "training", "full"),
        ):
            preset = ', preset "whole ranking"' if score == "full" else ""
            cells = [_cell(measured, f"{dataset} {name} {bits} {protocol} {d}", score) for d in DISTANCES]
            label = "whole ranking" if score == "full" else "mAP@100"
            rows.append([f"{dataset.title()}, {bits} bits, {protocol}{preset}", label, *cells])
    return _table(["SMFH+, text → image / image → text", "score", *DISTANCES], rows)


def table_1(direction: str) -> Callable[[dict[str, Any]], str]:
    """Return the function that writes one half of Table 1: measured (published)."""

    def write(measured: dict[str, Any]) -> str:
        rows = []
        for name in PAPER_METHODS:
            cells = []
            for column, bits in COLUMNS:
                key = f"wiki {name} paper {bits} training hamming {direction}"
                printed = published_score("wiki", direction.replace(" → ", "->"), ROW.get(name, name), column, bits)
                cell = _number(measured["scores"][key][DEFINITIONS[column]])
                cells.append(cell + (f" ({_number(printed)})" if printed is not None else ""))
            rows.append([METHODS[name].title, *cells])
        labels = {"map": "mAP", "p_at_100": "P@100"}
        return _table([direction, *(f"{labels[column]} {bits}" for column, bits in COLUMNS)], rows)

    return write


def robustness(measured: dict[str, Any]) -> str:
    """Return the table of scores by share of wrong labels, and two sentences for each data set."""
    curves = measured["robustness"]
    places = list(dict.fromkeys((one["data"], one["database"]) for one in curves))
    cells = {
        (one["method"], one["data"], one["database"]): " ".join(_number(x) for x in one["scores"]) for one in curves
    }
    titles = dict.fromkeys(one["method"] for one in curves)
    rows = [[title, *(cells[title, *place] for place in places)] for title in titles]
    sentences = []
    for data, database in places:
        found = [
            Point("", one["method"], f"{data.title()}, {database} items", 100 * share, (score,))
            for one in curves
            if (one["data"], one["database"]) == (data, database)
            for share, score in zip(DEFAULT_SHARES, one["scores"], strict=True)
        ]
        sentences.append(f"- {robustness_summary(found, 'wrong_labels', 'mAP@100')}")
    shares = ", ".join(f"{100 * share:g} %" for share in DEFAULT_SHARES)
    head = [f"mAP@100 with {shares} wrong labels", *(f"{d.title()}, {p}" for d, p in places)]
    return "\n".join([_table(head, rows), "", *sentences])


def ratios(measured: dict[str, Any]) -> str:
    """Return the ratios of a benchmark with what they compare, and the machine."""
    bench = measured["bench"]
    rows = [[name, f"{ratio:.2f}", bench["notes"][name]] for name, ratio in bench["ratios"].items()]
    return f"{bench['machine']}:\n\n" + _table(["ratio", "measured", "what is compared"], rows)


def seconds(measured: dict[str, Any]) -> str:
    """Return the times of a benchmark."""
    times = measured["bench"]["seconds"].items()
    rows = [[name, f"{time:.3f}{'' if name.endswith('GB') else ' s'}"] for name, time in times]
    return _table(["", "measured"], rows)


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "overview": overview,
    "lengths": lengths,
    "newer": newer,
    "distances": distances,
    "robustness": robustness,
    "task-1": table_1(DIRECTIONS[0]),
    "task-2": table_1(DIRECTIONS[1]),
    "ratios": ratios,
    "seconds": seconds,
    "scores-machine": lambda measured: f"Measured on: {measured['machine']}.",
}
NEEDS = {"robustness": "robustness", "ratios": "bench", "seconds": "bench"}  # other tables need "scores"

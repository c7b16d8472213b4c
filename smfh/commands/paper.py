"""paper: Tables 1 and 2 for the data at hand, measured beside published.

Trainings are kept on disk, and those that are there already are not repeated, whether a page or this command
made them: the Paper page then shows the same numbers. --fresh trains all of them again.
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from smfh.commands import options
from smfh.commands.compare import show_progress
from smfh.datasets import DATASETS, make_source
from smfh.hashing import METHODS, make_method
from smfh.metrics import AP_DEFINITIONS
from smfh.paper import (
    BENCHMARKS,
    PAPER_METHODS,
    SEEDS,
    TABLE_BITS,
    Cell,
    as_rows,
    as_text,
    measure_table,
    runnable,
)
from smfh.plots import csv_of
from smfh.runs import RunStore
from smfh.types import InputError, collect_problems

EPILOG = """examples:
  python -m smfh paper                                  every method, five seeds
  python -m smfh paper --methods smfh --seeds 2 --csv > table1.csv
  python -m smfh paper --datasets emoji                 the same table on data that the paper has not"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help=f"some of {', '.join(METHODS)} (default: the paper's, smfh-program and smfh-plus)",
    )
    add(
        "--datasets",
        nargs="+",
        metavar="DATASET",
        help=f"some of {', '.join(DATASETS)} (default: those of {', '.join(BENCHMARKS)} that are there)",
    )
    add("--seeds", type=int, default=SEEDS, help=f"runs a cell (default {SEEDS})")
    add(
        "--fresh",
        action="store_true",
        help="train everything again and keep nothing; else trainings on disk are used and new ones kept",
    )
    options.add_split_arguments(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the cells as JSON")
    output.add_argument("--csv", action="store_true", help="print the cells as CSV")


def run(arguments: Namespace) -> None:
    options.use_data_folder(arguments)
    methods = list(dict.fromkeys(arguments.methods or PAPER_METHODS))
    wanted = list(dict.fromkeys(arguments.datasets or BENCHMARKS))
    collect_problems(
        lambda: options.check_count("--seeds", arguments.seeds),
        *(partial(make_method, name) for name in methods),
        *(partial(make_source, name) for name in wanted),
    )
    missing = {dataset: runnable(dataset) for dataset in wanted}
    ready = [dataset for dataset in wanted if not missing[dataset]]
    if not ready:
        raise InputError([line for lines in missing.values() for line in lines])
    seeds: int = arguments.seeds
    runs = len(methods) * len(TABLE_BITS) * seeds  # of a data set
    cells: list[Cell] = []
    with options.progress_bar(len(ready) * runs, "run") as bar, TemporaryDirectory() as passing:
        store = RunStore(Path(passing)) if arguments.fresh else RunStore()
        for number, dataset in enumerate(ready):
            show = partial(show_progress, bar, before=number * runs)
            split = options.chosen_split(arguments, make_source(dataset))
            cells += measure_table(dataset, methods, seeds, store, split, arguments.split_seed, show)
    _print(cells, arguments)
    for lines in missing.values():
        if lines:
            print(f"not run: {' '.join(lines)}", file=sys.stderr)


def _print(cells: list[Cell], arguments: Namespace) -> None:
    if arguments.json:
        print(json.dumps(as_rows(cells), indent=2))
    elif arguments.csv:
        print(csv_of(as_rows(cells)).rstrip())
    else:
        print(as_text(cells))
        several = "1 seed" if arguments.seeds == 1 else f"{arguments.seeds} seeds"
        print(f"{several}, mean ± standard deviation. {AP_DEFINITIONS['found'].words}")
        print("The database is the training set, as in the paper; ties stand in database order.")

"""paper: Tables 1 and 2 for the data at hand, measured beside published.

Trainings are kept on disk, and those that are there already are not repeated, whether a page or this command
made them: the Paper page then shows the same numbers. --fresh trains all of them again.
"""

import csv
import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

from smfh.commands.options import add_split_arguments, chosen_split
from smfh.comparison import GridProgress, name_training
from smfh.datasets import DATASETS
from smfh.hashing import METHODS
from smfh.metrics import AP_DEFINITIONS
from smfh.paper import BENCHMARKS, SEEDS, TABLE_BITS, Cell, as_rows, as_text, measure_table, runnable
from smfh.runs import RunStore
from smfh.types import InputError, unknown

EPILOG = """examples:
  python -m smfh paper                                  every method, five seeds
  python -m smfh paper --methods smfh --seeds 2 --csv > table1.csv
  python -m smfh paper --datasets emoji                 the same table on data that the paper has not"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--methods", nargs="+", metavar="METHOD", help=f"some of {', '.join(METHODS)} (default all)"
    )
    parser.add_argument(
        "--datasets",
        nargs="+",
        metavar="DATASET",
        help=f"some of {', '.join(DATASETS)} (default: those of {', '.join(BENCHMARKS)} that are there)",
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"runs a cell (default {SEEDS})")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="train everything again and keep nothing; else trainings on disk are used and new ones kept",
    )
    add_split_arguments(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the cells as JSON")
    output.add_argument("--csv", action="store_true", help="print the cells as CSV")


def run(arguments: Namespace) -> None:
    methods = list(dict.fromkeys(arguments.methods or METHODS))
    split = chosen_split(arguments)
    wanted = list(dict.fromkeys(arguments.datasets or BENCHMARKS))
    _check(arguments.seeds, methods, wanted)
    missing = {dataset: runnable(dataset) for dataset in wanted}
    ready = [dataset for dataset in wanted if not missing[dataset]]
    if not ready:
        raise InputError([line for lines in missing.values() for line in lines])
    runs = len(ready) * len(methods) * len(TABLE_BITS) * arguments.seeds
    cells: list[Cell] = []
    with (
        tqdm(total=runs, unit="run", disable=not sys.stderr.isatty()) as bar,
        TemporaryDirectory() as passing,
    ):
        store = RunStore(Path(passing)) if arguments.fresh else RunStore()

        for place, dataset in enumerate(ready):
            before = runs // len(ready) * place

            def show(progress: GridProgress, before: int = before) -> None:
                bar.set_description(name_training(progress.current) if progress.current else "done")
                bar.update(before + progress.done - bar.n)

            cells += measure_table(dataset, methods, arguments.seeds, store, split, show)
    _print(cells, arguments)
    for dataset in wanted:
        if missing[dataset]:
            print(f"not run: {' '.join(missing[dataset])}", file=sys.stderr)


def _check(seeds: int, methods: list[str], datasets: list[str]) -> None:
    problems = [] if seeds >= 1 else [f"--seeds must be 1 or more; got {seeds}."]
    for kind, names, known in (("method", methods, METHODS), ("data set", datasets, DATASETS)):
        for name in names:
            if name not in known:
                problems += unknown(kind, name, list(known)).problems
    if problems:
        raise InputError(problems)


def _print(cells: list[Cell], arguments: Namespace) -> None:
    if arguments.json:
        print(json.dumps(as_rows(cells), indent=2))
    elif arguments.csv:
        writer = csv.DictWriter(sys.stdout, fieldnames=list(as_rows(cells[:1])[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(as_rows(cells))
    else:
        print(as_text(cells))
        several = "1 seed" if arguments.seeds == 1 else f"{arguments.seeds} seeds"
        print(f"{several}, mean ± standard deviation. {AP_DEFINITIONS['found'].words}")
        print("The database is the training set, as in the paper; ties stand in database order.")

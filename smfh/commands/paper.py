"""paper: the cells of Table 1 that the data at hand allows, measured beside published."""

import csv
import json
import sys
from argparse import ArgumentParser, Namespace

from tqdm import tqdm

from smfh.commands.options import add_split_arguments, chosen_split
from smfh.hashing import METHODS
from smfh.metrics import AP_DEFINITIONS
from smfh.paper import COLUMNS, TABLE_1, Cell, as_rows, as_text, measure_table, runnable
from smfh.types import InputError, unknown

HELP = "measure Table 1 of the paper beside its published numbers"
EPILOG = """examples:
  python -m smfh paper                                  every method, five seeds
  python -m smfh paper --methods smfh --seeds 2 --csv > table1.csv"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--methods", nargs="+", metavar="METHOD", help=f"some of {', '.join(METHODS)} (default all)"
    )
    parser.add_argument("--seeds", type=int, default=5, help="runs a cell (default 5)")
    add_split_arguments(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the cells as JSON")
    output.add_argument("--csv", action="store_true", help="print the cells as CSV")


def run(arguments: Namespace) -> None:
    methods = arguments.methods or list(METHODS)
    for method in methods:
        if method not in METHODS:
            raise unknown("method", method, METHODS)
    if arguments.seeds < 1:
        raise InputError(f"--seeds must be 1 or more; got {arguments.seeds}.")
    split = chosen_split(arguments)
    missing = {dataset: runnable(dataset) for dataset in TABLE_1}
    ready = [dataset for dataset in TABLE_1 if not missing[dataset]]
    if not ready:
        raise InputError([line for lines in missing.values() for line in lines])
    runs = len(ready) * len(methods) * len({bits for _, bits in COLUMNS}) * arguments.seeds
    cells: list[Cell] = []
    with tqdm(total=runs, unit="run", disable=not sys.stderr.isatty()) as bar:

        def show(what: str) -> None:
            bar.set_description(what)
            bar.update()

        for dataset in ready:
            cells += measure_table(dataset, methods, arguments.seeds, split, show)
    _print(cells, arguments)
    for dataset in TABLE_1.keys() - set(ready):
        print(f"not run: {' '.join(missing[dataset])}", file=sys.stderr)


def _print(cells: list[Cell], arguments: Namespace) -> None:
    if arguments.json:
        print(json.dumps(as_rows(cells), indent=2))
    elif arguments.csv:
        writer = csv.DictWriter(sys.stdout, fieldnames=list(as_rows(cells[:1])[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(as_rows(cells))
    else:
        print(as_text(cells))
        print(f"{arguments.seeds} seeds, mean ± standard deviation. {AP_DEFINITIONS['found'].words}")
        print("The database is the training set, as in the paper; ties stand in database order.")

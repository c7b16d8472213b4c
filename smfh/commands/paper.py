"""paper: Tables 1 and 2 for the data at hand, measured beside published.

Trainings are kept on disk, and those that are there already are not repeated, whether a page or this command
made them: the Paper page then shows the same numbers. --fresh trains all of them again.

--check trains again what reference scores are kept of, and fails where one lies beyond the seeds' scatter or
does not come out any more.
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
from smfh.files.whole import passing_name
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
from smfh.paper.reference import KeptScore, compare_scores, measure_scores, read_reference, write_reference
from smfh.plots import csv_of
from smfh.runs import RunStore
from smfh.types import InputError, collect_problems

EPILOG = """examples:
  python -m smfh paper                                  every method, five seeds
  python -m smfh paper --methods smfh --seeds 2 --csv > table1.csv
  python -m smfh paper --datasets emoji                 the same table on data that the paper has not
  python -m smfh paper --check                          are the kept scores still what comes out?
  python -m smfh paper --check --datasets emoji --methods smfh-plus --bits 16 --seeds 2"""


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
    add("--bits", nargs="+", type=int, help="lengths to check or to keep (default: those that are kept)")
    purpose = parser.add_mutually_exclusive_group()
    purpose.add_argument("--check", action="store_true", help="compare fresh trainings with the kept scores")
    purpose.add_argument("--write-reference", action="store_true", help="keep fresh scores with the program")
    options.add_split_arguments(parser)
    options.add_cluster_argument(parser)
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print the cells as JSON")
    output.add_argument("--csv", action="store_true", help="print the cells as CSV")


def run(arguments: Namespace) -> None:
    options.use_data_folder(arguments)
    methods = list(dict.fromkeys(arguments.methods or PAPER_METHODS))
    wanted = list(dict.fromkeys(arguments.datasets or BENCHMARKS))
    collect_problems(
        lambda: options.check_count("--seeds", arguments.seeds),
        lambda: check_purpose(arguments),
        *(partial(make_method, name) for name in methods),
        *(partial(make_source, name) for name in wanted),
    )
    if arguments.check or arguments.write_reference:
        refer(arguments)
        return
    missing = {dataset: runnable(dataset) for dataset in wanted}
    ready = [dataset for dataset in wanted if not missing[dataset]]
    if not ready:
        raise InputError([line for lines in missing.values() for line in lines])
    seeds: int = arguments.seeds
    runs = len(methods) * len(TABLE_BITS) * seeds  # of a data set
    cells: list[Cell] = []
    with (
        options.chosen_call(arguments) as elsewhere,
        options.progress_bar(len(ready) * runs, "run") as bar,
        TemporaryDirectory(prefix=passing_name()) as passing,
    ):
        store = RunStore(Path(passing)) if arguments.fresh else RunStore()
        for number, dataset in enumerate(ready):
            show = partial(show_progress, bar, before=number * runs)
            split = options.chosen_split(arguments, make_source(dataset))
            choice = (dataset, methods, seeds, store, split, arguments.split_seed)
            cells += measure_table(*choice, show, *elsewhere)
    _print(cells, arguments)
    for lines in missing.values():
        if lines:
            print(f"not run: {' '.join(lines)}", file=sys.stderr)


def check_purpose(arguments: Namespace) -> None:
    """Refuse what would be ignored: kept scores are of the usual split and told line by line."""
    if not (arguments.check or arguments.write_reference):
        if arguments.bits:
            lengths = ", ".join(map(str, TABLE_BITS))
            raise InputError(f"--bits is for --check and --write-reference; the tables have {lengths}.")
        return
    given = {
        "--split": arguments.split != "default",
        "--split-seed": arguments.split_seed != 0,
        "--json": arguments.json,
        "--csv": arguments.csv,
    }
    why = "they measure with the usual split, and tell line by line"
    if unheeded := [option for option, is_given in given.items() if is_given]:
        raise InputError([f"{name} is not for --check and --write-reference: {why}." for name in unheeded])


def refer(arguments: Namespace) -> None:
    """Train again what scores are kept of, or what is asked for; then compare, or keep."""
    kept = read_reference()
    wanted = arguments.datasets or sorted({score.dataset for score in kept})
    plans = {}
    for dataset in (name for name in wanted if not runnable(name)):
        own = [score for score in kept if score.dataset == dataset]
        methods = arguments.methods or sorted({score.method for score in own})
        plans[dataset] = methods, sorted(set(arguments.bits or (score.bits for score in own)))
    if not all(methods and lengths for methods, lengths in plans.values()) or not plans:
        raise InputError("Nothing is kept to be compared; say --datasets, --methods and --bits to keep.")
    runs = {name: len(methods) * len(bits) * arguments.seeds for name, (methods, bits) in plans.items()}
    fresh: list[KeptScore] = []
    with (
        options.chosen_call(arguments) as elsewhere,
        options.progress_bar(sum(runs.values()), "run") as bar,
        TemporaryDirectory(prefix=passing_name()) as passing,
    ):
        before = 0
        for dataset, (methods, bits) in plans.items():
            show, store = partial(show_progress, bar, before=before), RunStore(Path(passing))
            fresh += measure_scores(dataset, methods, bits, arguments.seeds, store, show, *elsewhere)
            before += runs[dataset]
    if arguments.write_reference:
        write_reference(fresh)
        print(f"{len(fresh)} scores are kept.")
        return
    promised = [
        score
        for score in kept
        if score.dataset in plans
        and score.method in plans[score.dataset][0]
        and score.bits in plans[score.dataset][1]
    ]
    verdicts = compare_scores(promised, fresh)
    print("\n".join(verdict.words for verdict in verdicts))
    failed = sum(not verdict.holds for verdict in verdicts)
    left_out = [dataset for dataset in wanted if dataset not in plans]
    print(f"{len(verdicts) - failed} of {len(verdicts)} scores are what was kept, within the seeds' scatter.")
    if left_out:
        print(f"not run, its files are missing: {', '.join(left_out)}", file=sys.stderr)
    if failed or not verdicts:
        sys.exit(1)


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

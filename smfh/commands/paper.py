"""Measure Tables 1 and 2 of the paper and show the published numbers beside them.

Runs are saved, and saved runs are not trained again, whether a page or this command trained them; the Paper
page then shows the same numbers. --fresh trains all of them again.

--check trains the runs of the stored reference scores again. It fails if a score differs by more than the
deviation over seeds allows, or can no longer be measured.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from smfh.commands import options
from smfh.commands.compare import show_progress
from smfh.datasets import DATASETS, make_source
from smfh.experiments.comparison import Comparison, Grid
from smfh.files.atomic import temporary_prefix
from smfh.hashing import METHODS, make_method
from smfh.metrics import AP_DEFINITIONS
from smfh.paper import (
    BENCHMARKS,
    PAPER_METHODS,
    SEEDS,
    TABLE_BITS,
    as_rows,
    as_text,
    methods_by_bits,
    runnable,
    table_cells,
    train_comparison,
)
from smfh.paper.reference import compare_scores, grid_scores, read_reference, write_reference
from smfh.plots import csv_of
from smfh.runs import RunStore
from smfh.types import InputError, collect_problems

EPILOG = """examples:
  python -m smfh paper                                  all methods, five seeds
  python -m smfh paper --methods smfh --seeds 2 --csv > table1.csv
  python -m smfh paper --datasets emoji                 the same table for data that is not in the paper
  python -m smfh paper --check                          does the program still produce the reference scores?
  python -m smfh paper --check --datasets emoji --methods smfh-plus --bits 16 --seeds 2"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    methods = f"some of {', '.join(METHODS)} (default: the paper's, smfh-program and smfh-plus)"
    add("--methods", nargs="+", metavar="METHOD", help=methods)
    datasets = f"some of {', '.join(DATASETS)} (default: those of {', '.join(BENCHMARKS)} that are available)"
    add("--datasets", nargs="+", metavar="DATASET", help=datasets)
    add("--seeds", type=int, default=SEEDS, help=f"number of runs for each cell (default {SEEDS})")
    add("--fresh", action="store_true", help="train all runs again, and save none")
    add("--bits", nargs="+", type=int, help="code lengths of the reference scores (default: all stored)")
    options.add_options(parser, "split", "split-seed", "data", "cluster")
    output = parser.add_mutually_exclusive_group()
    for option, words in (
        ("--json", "print the cells as JSON"),
        ("--csv", "print the cells as CSV"),
        ("--check", "compare new runs with the reference scores"),
        ("--write-reference", "store the scores of new runs as reference scores"),
    ):
        output.add_argument(option, action="store_true", help=words)


def run(arguments: Namespace) -> None:
    options.use_data_folder(arguments)
    methods = list(dict.fromkeys(arguments.methods or PAPER_METHODS))
    datasets = list(dict.fromkeys(arguments.datasets or BENCHMARKS))
    collect_problems(
        lambda: options.check_count("--seeds", arguments.seeds),
        *(partial(make_method, name) for name in methods),
        *(partial(make_source, name) for name in datasets),
    )
    if arguments.check or arguments.write_reference:
        if (arguments.split, arguments.split_seed) != ("default", 0):
            raise InputError("--check and --write-reference use the default split; leave out --split, --split-seed.")
        run_reference(arguments)
        return
    if arguments.bits:
        lengths = ", ".join(map(str, TABLE_BITS))
        raise InputError(f"--bits is only for --check and --write-reference; the tables have {lengths} bits.")
    missing = {dataset: runnable(dataset) for dataset in datasets}
    plans = {name: (methods, TABLE_BITS) for name in datasets if not missing[name]}
    if not plans:
        raise InputError([line for lines in missing.values() for line in lines])
    with TemporaryDirectory(prefix=temporary_prefix()) as temporary:
        store = RunStore(Path(temporary)) if arguments.fresh else RunStore()
        grids = train_plans(plans, store, arguments)
        cells = [cell for dataset, grid in grids.items() for cell in table_cells(dataset, grid, store)]
    if arguments.json:
        options.print_json(as_rows(cells))
    elif arguments.csv:
        print(csv_of(as_rows(cells)).rstrip())
    else:
        seeds = "1 seed" if arguments.seeds == 1 else f"{arguments.seeds} seeds, mean ± standard deviation"
        print(f"{as_text(cells)}\n{seeds}. {AP_DEFINITIONS['found'].words}")
        print("The database is the training set, as in the paper; Hamming distance, ties in database order.")
    for lines in filter(None, missing.values()):
        print(f"not measured: {' '.join(lines)}", file=sys.stderr)


def train_plans(
    plans: Mapping[str, tuple[Sequence[str], Sequence[int]]], store: RunStore, arguments: Namespace
) -> dict[str, Grid]:
    """Train the planned methods and code lengths of each data set; return the grids by data set."""
    runs = {name: len(methods) * len(bits) * arguments.seeds for name, (methods, bits) in plans.items()}
    grids: dict[str, Grid] = {}
    with options.chosen_call(arguments) as (call, at_once), options.progress_bar(sum(runs.values()), "run") as bar:
        for name, (methods, bits) in plans.items():
            comparison: Comparison = methods_by_bits(bits, name, methods, arguments.seeds)
            show = partial(show_progress, bar, before=sum(runs[done] for done in grids))
            split = options.chosen_split(arguments, comparison.source)
            order = (comparison, store, split, arguments.split_seed)
            grids[name] = train_comparison(*order, show, call, at_once)
    return grids


def run_reference(arguments: Namespace) -> None:
    """Train the runs of the reference scores, or the chosen ones, and compare or store their scores."""
    stored = read_reference()
    datasets = arguments.datasets or sorted({score.dataset for score in stored})
    plans = {}
    for dataset in (name for name in datasets if not runnable(name)):
        own = [score for score in stored if score.dataset == dataset]
        methods = arguments.methods or sorted({score.method for score in own})
        plans[dataset] = methods, sorted(set(arguments.bits or (score.bits for score in own)))
    if not plans or not all(methods and lengths for methods, lengths in plans.values()):
        raise InputError(
            "There are no reference scores for this choice; --write-reference with --datasets, --methods and "
            "--bits stores some."
        )
    with TemporaryDirectory(prefix=temporary_prefix()) as temporary:
        store = RunStore(Path(temporary))
        grids = train_plans(plans, store, arguments)
        fresh = [score for dataset, grid in grids.items() for score in grid_scores(dataset, grid, store)]
    if arguments.write_reference:
        write_reference(fresh)
        print(f"{len(fresh)} reference scores stored.")
        return
    chosen = {(name, method, bits) for name, plan in plans.items() for method in plan[0] for bits in plan[1]}
    verdicts = compare_scores([s for s in stored if (s.dataset, s.method, s.bits) in chosen], fresh)
    print("\n".join(verdict.words for verdict in verdicts))
    passed = sum(verdict.holds for verdict in verdicts)
    print(f"{passed} of {len(verdicts)} scores agree with the reference, given the deviation over seeds.")
    if left_out := [dataset for dataset in datasets if dataset not in plans]:
        print(f"not measured, files are missing: {', '.join(left_out)}", file=sys.stderr)
    if passed < len(verdicts) or not verdicts:
        sys.exit(1)

"""tune: choose a method's parameters on validation parts of training data, by a sweep or a search."""

from argparse import ArgumentParser, Namespace
from functools import partial

from smfh.commands import options
from smfh.datasets import make_source
from smfh.tuning import Studies, StudyPlan, summarise, tune, usual_ranges
from smfh.types import collect_problems

EPILOG = """Queries are never looked at: a part of each set's training rows asks the rest of them.

examples:
  python -m smfh tune --datasets wiki --method smfh --study "Wiki, SMFH" --trials 40"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--study", default="study", help="name of the study")
    add("--datasets", nargs="+", default=["wiki"], metavar="DATASET")
    add("--lengths", nargs="+", type=int, default=[], metavar="BITS", help="code lengths")
    add("--folds", type=int, default=3, help="validation parts a set (default 3)")
    add("--trials", type=int, default=40, help="settings tried, the start first (default 40)")
    add("--data", metavar="FOLDER", help="folder with the benchmark files")
    options.add_method_arguments(parser, default="smfh-plus")


def run(arguments: Namespace) -> None:
    options.use_data_folder(arguments)
    method, *sources = collect_problems(
        lambda: options.chosen_method(arguments), *(partial(make_source, name) for name in arguments.datasets)
    )
    plan = StudyPlan(
        arguments.study,
        tuple(sources),
        method,
        usual_ranges(method),
        trials=arguments.trials,
        folds=arguments.folds,
        lengths=tuple(arguments.lengths),
    )
    study = Studies().join(plan)
    tune(study)
    print("\n".join(summarise(study).lines))

"""tune: choose a method's parameters on validation parts of training data, by a search or a sweep."""

import hashlib
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from smfh.commands import options, study_text
from smfh.datasets import make_source
from smfh.evaluation import PROTOCOLS
from smfh.files.whole import write_whole
from smfh.hashing import HashMethod
from smfh.jobs import Call, here
from smfh.plots import csv_of
from smfh.runs import RunStore
from smfh.tuning import (
    MEASURES,
    OVER,
    Goal,
    Range,
    Studies,
    Study,
    StudyPlan,
    StudyProgress,
    confirm,
    find_parameter,
    study_file,
    trial_rows,
    tune,
    usual_range,
    usual_ranges,
)
from smfh.types import InputError, collect_problems

EPILOG = """Queries are never looked at: a part of each set's training rows asks the rest of them. Only
--confirm asks by the queries, once, with the chosen setting and the start.

A study has a name and lasts: started again the command goes on where it was stopped or killed,
and several of them, also on several machines with --storage, share the work. The Tune page shows
the same studies.

examples:
  python -m smfh tune --datasets emoji --trials 40 --study "weights on Emoji"
  python -m smfh tune --study "weights on Emoji"                join it, in a second terminal
  python -m smfh tune --datasets wiki --method smfh --sweep α --range α=0.1:1000:9
  python -m smfh tune --datasets wiki planted --lengths 16 64 --protocols training unseen
  python -m smfh tune --study "weights on Emoji" --confirm --export trials.csv
  python -m smfh tune --list"""
EXPORTS = (".csv", ".db")
BESIDE_THE_PLAN = ("study", "storage", "data", "cluster", "trials", "minutes", "confirm", "export", "json")


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--study", metavar="NAME", help="make this study or join it (default: a name made from the options)")
    add("--datasets", nargs="+", metavar="DATASET", help="what a new study is judged on; one or more")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--search", nargs="+", metavar="PARAMETER", help="let Optuna choose these (the default)")
    way.add_argument("--sweep", nargs="+", metavar="PARAMETER", help="try one or two over their whole range")
    add(
        "--range",
        action="append",
        default=[],
        metavar="PARAMETER=LOW:HIGH[:POINTS]",
        help="other ends than usual, and for a sweep the number of values; may be repeated",
    )
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--trials", type=int, help="of a search, the start included (default 40)")
    budget.add_argument("--minutes", type=float, help="of work instead, all workers together")
    add("--goal", default="balanced", help="; ".join(f"{name}: {words}" for name, words in MEASURES.items()))
    add("--over", default="mean", help="; ".join(f"{name}: {words}" for name, words in OVER.items()))
    add("--folds", type=int, default=3, help="validation parts a set, each with its own seed (default 3)")
    add("--lengths", nargs="+", type=int, default=[], metavar="BITS", help="judge by several code lengths")
    add("--protocols", nargs="+", default=["training"], help=f"what is searched: {', '.join(PROTOCOLS)}")
    add("--storage", metavar="ADDRESS", help="sqlite:///…, postgresql://…, mysql://… (or SMFH_STUDIES)")
    options.add_cluster_argument(parser)
    add("--data", metavar="FOLDER", help="folder with the benchmark files")
    add("--confirm", nargs="?", const="best", metavar="TRIAL", help="then ask by the queries: start and best")
    add("--export", metavar="FILE", help="the trials as .csv, or as .db for Optuna's own dashboard")
    add("--list", action="store_true", help="list all studies")
    add("--delete", action="store_true", help="delete the study")
    add("--json", action="store_true", help="print the study as JSON")
    options.add_method_arguments(parser, default="smfh-plus")


def run(arguments: Namespace) -> None:
    options.use_data_folder(arguments)
    export = export_path(arguments.export)
    if arguments.confirm not in (None, "best") and not arguments.confirm.isdecimal():
        raise InputError(f"--confirm takes the number of a trial or nothing; got {arguments.confirm!r}.")
    studies = Studies(arguments.storage or "")
    if arguments.list:
        print("\n".join(study_text.listed(studies.records())) or "There are no studies yet.")
        return
    if arguments.delete:
        studies.delete(studies.open(arguments.study or "").name)
        return
    study = join(studies, arguments)
    with options.chosen_call(arguments) as (call, at_once):
        others = [Studies(arguments.storage or "").open(study.name) for _ in range(at_once - 1)]
        work(study, others, call)
    if arguments.confirm is not None:
        confirm_trial(study, arguments.confirm)
    if export is not None:
        content = study_file(study) if export.suffix == ".db" else csv_of(trial_rows(study)).encode()
        write_whole(export, lambda file: file.write(content))
    print(study_text.as_json(study) if arguments.json else study_text.as_text(study))


def join(studies: Studies, arguments: Namespace) -> Study:
    """The study that is named, as it is or as the options say; they must agree."""
    if arguments.datasets is not None:
        return studies.join(chosen_plan(arguments))
    usual = ArgumentParser()
    add_arguments(usual)
    given = [name for name, value in vars(usual.parse_args([])).items() if getattr(arguments, name) != value]
    if of_plan := [name for name in given if name not in BESIDE_THE_PLAN]:
        told = ", ".join(f"--{name}" for name in of_plan)
        raise InputError(f"A study that exists keeps its plan: {told} needs --datasets, for a new one.")
    if arguments.study is None:
        raise InputError("Say which study with --study, or make one with --datasets; --list lists them.")
    study = studies.open(arguments.study)
    if arguments.trials is not None or arguments.minutes is not None:
        study.set_budget(arguments.trials or 0, arguments.minutes or 0.0)
    return study


def chosen_plan(arguments: Namespace) -> StudyPlan:
    """What the options ask for; one error lists all that is wrong with them."""
    method, goal, *sources = collect_problems(
        lambda: options.chosen_method(arguments),
        lambda: Goal(arguments.goal, arguments.over),
        *(partial(make_source, name) for name in arguments.datasets),
    )
    plan = StudyPlan(
        name="unnamed",
        sources=tuple(sources),
        method=method,
        ranges=chosen_ranges(method, arguments.sweep or arguments.search or [], arguments.range),
        way="sweep" if arguments.sweep else "search",
        trials=arguments.trials if arguments.trials is not None else 0 if arguments.minutes else 40,
        minutes=arguments.minutes or 0.0,
        goal=goal,
        folds=arguments.folds,
        lengths=tuple(arguments.lengths),
        protocols=tuple(arguments.protocols),
    )
    return replace(plan, name=arguments.study or name_of(plan))


def name_of(plan: StudyPlan) -> str:
    """Such as wiki, smfh, sweep 3fa9c1: the same options, the same study."""
    told = replace(plan, trials=40, minutes=0.0).to_json() if plan.way == "search" else plan.to_json()
    code = hashlib.sha256(told.encode()).hexdigest()[:6]
    return f"{'+'.join(source.name for source in plan.sources)}, {plan.method.name}, {plan.way} {code}"


def chosen_ranges(method: HashMethod, names: list[str], texts: list[str]) -> tuple[Range, ...]:
    """The ranges of these parameters, or of those that are usually tuned; with the ends that were given."""
    wanted = [find_parameter(method, name) for name in names] or [one.name for one in usual_ranges(method)]
    given = [read_range(method, text) for text in texts]
    ranges = {one.name: one for one in (*(usual_range(method, name) for name in wanted), *given)}
    if names and (extra := [one.name for one in given if one.name not in wanted]):
        raise InputError(f"--range {extra[0]} is given, but {', '.join(wanted)} alone is to be tuned.")
    return tuple(ranges.values())


def read_range(method: HashMethod, text: str) -> Range:
    """Such as graph_weight=0.1:100 or α=0.1:100:9."""
    name, _, ends = text.partition("=")
    usual = usual_range(method, find_parameter(method, name))
    try:
        low, high, *points = (float(end) for end in ends.split(":"))
        (count,) = points or (usual.points,)
    except ValueError as error:
        raise InputError(
            f"--range is such as {usual.name}=0.1:100 or {usual.name}=0.1:100:9; got {text!r}."
        ) from error
    scale = usual.scale if low > 0 else "linear"
    return Range(usual.name, low, high, scale, usual.whole, int(count))


def export_path(text: str | None) -> Path | None:
    """The file to write when all is done, refused before anything begins."""
    if text is None:
        return None
    suffix = Path(text).suffix if Path(text).suffix in EXPORTS else EXPORTS[0]
    return options.writable_path(text, "--export", suffix)


def work(study: Study, others: Sequence[Study] = (), call: Call = here) -> None:
    """Do what stands in line, with a bar on a terminal; `others` are the study again, for trials at once."""
    with options.progress_bar(0, "trial") as bar:

        def show(progress: StudyProgress) -> None:
            bar.total = progress.total or None
            bar.update(progress.done - bar.n)
            if progress.best is not None:
                bar.set_postfix(best=f"{progress.best.values[0]:.4f}")

        tune(study, show, call=call, others=others)


def confirm_trial(study: Study, which: str) -> None:
    """The best trial, or that of a number, on the queries."""
    best = study.best
    if which == "best" and (best is None or best.is_start):
        print("No trial is better than the start: there is nothing to confirm.", file=sys.stderr)
        return
    number = best.number if best is not None and which == "best" else int(which)
    with options.progress_bar(0, "run") as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        confirm(study, number, RunStore(), show)

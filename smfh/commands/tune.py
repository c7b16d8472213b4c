"""Choose a method's parameters by their scores on validation folds of the training items.

Held-out queries are never used, except by --confirm, which tests the best trial and trial 0 on them.

A study has a name and is saved: the same command continues it after it was stopped or killed, and several
commands, also on several machines with --storage, share the work. The Tune page shows the same studies.
"""

import hashlib
import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import pandas as pd

from smfh.commands import options
from smfh.datasets import make_source
from smfh.experiments import tuning
from smfh.experiments.tuning import Range, Study, StudyPlan
from smfh.files.atomic import write_atomically
from smfh.hashing import HashMethod
from smfh.plots import csv_of
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.runs import RunStore
from smfh.types import InputError, collect_problems, parameters

EPILOG = """examples:
  python -m smfh tune --datasets emoji --trials 40 --study "weights on Emoji"
  python -m smfh tune --study "weights on Emoji"                join it from a second terminal
  python -m smfh tune --datasets wiki --method smfh --sweep α --range α=0.1:1000:9
  python -m smfh tune --datasets wiki planted --lengths 16 64 --protocols training unseen
  python -m smfh tune --study "weights on Emoji" --confirm --export trials.csv
  python -m smfh tune --list"""
OUTSIDE_PLAN = ("study", "storage", "data", "cluster", "trials", "minutes", "confirm", "export", "json")
DEFAULT_TRIALS = 40
PRINTED_TRIALS = 10  # in addition to the starting point (trial 0)


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--study", metavar="NAME", help="create or continue this study (default: named by its options)")
    add("--datasets", nargs="+", metavar="DATASET", help="data sets of a new study; one or more")
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--search",
        nargs="+",
        metavar="PARAMETER",
        help="parameters whose values Optuna chooses (the default way of tuning)",
    )
    way.add_argument(
        "--sweep", nargs="+", metavar="PARAMETER", help="one or two parameters to try over their whole range"
    )
    add(
        "--range",
        action="append",
        default=[],
        metavar="PARAMETER=LOW:HIGH[:POINTS]",
        help="change a range and, for a sweep, its number of values; can be repeated",
    )
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--trials", type=int, help="number of trials, including the starting settings (default 40)")
    budget.add_argument("--minutes", type=float, help="end after this many minutes instead, summed over all workers")
    for option, default, choices in (("--goal", "balanced", tuning.MEASURES), ("--over", "mean", tuning.SCOPES)):
        add(option, default=default, help="; ".join(f"{name}: {words}" for name, words in choices.items()))
    add("--folds", type=int, default=3, help="validation folds per data set (default 3)")
    add("--lengths", nargs="+", type=int, default=[], metavar="BITS", help="score at several code lengths")
    add("--protocols", nargs="+", default=["training"], help=f"database to search: {', '.join(PROTOCOLS)}")
    options.add_options(parser, "distance")
    add("--storage", metavar="ADDRESS", help="sqlite:///…, postgresql://…, mysql://… (default: SMFH_STUDIES)")
    options.add_options(parser, "cluster")
    add("--data", metavar="FOLDER", help="folder with the benchmark files (default: SMFH_DATA)")
    add(
        "--confirm",
        nargs="?",
        const="best",
        metavar="TRIAL",
        help="afterwards, test the best trial (or trial N) and the starting settings on the held-out queries",
    )
    add("--export", metavar="FILE", help="write the trials to a .csv, or to a .db for Optuna's own dashboard")
    add("--list", action="store_true", help="list all studies")
    add("--delete", action="store_true", help="delete the study")
    add("--json", action="store_true", help="print the study as JSON")
    options.add_method_arguments(parser, default="smfh-plus")


def run(arguments: Namespace) -> None:
    options.use_data_folder(arguments)
    export = options.output_path(arguments.export, "--export", ".csv", ".db")
    if arguments.confirm not in (None, "best") and not arguments.confirm.isdecimal():
        raise InputError(f"--confirm needs the number of a trial, or nothing; got {arguments.confirm!r}.")
    studies = tuning.Studies(arguments.storage or "")
    if arguments.list:
        print("\n".join(map(describe_study, studies.records())) or "There are no studies yet.")
        return
    if arguments.delete:
        studies.delete(studies.open(arguments.study or "").name)
        return
    study = open_study(studies, arguments)
    with options.chosen_call(arguments) as (call, at_once), options.progress_bar(0, "trial") as bar:

        def show(progress: tuning.StudyProgress) -> None:
            bar.total = progress.total or None
            bar.update(progress.done - bar.n)
            if progress.best is not None:
                bar.set_postfix(best=f"{study.plan.goal.worth(progress.best.values):.4f}")

        tuning.tune(study, show, call=call, at_once=at_once)
    if arguments.confirm is not None:
        confirm_trial(study, arguments.confirm)
    if export is not None:
        is_database = export.suffix == ".db"
        content = tuning.study_file(study) if is_database else csv_of(tuning.trial_rows(study)).encode()
        write_atomically(export, lambda file: file.write(content))
    print(study_json(study) if arguments.json else study_text(study))


def open_study(studies: tuning.Studies, arguments: Namespace) -> Study:
    """Create or join the study that the options describe, or open the one named by --study."""
    if arguments.datasets is not None:
        return studies.join(chosen_plan(arguments))
    parser = ArgumentParser()
    add_arguments(parser)
    defaults = vars(parser.parse_args([]))
    given = [name for name, value in defaults.items() if getattr(arguments, name) != value]
    if of_plan := ", ".join(f"--{name}" for name in given if name not in OUTSIDE_PLAN):
        raise InputError(
            f"The plan of an existing study cannot be changed; to use {of_plan}, create a new study with --datasets."
        )
    if arguments.study is None:
        raise InputError("Name a study with --study, or create one with --datasets; --list lists all studies.")
    study = studies.open(arguments.study)
    if arguments.trials is not None or arguments.minutes is not None:
        study.set_budget(arguments.trials or 0, arguments.minutes or 0.0)
    return study


def chosen_plan(arguments: Namespace) -> StudyPlan:
    """Read the plan of a new study from the options; one error lists all problems.

    Without --study, the study is named after its plan, such as "wiki, smfh, sweep 3fa9c1", so that the same
    options continue the same study.
    """
    method, goal, *sources = collect_problems(
        lambda: options.chosen_method(arguments),
        lambda: tuning.Goal(arguments.goal, arguments.over),
        *(partial(make_source, name) for name in arguments.datasets),
    )
    trials = 0 if arguments.minutes else DEFAULT_TRIALS
    plan = StudyPlan(
        name="unnamed",
        sources=tuple(sources),
        method=method,
        ranges=chosen_ranges(method, arguments.sweep or arguments.search or [], arguments.range),
        way="sweep" if arguments.sweep else "search",
        trials=arguments.trials if arguments.trials is not None else trials,
        minutes=arguments.minutes or 0.0,
        goal=goal,
        folds=arguments.folds,
        lengths=tuple(arguments.lengths),
        protocols=tuple(arguments.protocols),
        distance=arguments.distance,
    )
    same = replace(plan, trials=DEFAULT_TRIALS, minutes=0.0) if plan.way == "search" else plan
    code = hashlib.sha256(same.to_json().encode()).hexdigest()[:6]
    name = f"{'+'.join(source.name for source in plan.sources)}, {method.name}, {plan.way} {code}"
    return replace(plan, name=arguments.study or name)


def chosen_ranges(method: HashMethod, names: list[str], texts: list[str]) -> tuple[Range, ...]:
    """Return the ranges of the chosen or default parameters, changed as --range says."""
    tuned = [tuning.find_parameter(method, name) for name in names] or [
        one.name for one in tuning.default_ranges(method)
    ]
    given = [read_range(method, text) for text in texts]
    if names and (extra := [one.name for one in given if one.name not in tuned]):
        raise InputError(f"--range {extra[0]} has no effect, because this study tunes only {', '.join(tuned)}.")
    ranges = {one.name: one for one in (*(tuning.default_range(method, name) for name in tuned), *given)}
    return tuple(ranges.values())


def read_range(method: HashMethod, text: str) -> Range:
    """Read a range such as graph_weight=0.1:100 or α=0.1:100:9."""
    name, _, ends = text.partition("=")
    default = tuning.default_range(method, tuning.find_parameter(method, name))
    try:
        low, high, *points = (float(end) for end in ends.split(":"))
        (count,) = points or (default.points,)
    except ValueError as error:
        example = f"{default.name}=0.1:100 or {default.name}=0.1:100:9"
        raise InputError(f"--range needs the form {example}; got {text!r}.") from error
    scale = default.scale if low > 0 else "linear"
    return Range(default.name, low, high, scale, default.whole, int(count))


def confirm_trial(study: Study, which: str) -> None:
    """Test the best trial (`which` = "best") or the trial of this number on the held-out queries."""
    best = study.best
    if which == "best" and (best is None or best.is_start):
        print("No trial is better than the starting settings, so none is tested on held-out queries.", file=sys.stderr)
        return
    number = best.number if best is not None and which == "best" else int(which)
    with options.progress_bar(0, "run") as bar:

        def show(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        tuning.confirm(study, number, RunStore(), show)


def describe_study(record: tuning.StudyRecord) -> str:
    """Describe a study in one line: method, data sets, progress and best score."""
    plan, progress = record.plan, record.progress
    if plan is None or progress is None:
        return f"{record.name}: {record.problem}"
    best = progress.best
    datasets = ", ".join(source.name for source in plan.sources)
    score = f"best {plan.goal.title} {plan.goal.worth(best.values):.3f}" if best else "no finished trial"
    count = f"{progress.done} of {record.trials} trials"
    return f"{record.name}: {plan.way} of {plan.method.title} on {datasets}, {count}, {score}"


def study_text(study: Study) -> str:
    """Return a table of the starting point (trial 0) and the best trials, and a summary."""
    plan, goal = study.plan, study.plan.goal
    names = [one.name for one in plan.ranges]
    about = parameters(plan.method)
    complete = [trial for trial in study.trials if trial.state == "complete"]
    ranked = sorted(complete, key=lambda trial: (not trial.is_start, -goal.worth(trial.values)))
    rows = [
        {
            "trial": "start" if trial.is_start else str(trial.number),
            "score": f"{goal.worth(trial.values):.4f}",
            **{about[name].symbol: f"{trial.parameters[name]:.4g}" for name in names},
            **{label: f"{trial.measure(name):.3f}" for name, label in tuning.BASE_MEASURES.items()},
            "seconds": f"{trial.seconds:.2f}",
        }
        for trial in ranked[: PRINTED_TRIALS + 1]
    ]
    table = pd.DataFrame(rows).to_string(index=False) if rows else "No trial is finished."
    title = f"{study.name}: {plan.way} of {plan.method.title}; {goal.words}; {plan.distance} distance"
    return "\n".join([title, "", table, "", *tuning.summarise(study).lines])


def study_json(study: Study) -> str:
    """Return a study's plan, trials and summary as JSON."""
    summary = tuning.summarise(study)
    content = {
        "study": study.name,
        "plan": json.loads(study.plan.to_json()),
        "best": None if summary.best is None else _trial_row(summary.best),
        "gain": summary.gain,
        "gain_error": summary.gain_error,
        "importance": dict(summary.importance),
        "words": summary.lines,
        "trials": [_trial_row(trial) for trial in study.trials],
        "confirmed": [asdict(one) for one in tuning.confirmations(study).values()],
    }
    return json.dumps(content, indent=2)


def _trial_row(trial: tuning.Trial) -> dict[str, Any]:
    times = {name: at and at.isoformat() for name, at in (("started", trial.started), ("ended", trial.ended))}
    return asdict(trial) | times

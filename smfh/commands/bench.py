"""Measure speed as ratios between two programs that are timed side by side."""

import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace

from smfh.bench.measure import Report, machine
from smfh.commands.options import add_options, print_json

EPILOG = """A ratio above 1 means that the first program took longer. faiss is included if it is installed:
python -m pip install ".[bench]"

examples:
  python -m smfh bench --quick           a first look in under a minute
  python -m smfh bench --json            everything, as JSON
  python -m smfh bench --only ranking"""
PARTS = ("training", "ranking", "methods", "page", "tune", "pictures")


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--quick", action="store_true", help="use small sizes: under a minute")
    add("--only", choices=PARTS, help="measure one part only")
    add("--repeats", type=int, default=3, help="repetitions, of which the fastest counts (default 3)")
    add_options(parser, "json", help="print one JSON object: ratios, seconds, notes, machine")


def run(arguments: Namespace) -> None:
    from smfh.bench.pictures import bench_pictures
    from smfh.bench.ranking import bench_ranking
    from smfh.bench.training import bench_methods, bench_training
    from smfh.bench.tuning import bench_tuning

    report, only = Report(), arguments.only
    repeats = 1 if arguments.quick else arguments.repeats
    if only in (None, "training"):
        bench_training(report, arguments.quick, repeats)
    if only in (None, "ranking"):
        bench_ranking(report, arguments.quick, repeats)
    if only == "methods" or (only is None and not arguments.quick):
        bench_methods(report, arguments.quick)
    if only in (None, "page"):  # in a separate process, since commands do not import the user interface
        command = [sys.executable, "-m", "smfh.ui.timing", str(repeats)]
        page = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)  # noqa: S603
        for part in ("ratios", "seconds", "notes"):
            getattr(report, part).update(page[part])
    if only in (None, "tune"):
        bench_tuning(report, arguments.quick, repeats)
    if only in (None, "pictures"):
        bench_pictures(report, arguments.quick, repeats)
    if arguments.json:
        print_json({"machine": machine(), **vars(report)})
        return
    print(f"{machine()}\n")
    for name, ratio in report.ratios.items():
        print(f"{name:<34}{ratio:>9.2f}   {report.notes[name]}")
    print()
    for name, seconds in report.seconds.items():
        print(f"{name:<34}{seconds:>9.3f}{'' if name.endswith('GB') else ' s'}")

"""bench: how fast, as ratios against named rivals, measured side by side."""

import json
import subprocess
import sys
from argparse import ArgumentParser, Namespace

from smfh.bench.measure import Report, machine

EPILOG = """Ratios above 1 mean that the first of the two took longer. faiss is compared with where it is
installed: python -m pip install --group bench

examples:
  python -m smfh bench --quick           a first look in under a minute
  python -m smfh bench --json            all of it, for programs
  python -m smfh bench --only ranking"""
PARTS = ("training", "ranking", "methods", "page", "tune")


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--quick", action="store_true", help="small sizes, in under a minute")
    add("--only", choices=PARTS, help="one part alone")
    add("--repeats", type=int, default=3, help="the least of so many is taken (default 3)")
    add("--json", action="store_true", help="print one object: ratios, seconds, notes, machine")


def run(arguments: Namespace) -> None:
    from smfh.bench.ranking import bench_ranking
    from smfh.bench.training import bench_methods, bench_training
    from smfh.bench.tuning import bench_tuning

    report = Report()
    repeats = 1 if arguments.quick else arguments.repeats
    if arguments.only in (None, "training"):
        bench_training(report, arguments.quick, repeats)
    if arguments.only in (None, "ranking"):
        bench_ranking(report, arguments.quick, repeats)
    if arguments.only == "methods" or (arguments.only is None and not arguments.quick):
        bench_methods(report, arguments.quick)
    if arguments.only in (None, "page"):
        add_page(report, repeats)
    if arguments.only in (None, "tune"):
        bench_tuning(report, arguments.quick, repeats)
    if arguments.json:
        print(json.dumps({"machine": machine(), **vars(report)}, indent=2))
        return
    print(f"{machine()}\n")
    for name, ratio in report.ratios.items():
        print(f"{name:<34}{ratio:>9.2f}   {report.notes[name]}")
    print()
    for name, seconds in report.seconds.items():
        print(f"{name:<34}{seconds:>9.3f}{'' if name.endswith('GB') else ' s'}")


def add_page(report: Report, repeats: int) -> None:
    """The page part, measured by a program of its own: commands know nothing of pages."""
    command = [sys.executable, "-m", "smfh.ui.timing", str(repeats)]
    found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)  # noqa: S603
    for part in ("ratios", "seconds", "notes"):
        getattr(report, part).update(found[part])

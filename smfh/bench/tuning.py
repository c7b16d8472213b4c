"""Benchmark of a tuning study: two processes compared with one."""

import os
import subprocess
import sys
import tempfile

from smfh.bench.measure import Report
from smfh.datasets import Synthetic
from smfh.experiments.tuning import Range, Studies, Study, StudyPlan
from smfh.hashing import SMFH

ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
TIMEOUT_SECONDS = 600.0


def bench_tuning(report: Report, quick: bool, repeats: int) -> None:
    """Compare the minimum times of a study with one and two processes of one thread each."""
    seconds = {1: float("inf"), 2: float("inf")}
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{folder}/studies.db"
        for repeat in range(repeats):
            for workers in seconds:
                study = Studies(address).create(plan_of(f"{workers} at work, {repeat}", quick))
                work(address, study.name, workers)
                seconds[workers] = min(seconds[workers], wall_seconds(study))
    report.seconds |= {"study, one process": seconds[1], "study, two processes": seconds[2]}
    what = f"a sweep of {len(study.trials)} points by one process compared with two of one thread each"
    report.compare("one/two processes on a study", seconds[1], seconds[2], what)


def plan_of(name: str, quick: bool) -> StudyPlan:
    """Return the plan of a sweep whose trials take about a second each."""
    source, method = Synthetic(items=2_000), SMFH(bits=64, iterations=30)
    ranges = (Range("graph_weight", 0.1, 100, "log", points=7 if quick else 19),)
    return StudyPlan(name, (source,), method, ranges, "sweep", folds=1)


def work(address: str, name: str, workers: int) -> None:
    """Run all trials of the study in `workers` processes, and wait until they end."""
    command = [sys.executable, "-m", "smfh", "tune", "--storage", address, "--study", name]
    started = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | ONE_THREAD)  # noqa: S603
        for _ in range(workers)
    ]
    for process in started:
        if process.wait(TIMEOUT_SECONDS) != 0:
            raise RuntimeError(f"A worker of the study {name} ended with exit status {process.returncode}.")


def wall_seconds(study: Study) -> float:
    """Return the wall-clock time from the start of the first trial to the end of the last."""
    times = [(trial.started, trial.ended) for trial in study.trials]
    started, ended = min(a for a, _ in times if a), max(b for _, b in times if b)
    return (ended - started).total_seconds()

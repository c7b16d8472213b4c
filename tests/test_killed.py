"""Kill −9 at moments drawn by a seed, in trainings, grids, studies and writing: nothing finished is lost.

Each program starts where the one before was killed, and must find all that was finished and leave nothing of
what was not. Five kills by default; `SMFH_KILLS=20 python -m pytest tests/test_killed.py -s` makes as many as
one likes and prints what it counted.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from smfh.__main__ import main
from smfh.datasets import Planted
from smfh.experiments.tuning import Range, Studies, StudyPlan
from smfh.files.atomic import TEMPORARY_NAME
from smfh.hashing import SMFH, load_hasher
from smfh.runs import RunStore

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
KILLS = int(os.environ.get("SMFH_KILLS", "5"))
SOON = 120  # seconds after which a program that hangs fails the test
MOMENT = 1.0  # seconds of work at the most before a kill
DATA = ["planted", "--option", "items=400"]
GRID = ["compare", *DATA, "--methods", "smfh", "cvh", "smh", "--bits", "8", "16", "32", "--seeds", "20"]
STUDY = ["tune", "--study", "killed"]
TRAINING = ["fit", "planted", "--option", "items=3000", "--method", "smfh", "--iterations", "2000"]
TRAINING += ["--save", "{folder}/model.npz"]
# the largest file, written again and again: a moment of it is mostly one of writing
WRITING = """
import sys
from smfh.datasets import Planted
from smfh.hashing import CVH
from smfh.runs import RunStore, run_key
from smfh.runs.training import train
source = Planted(items=3000)
loaded = source.load()
run, timing = train(run_key(*loaded, CVH(bits=64)), source, *loaded)
store = RunStore()
while True:
    store.save(run, timing)
    store.rename(run.key.id, "written")
    print("saved", flush=True)
"""
# what a page does: a run is told as soon as it is there, and then another is trained
SHOWING = """
from itertools import count
from smfh.datasets import Planted
from smfh.hashing import CVH
from smfh.runs import RunStore, find_or_train
source = Planted(items=400)
loaded = source.load()
for seed in count(1000):
    run = find_or_train(RunStore(), source, CVH(bits=16, seed=seed), *loaded)
    print("shown", run.key.id, flush=True)
"""
PROGRAMS = {"writing": WRITING, "showing": SHOWING}
KINDS = ("training", "grid", "study", *PROGRAMS)
HALF = "half-written files left by a kill"
COUNTED = (*(f"{kind}: killed at work" for kind in KINDS), HALF)


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"SMFH_CACHE": str(folder), "TMPDIR": str(folder / "tmp")}


def kill(kind: str, folder: Path, luck: random.Random) -> bool:
    """Start a program, wait until it is at work and a moment more, and kill it; whether it was at work.

    By then nothing is left over of those before it.
    """
    words = {"training": TRAINING, "grid": GRID, "study": STUDY}.get(kind, [])
    given = ["-m", "smfh", *(word.format(folder=folder) for word in words)] if words else ["-c", PROGRAMS[kind]]
    before, until = signs_of_work(folder), time.monotonic() + SOON
    with (folder / "said.txt").open("ab") as said:
        program = subprocess.Popen(
            [sys.executable, *given], cwd=ROOT, stdout=said, stderr=said, env=environment(folder)
        )
    if kind == "training":  # which shows nothing on the disk
        time.sleep(4.0)
    while kind != "training" and signs_of_work(folder) == before and program.poll() is None:
        assert time.monotonic() < until, (folder / "said.txt").read_text()[-2000:]
        time.sleep(0.005)
    assert left_over(folder, but_of=program.pid) == []
    time.sleep(luck.uniform(0.0, MOMENT))
    at_work = program.poll() is None
    program.send_signal(signal.SIGKILL)
    program.wait()
    return at_work


def signs_of_work(folder: Path) -> dict[str, int]:
    """When the files that programs write were written last; those that come and go are left out."""
    files = [*(folder / "runs").glob("*.npz"), *folder.glob("studies.db*")]
    return {file.name: file.stat().st_mtime_ns for file in files if file.exists()}


def runs_of(folder: Path) -> dict[str, str]:
    """All runs, each with what it was trained on; none is damaged, and each can be read to its end."""
    listing = (store := RunStore(folder / "runs")).listing()
    assert listing.damaged == ()
    for run in listing.runs:
        store.hasher(run)
    return {run.id: run.trained_on for run in listing.runs}


def shown_runs(folder: Path) -> set[str]:
    """The ids of all runs that somebody was told of; the last line may be a half."""
    whole = (folder / "said.txt").read_text().split("\n")[:-1]
    return {line.removeprefix("shown ") for line in whole if line.startswith("shown ")}


def finished_trials(folder: Path) -> dict[int, object]:
    studies = Studies(f"sqlite:///{folder / 'studies.db'}")
    if "killed" not in studies.names():
        return {}
    return {t.number: t for t in studies.open("killed").trials if t.state in ("complete", "pruned", "failed")}


def left_over(folder: Path, but_of: int = 0) -> list[str]:
    """What is there of programs that did not come to write or remove it; not of the one at work."""
    found = [(path.name, TEMPORARY_NAME.match(path.name)) for path in folder.rglob("*")]
    return [name for name, who in found if who is not None and int(who["process"]) != but_of]


def test_kills_lose_nothing_finished_and_leave_nothing_behind(tmp_path, monkeypatch):
    luck, counted = random.Random(17), dict.fromkeys(COUNTED, 0)  # noqa: S311, the same moments for everybody
    (tmp_path / "tmp").mkdir()
    plan = StudyPlan("killed", (Planted(),), SMFH(bits=16), ranges=(Range("graph_weight", 0.1, 10, "log"),))
    Studies(f"sqlite:///{tmp_path / 'studies.db'}").create(plan)
    runs, trials = runs_of(tmp_path), finished_trials(tmp_path)
    for number in range(KILLS):
        kind = KINDS[number % len(KINDS)]
        counted[f"{kind}: killed at work"] += kill(kind, tmp_path, luck)
        counted[HALF] += len(left_over(tmp_path))
        now, done = runs_of(tmp_path), finished_trials(tmp_path)
        assert runs.items() <= now.items(), "a finished run was lost, or changed"
        assert shown_runs(tmp_path) <= now.keys(), "a run that was shown was lost"
        assert trials.items() <= done.items(), "a finished trial was lost, or changed"
        runs, trials = now, done
        if (model := tmp_path / "model.npz").exists():
            load_hasher(model)
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    assert main(["data", "planted"]) == 0  # starts, and clears away
    assert left_over(tmp_path) == []
    assert "Traceback" not in (tmp_path / "said.txt").read_text()
    kept = {"runs kept": len(runs), "trials kept": len(trials), "left over": len(left_over(tmp_path))}
    print("\n" + json.dumps(counted | kept, indent=1))
    assert len(runs) > 1

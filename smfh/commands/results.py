"""Compute the results that come with the program, which its pages show on the first visit.

They are: the default run with its model, the scores of all methods that Compare shows by default, the sweep
of α that Tune offers first, the answers of the lessons, and the replay. Developers run this after a change of
a method's version or of the built-in data.
"""

import shutil
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np

from smfh.commands.options import progress_bar
from smfh.datasets import Emoji
from smfh.experiments.comparison import Grid, default_comparison
from smfh.experiments.tuning import Studies, default_sweep, study_file, tune
from smfh.experiments.tuning.study import SHIPPED
from smfh.files import Array
from smfh.files.archive import write_npz
from smfh.folders import STUDIES_FILE, app_folder
from smfh.hashing import SMFHPlus
from smfh.hashing.storage import anchors_as_rows, hasher_arrays
from smfh.lessons.lesson_runs import FILE, read_lesson_runs, write_lessons
from smfh.lessons.lessons import EMOJI, LESSONS
from smfh.lessons.replay import FILE as REPLAY_FILE
from smfh.lessons.replay import record_replay, write_replay
from smfh.runs import RunStore, ensure_saved
from smfh.runs.run import Run, Timing, ready_searches, run_key
from smfh.runs.run_file import run_arrays
from smfh.runs.training import train

EPILOG = """examples:
  python -m smfh results                    into assets/results of this checkout
  python -m smfh results --out FOLDER"""
STEPS = 1 << 14  # per unit: precision to which the scores of single queries are stored


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FOLDER", help="where to write (default: assets/results)")


def run(arguments: Namespace) -> None:
    folder = Path(arguments.out) if arguments.out else app_folder() / "assets" / "results"
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    source = Emoji()
    grid = Grid(default_comparison(source), *source.load())
    lessons = {name: Grid(one.runs, *one.runs.source.load()) for name, one in LESSONS.items()}
    total = len(grid.keys) + 1 + sum(len(one.keys) for one in lessons.values())
    with tempfile.TemporaryDirectory() as temporary, progress_bar(total, "run") as bar:
        default = SMFHPlus()
        write_run(folder, *train(run_key(grid.data, grid.split, default), source, grid.data, grid.split), True)
        bar.update()
        for method, key in grid.keys.items():
            if method != default:
                write_run(folder, *train(key, source, grid.data, grid.split))
            bar.update()
        store, worked = RunStore(Path(temporary)), {}
        for name, one in lessons.items():
            for method in one.keys:
                ensure_saved(store, one.comparison.source, method, one.data, one.split)
                bar.update()
            worked[name] = one, LESSONS[name].answer(read_lesson_runs(one, store))
        write_lessons(worked, folder / FILE.name)
        study = Studies(f"sqlite:///{temporary}/studies.db").create(default_sweep(source, default))
        tune(study)
        study.optuna.set_user_attr(SHIPPED, True)
        (folder / STUDIES_FILE).write_bytes(study_file(study))
    write_replay(record_replay(EMOJI, *EMOJI.load()), folder / REPLAY_FILE.name)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{len(grid.keys) + 1} runs and {len(lessons)} lessons, {size / 1e6:.2f} MB in {folder}")


def write_run(folder: Path, run: Run, timing: Timing, with_model: bool = False) -> None:
    """Write a run to a file: with its model and all scores or, without its model, with its Hamming scores only."""
    searches = ready_searches(run.hasher.directions)
    if with_model:
        model = anchors_as_rows(hasher_arrays(run.hasher), run.data.take(run.split.train))
    else:
        model, searches = {}, [search for search in searches if search[-1] == "hamming"]
    arrays = run_arrays(run, timing, searches=searches, model=model)
    write_npz(folder / f"{run.key.id}.npz", {name: rounded(name, a) for name, a in arrays.items()}, level=9)


def rounded(name: str, array: Array) -> Array:
    """Round the scores of single queries and curves, so that their file takes a third of the space."""
    return np.round(array * STEPS) / STEPS if name.startswith("scores.") else array

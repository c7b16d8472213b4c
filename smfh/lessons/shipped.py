"""Answers of the lessons that come with the program, so that a lesson opens without waiting.

They are kept with a checksum of the runs that they were computed from: data, split, parameters and version of
each method. An answer of other runs is not used.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from smfh.experiments.comparison import Grid
from smfh.folders import app_folder
from smfh.lessons.lesson_runs import Gallery, Series, WorkedLesson

FILE = app_folder() / "assets" / "results" / "lessons.json"


def runs_checksum(grid: Grid) -> str:
    """Return a checksum of the runs of a lesson."""
    return hashlib.sha256(" ".join(key.id for key in grid.keys.values()).encode()).hexdigest()


def write_lessons(worked: Mapping[str, tuple[Grid, WorkedLesson]], file: Path = FILE) -> None:
    """Write the answers of all lessons."""
    values = {name: {"runs": runs_checksum(grid), "answer": asdict(one)} for name, (grid, one) in worked.items()}
    file.write_text(json.dumps(values, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def shipped_lesson(name: str, grid: Grid, file: Path = FILE) -> WorkedLesson | None:
    """Return the answer of a lesson if it was computed from the same runs, else None."""
    lessons = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if name not in lessons or lessons[name]["runs"] != runs_checksum(grid):
        return None
    answer = lessons[name]["answer"]

    def series(one: dict[str, Any]) -> Series:
        low, high = one["band"] or ((), ())
        band = (tuple(low), tuple(high)) if one["band"] else None
        return Series(one["name"], tuple(one["values"]), one["unit"], band)

    def gallery(one: dict[str, Any]) -> Gallery:
        return Gallery(one["title"], tuple(one["rows"]), tuple(one["relevant"]))

    return WorkedLesson(
        axis=answer["axis"],
        stops=tuple(answer["stops"]),
        series=tuple(map(series, answer["series"])),
        notes=tuple(answer["notes"]),
        answer=answer["answer"],
        galleries={
            caption: tuple(tuple(map(gallery, stop)) for stop in stops)
            for caption, stops in answer["galleries"].items()
        },
    )

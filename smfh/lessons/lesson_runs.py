"""The runs that answer a lesson's question, and the curves and results that the lesson shows.

The answers of the lessons come with the program, so that a lesson opens without waiting. They are saved with a
checksum of the runs that they were computed from: data, split, parameters and version of each method. An answer
of other runs is not used.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from smfh.experiments.comparison import Grid
from smfh.folders import app_folder
from smfh.hashing import FittedHasher, HashMethod
from smfh.metrics import Scores
from smfh.runs import RunStore
from smfh.types import InputError, MultimodalDataset, Split

Direction = tuple[str, str]
TEXT_QUERIES: Direction = ("text", "image")
IMAGE_QUERIES: Direction = ("image", "text")
DIRECTIONS = {TEXT_QUERIES: "text → image", IMAGE_QUERIES: "image → text"}
GALLERY_ITEMS = 6
FILE = app_folder() / "assets" / "results" / "lessons.json"


@dataclass(frozen=True)
class Series:
    """A quantity measured at every stop of a lesson's slider."""

    name: str
    values: tuple[float, ...]
    unit: str = "score"  # series with the same unit share a chart
    band: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # lowest and highest values

    @property
    def best(self) -> int:
        """The index of the stop with the highest value (the first one, if several tie)."""
        return int(np.argmax(self.values))


@dataclass(frozen=True)
class Gallery:
    """A row of items with a title; each item is relevant or not."""

    title: str
    rows: tuple[int, ...]  # rows of the data set
    relevant: tuple[bool, ...]


Galleries = tuple[Gallery, ...]


@dataclass(frozen=True)
class WorkedLesson:
    """The measured content of a lesson; all numbers in its texts are computed from runs."""

    axis: str  # the quantity that the slider changes
    stops: tuple[str, ...]
    series: tuple[Series, ...]
    notes: tuple[str, ...]  # one per stop
    answer: str
    galleries: Mapping[str, tuple[Galleries, ...]]  # query → galleries at each stop; may be empty


@dataclass(frozen=True)
class Prediction:
    """A question with possible answers, which a lesson asks before it shows its measurements."""

    question: str
    options: tuple[str, ...]
    truth: int  # index of the measured answer

    def verdict(self, guess: int) -> str:
        """Return a sentence that says whether a guess agrees with the measurements."""
        measured = self.options[self.truth]
        if not 0 <= guess < len(self.options):
            return f"{self.question} Measured: {measured}."
        agrees = "Correct" if guess == self.truth else "Not correct here"
        return f"{agrees}. {self.question} You predicted: {self.options[guess]}. Measured: {measured}."


@dataclass(frozen=True, eq=False)
class EvaluatedRun:
    """A trained run of a lesson with its scores; the training items are the database."""

    method: HashMethod
    hasher: FittedHasher
    scores: Mapping[Direction, Scores]
    seconds: float  # training time

    def map(self, direction: Direction, definition: str = "found") -> float:
        """Return the mean average precision over all queries in this direction."""
        return self.scores[direction].average_precision[definition].mean


@dataclass(frozen=True, eq=False)
class LessonRuns:
    """The evaluated runs of a lesson, in the order of its slider, and their data."""

    data: MultimodalDataset
    split: Split
    runs: tuple[EvaluatedRun, ...]

    def maps(self, direction: Direction, definition: str = "found") -> tuple[float, ...]:
        """Return the mean average precision of every run in this direction."""
        return tuple(run.map(direction, definition) for run in self.runs)

    @cached_property
    def queries(self) -> dict[str, int]:
        """The first held-out item of every class, as a mapping from caption to row."""
        labels, captions = self.data.labels[self.split.queries], self.data.captions
        firsts = [int(self.split.queries[np.argmax(column)]) for column in labels.T if column.any()]
        return {captions[row] if captions is not None else f"item {row}": row for row in firsts}

    def nearest(self, run: EvaluatedRun, direction: Direction, row: int, depth: int) -> tuple[list[int], list[int]]:
        """Return rows and distances of the training items nearest to an item; ties in database order."""
        source, target = direction
        found = run.hasher.search(source, self.data.modalities[source][[row]], target, depth, "hamming")
        return self.split.train[found.rows[0]].tolist(), found.distances[0].tolist()

    def gallery(self, title: str, rows: Sequence[int], query: int) -> Gallery:
        """Return a gallery of these items; those that share a class with the query are relevant."""
        relevant = (self.data.labels[list(rows)] & self.data.labels[query]).any(axis=1) if rows else []
        return Gallery(title, tuple(rows), tuple(map(bool, relevant)))

    def both_directions(self, run: EvaluatedRun, row: int) -> Galleries:
        """Return two galleries for an item: the first results for its text, and for its picture."""
        titles = {TEXT_QUERIES: "Results for its text", IMAGE_QUERIES: "Results for its picture"}
        return tuple(
            self.gallery(title, self.nearest(run, direction, row, GALLERY_ITEMS)[0], row)
            for direction, title in titles.items()
        )

    def for_every_run(
        self, show: Callable[[EvaluatedRun, int], Galleries] | None = None
    ) -> dict[str, tuple[Galleries, ...]]:
        """Return the galleries of each query for every run; queries whose results differ most come first."""
        show = show or self.both_directions
        found = {caption: tuple(show(run, row) for run in self.runs) for caption, row in self.queries.items()}
        changes = {
            caption: np.ptp([sum(sum(gallery.relevant) for gallery in galleries) for galleries in stops])
            for caption, stops in found.items()
        }
        return dict(sorted(found.items(), key=lambda query: -changes[query[0]]))


def read_lesson_runs(grid: Grid, store: RunStore) -> LessonRuns:
    """Read all runs of the grid with their scores; raise InputError if a run is missing."""
    if missing := grid.missing(store):
        count = f"{len(missing)} of {len(grid.keys)} runs"
        raise InputError(f"{count} of this lesson are not trained yet. Train them first.")
    runs = []
    for method, record in grid.found(store).items():
        scores = {way: store.scores(record, grid.data, grid.split, *way, "training") for way in DIRECTIONS}
        runs.append(EvaluatedRun(method, store.hasher(record), scores, record.timing.training))
    return LessonRuns(grid.data, grid.split, tuple(runs))


def runs_checksum(grid: Grid) -> str:
    """Return a checksum of the keys of a lesson's runs."""
    return hashlib.sha256(" ".join(key.id for key in grid.keys.values()).encode()).hexdigest()


def write_lessons(worked: Mapping[str, tuple[Grid, WorkedLesson]], file: Path = FILE) -> None:
    """Write the measured answers of all lessons to a folder."""
    values = {name: {"runs": runs_checksum(grid), "answer": asdict(one)} for name, (grid, one) in worked.items()}
    file.write_text(json.dumps(values, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def shipped_lesson(name: str, grid: Grid, file: Path = FILE) -> WorkedLesson | None:
    """Return a lesson's shipped answer if it was computed from the same runs, else None."""
    lessons = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if name not in lessons or lessons[name]["runs"] != runs_checksum(grid):
        return None
    return WorkedLesson(**{field: _revived(value) for field, value in lessons[name]["answer"].items()})


def _revived(value: Any) -> Any:
    """Return a value of the JSON file with tuples, series and galleries in place of lists and objects."""
    if isinstance(value, list):
        return tuple(map(_revived, value))
    if not isinstance(value, dict):
        return value
    own = {name: _revived(each) for name, each in value.items()}
    kind = next((kind for kind in (Series, Gallery) if own.keys() == {each.name for each in fields(kind)}), dict)
    return kind(**own)

"""What a lesson is made of: kept runs looked at once, and what its page shows at each stop."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smfh.comparison import Grid
from smfh.hashing import FittedHasher, HashMethod
from smfh.metrics import Scores
from smfh.runs import RunStore
from smfh.types import InputError, MultimodalDataset, Split

TEXT, PICTURE = ("text", "image"), ("image", "text")  # the directions, by what asks
SHOWN = 6  # items of a wall


@dataclass(frozen=True)
class Series:
    """A figure at every stop."""

    name: str
    values: tuple[float, ...]
    unit: str = "score"  # series of one unit share a chart
    band: tuple[tuple[float, ...], tuple[float, ...]] | None = None  # low and high

    @property
    def best(self) -> int:
        """The stop where it is highest, the first of equals."""
        return int(np.argmax(self.values))


@dataclass(frozen=True)
class Wall:
    """Items side by side."""

    title: str
    rows: tuple[int, ...]  # of the data set
    right: tuple[bool, ...]


Walls = tuple[Wall, ...]


def count_right(walls: Walls) -> int:
    """The right items of all of them."""
    return sum(sum(wall.right) for wall in walls)


@dataclass(frozen=True)
class Worked:
    """A lesson worked out; every figure in it was measured here."""

    axis: str  # what the slider moves
    stops: tuple[str, ...]
    series: tuple[Series, ...]
    words: tuple[str, ...]  # what there is to see at each stop
    answer: str
    walls: Mapping[str, tuple[Walls, ...]]  # by query, at each stop; none: nothing to look at


@dataclass(frozen=True, eq=False)
class Seen:
    """A run as lessons look at it."""

    method: HashMethod
    hasher: FittedHasher
    scores: Mapping[tuple[str, str], Scores]  # by direction, among the training items
    seconds: float  # of training

    def map(self, direction: tuple[str, str], definition: str = "found") -> float:
        """The mean over all queries."""
        return self.scores[direction].average_precision[definition].mean

    @cached_property
    def different_codes(self) -> int:
        """In the database."""
        return len(np.unique(next(iter(self.hasher.database_codes.values())), axis=0))


@dataclass(frozen=True, eq=False)
class Evidence:
    """The runs of a lesson, in their order, on their data."""

    data: MultimodalDataset
    split: Split
    runs: tuple[Seen, ...]

    @cached_property
    def queries(self) -> dict[str, int]:
        """The first held-out item of every class, by its caption: its row."""
        labels, captions = self.data.labels[self.split.queries], self.data.captions
        firsts = [int(self.split.queries[np.argmax(column)]) for column in labels.T if column.any()]
        return {captions[row] if captions is not None else f"item {row}": row for row in firsts}

    def nearest(
        self, run: Seen, direction: tuple[str, str], row: int, most: int
    ) -> tuple[list[int], list[int]]:
        """The rows and distances of what is nearest to this item, ties in database order."""
        source, target = direction
        found = run.hasher.search(source, self.data.modalities[source][[row]], target, most)
        return self.split.train[found.rows[0]].tolist(), found.distances[0].tolist()

    def wall(self, title: str, rows: Sequence[int], asked: int) -> Wall:
        """These items, right where they share a class with what is asked."""
        right = (self.data.labels[list(rows)] & self.data.labels[asked]).any(axis=1).tolist() if rows else []
        return Wall(title, tuple(rows), tuple(right))

    def both_ways(self, run: Seen, row: int) -> Walls:
        """What an item's words find, and what its picture finds."""
        titles = {TEXT: "Its words find", PICTURE: "Its picture finds"}
        return tuple(
            self.wall(title, self.nearest(run, direction, row, SHOWN)[0], row)
            for direction, title in titles.items()
        )

    def walls(self) -> dict[str, tuple[Walls, ...]]:
        """For every query both ways by every run."""
        return self.at_every_run(self.both_ways)

    def at_every_run(self, look: Callable[[Seen, int], Walls]) -> dict[str, tuple[Walls, ...]]:
        """What each query finds by every run, the query whose answers change most first."""
        found = {caption: tuple(look(run, row) for run in self.runs) for caption, row in self.queries.items()}
        changes = {
            caption: np.ptp([count_right(walls) for walls in stops]) for caption, stops in found.items()
        }
        return dict(sorted(found.items(), key=lambda query: -changes[query[0]]))


def gather(grid: Grid, store: RunStore) -> Evidence:
    """All runs of the grid; where one is missing, there is no lesson yet."""
    if missing := grid.missing(store):
        raise InputError(f"{len(missing)} of {len(grid.keys)} trainings of this lesson are not there yet.")
    found = grid.found(store)
    runs = []
    for method, record in found.items():
        scores = {
            way: store.scores(record, grid.data, grid.split, *way, "training") for way in (TEXT, PICTURE)
        }
        runs.append(Seen(method, store.hasher(record), scores, record.timing.training))
    return Evidence(grid.data, grid.split, tuple(runs))

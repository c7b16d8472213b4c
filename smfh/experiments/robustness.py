"""Robustness: one comparison, repeated with several shares of corrupted training items.

grids = corrupted_grids(grid, "wrong_labels", (0.0, 0.3, 0.6))   # of a grid with clean data
for one in grids.values():
    train_grid(one, store)
robustness_points(grids, store, view)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smfh.datasets import CORRUPTIONS, DatasetSource, corrupt
from smfh.experiments.comparison import Grid, GridKey, Problems, View, points, train_grid
from smfh.hashing import HashMethod
from smfh.jobs import JobContext
from smfh.runs import SavedRuns
from smfh.types import InputError, Point, unknown

DEFAULT_SHARES = (0.0, 0.2, 0.4, 0.6)
MAX_SHARES = 11
Grids = Mapping[float, Grid]  # by share


@dataclass(frozen=True)
class RobustnessKey:
    """The key that identifies the runs of a robustness curve in the job queue."""

    grids: tuple[GridKey, ...]


def clean_source(source: DatasetSource) -> DatasetSource:
    """Return the data set without corruptions."""
    shares: dict[str, Any] = dict.fromkeys(CORRUPTIONS, 0.0)
    return replace(source, **shares)


def corrupted_grids(clean: Grid, corruption: str, shares: Sequence[float]) -> dict[float, Grid]:
    """Return copies of a grid with corrupted training data, by share of corrupted items in ascending order.

    The data of `clean` has no corruptions. Other corruptions set in its source apply at every share.
    """
    if corruption not in CORRUPTIONS:
        raise unknown("corruption", corruption, CORRUPTIONS)
    if not 2 <= len(set(shares)) <= MAX_SHARES:
        raise InputError(f"A curve needs 2 to {MAX_SHARES} different shares; got {len(set(shares))}.")
    grids = {}
    for share in sorted(set(shares)):
        option: dict[str, Any] = {corruption: share}
        source = replace(clean.comparison.source, **option)
        data, split = corrupt(clean.data, clean.split, source.corruptions, source.corruption_seed)
        grids[share] = Grid(replace(clean.comparison, source=source), data, split)
    return grids


def robustness_key(grids: Grids) -> RobustnessKey:
    return RobustnessKey(tuple(grid.key for grid in grids.values()))


def robustness_work(grids: Grids, store: SavedRuns) -> Callable[[JobContext], Problems]:
    """Return a function for the job queue that trains the missing runs of all shares."""

    def work(context: JobContext) -> Problems:
        problems: dict[HashMethod, tuple[str, ...]] = {}
        for share, grid in grids.items():

            def report(progress: object, share: float = share) -> None:
                context.report((share, progress))

            order = (report, context.check, context.yield_turn, context.call, context.at_once)
            problems |= train_grid(grid, store, *order)
        return problems

    return work


def robustness_points(grids: Grids, store: SavedRuns, view: View) -> list[Point]:
    """Return the points of a robustness chart at the chosen code length; x is the share in percent.

    They have no range for ties: methods that give each class one code would have bands over the whole chart.
    """
    return [
        replace(point, at=round(100 * share, 6), ties=None)
        for share, grid in grids.items()
        for point in points(grid, store, view)
        if point.at == view.bits
    ]


def robustness_summary(found: Sequence[Point], corruption: str, label: str) -> str:
    """Return two sentences: the best methods without and with corruption, and which keep most and least."""
    low, high = (end(point.at for point in found) for end in (min, max))
    first, last = ({p.title: p.mean for p in found if p.at == at} for at in (low, high))
    both = [title for title in first if title in last and first[title] > 0]
    if low == high or not both:
        return ""
    before, after = (max(both, key=scores.__getitem__) for scores in (first, last))
    what = CORRUPTIONS[corruption]
    best = f"{before} is best with {low:g} % {what}, {after} with {high:g} %"
    if before == after:
        best = f"{before} is best with {low:g} % and with {high:g} % {what}"
    same = [title for title in both if first[title] == last[title]]
    kept = {title: last[title] / first[title] for title in both if title not in same}
    parts = [
        f"{title} keeps {100 * kept[title]:.0f} % of its {label} ({first[title]:.3f} → {last[title]:.3f})"
        for title in dict.fromkeys(end(kept, key=kept.__getitem__) for end in (max, min) if kept)
    ]
    parts += [f"{', '.join(same)} do{'es' * (len(same) == 1)} not change"] * bool(same)
    return f"{best} ({found[0].direction}). At {high:g} %, {'; '.join(parts)}."

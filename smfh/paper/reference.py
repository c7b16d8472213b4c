"""Reference scores stored with the program, and the check that the program still produces them.

`python -m smfh paper --write-reference` writes the file reference.json; do not edit it by hand.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import nan, sqrt
from pathlib import Path

from smfh.experiments.comparison import Grid, View, points
from smfh.files.atomic import write_atomically
from smfh.metrics import HEADLINE
from smfh.runs import RunStore
from smfh.runs.run_file import versions

FILE = Path(__file__).with_name("reference.json")
MAX_STANDARD_ERRORS = 3  # allowed difference of two means
ROUNDING = 0.002  # largest effect of another order of summation on another machine
DECIMALS = 5
COMMAND = "python -m smfh paper --write-reference"


@dataclass(frozen=True)
class ReferenceScore:
    """The mean and deviation over seeds of one score of one method on one data set."""

    dataset: str
    method: str
    bits: int
    direction: str
    definition: str  # a key of AP_DEFINITIONS; ties in database order, the database is the training set
    mean: float
    deviation: float  # sample standard deviation
    seeds: int

    @property
    def cell(self) -> tuple[str, str, int, str, str]:
        return self.dataset, self.method, self.bits, self.direction, self.definition

    @property
    def name(self) -> str:
        return f"{self.dataset}, {self.method}, {self.bits} bits, {self.direction}, {self.definition}"


@dataclass(frozen=True)
class Verdict:
    """A reference score and the same score measured now."""

    reference: ReferenceScore
    fresh: ReferenceScore | None  # None: the score can no longer be measured

    @property
    def difference(self) -> float:
        return nan if self.fresh is None else self.fresh.mean - self.reference.mean

    @property
    def allowed(self) -> float:
        """Allowed difference, 0.002 + 3 s √(1/n + 1/n′), for n reference seeds and n′ fresh seeds.

        s is the deviation over the reference seeds. The fresh deviation is used only if n = 1: if a method
        now fails for some seeds, its deviation is large and would hide the failure.
        """
        if self.fresh is None:
            return 0.0
        deviation = self.fresh.deviation if self.reference.seeds == 1 else self.reference.deviation
        standard_error = deviation * sqrt(1 / self.reference.seeds + 1 / self.fresh.seeds)
        return ROUNDING + MAX_STANDARD_ERRORS * standard_error

    @property
    def holds(self) -> bool:
        return abs(self.difference) <= self.allowed  # False for nan

    @property
    def words(self) -> str:
        expected = f"reference {self.reference.mean:.4f}"
        if self.fresh is None:
            return f"✗ {self.reference.name}: no longer measured, {expected}"
        mark, difference = "✓" if self.holds else "✗", f"{self.difference:+.4f}, allowed ±{self.allowed:.4f}"
        return f"{mark} {self.reference.name}: {self.fresh.mean:.4f}, {expected} ({difference})"


def grid_scores(dataset: str, grid: Grid, store: RunStore) -> list[ReferenceScore]:
    """Return the scores of a trained grid in all directions: mAP@100, whole-ranking mAP and P@100."""
    return [
        ReferenceScore(
            dataset,
            point.method,
            int(point.at),
            point.direction,
            definition,
            round(point.mean, DECIMALS),
            round(point.deviation, DECIMALS),
            len(point.values),
        )
        for direction in grid.directions
        for definition in HEADLINE
        for point in points(grid, store, View(*direction, definition))
    ]


def compare_scores(reference: Sequence[ReferenceScore], fresh: Sequence[ReferenceScore]) -> list[Verdict]:
    """Compare each reference score with the newly measured score of the same cell."""
    by_cell = {score.cell: score for score in fresh}
    return [Verdict(score, by_cell.get(score.cell)) for score in reference]


def read_reference(path: Path = FILE) -> list[ReferenceScore]:
    """Read the reference scores; an empty list if there is no file."""
    if not path.is_file():
        return []
    return [ReferenceScore(**score) for score in json.loads(path.read_text(encoding="utf-8"))["scores"]]


def write_reference(fresh: Sequence[ReferenceScore], path: Path = FILE) -> None:
    """Write newly measured scores to the reference file; scores of other cells stay unchanged."""
    scores = {score.cell: score for score in (*read_reference(path), *fresh)}
    header = {"made by": COMMAND, "versions": dict(versions()), "scores": []}
    lines = ",\n".join(f"  {json.dumps(asdict(scores[cell]), ensure_ascii=False)}" for cell in sorted(scores))
    text = json.dumps(header, ensure_ascii=False).replace('"scores": []', f'"scores": [\n{lines}\n]')
    write_atomically(path, lambda file: file.write(f"{text}\n".encode()))

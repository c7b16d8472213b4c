"""Scores that were measured once, kept with the program, and whether it still yields them.

The file is written by `python -m smfh paper --write-reference` and never by hand.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import nan, sqrt
from pathlib import Path

from smfh.comparison import Grid, GridProgress, View, name_training, points, train_grid
from smfh.datasets import DATASETS
from smfh.files.whole import write_whole
from smfh.jobs import Call, here
from smfh.metrics import HEADLINE
from smfh.paper.plan import over_bits
from smfh.runs import RunStore
from smfh.runs.record import versions
from smfh.types import InputError

FILE = Path(__file__).with_name("reference.json")
SCATTERS = 3  # standard errors of the difference of two means
ROUNDING = 0.002  # that sums taken in another order, on another machine, may make
DECIMALS = 5
COMMAND = "python -m smfh paper --write-reference"


@dataclass(frozen=True)
class KeptScore:
    """One mean over seeds, and how far the seeds scatter about it."""

    dataset: str
    method: str
    bits: int
    direction: str
    definition: str  # a key of AP_DEFINITIONS; ties in database order, the database being the training set
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
    """A score that was kept beside the same measured now."""

    kept: KeptScore
    fresh: KeptScore | None  # None: it does not come out any more

    @property
    def difference(self) -> float:
        return nan if self.fresh is None else self.fresh.mean - self.kept.mean

    @property
    def allowed(self) -> float:
        """0.002 + 3 s √(1/n + 1/n′), s being the scatter of n kept seeds, beside n′ fresh ones

        Fresh seeds tell s only where a single one was kept: what breaks a method for some of its seeds makes
        them scatter, and would allow itself.
        """
        if self.fresh is None:
            return 0.0
        scatter = self.fresh.deviation if self.kept.seeds == 1 else self.kept.deviation
        return ROUNDING + SCATTERS * scatter * sqrt(1 / self.kept.seeds + 1 / self.fresh.seeds)

    @property
    def holds(self) -> bool:
        return abs(self.difference) <= self.allowed  # nan is not

    @property
    def words(self) -> str:
        then = f"kept {self.kept.mean:.4f}"
        if self.fresh is None:
            return f"✗ {self.kept.name}: not measured any more, {then}"
        mark = "✓" if self.holds else "✗"
        difference = f"{self.difference:+.4f}, allowed ±{self.allowed:.4f}"
        return f"{mark} {self.kept.name}: {self.fresh.mean:.4f}, {then} ({difference})"


def measure_scores(
    dataset: str,
    methods: Sequence[str],
    lengths: Sequence[int],
    seeds: int,
    store: RunStore,
    on_progress: Callable[[GridProgress], None] = lambda progress: None,
    call: Call = here,
    at_once: int = 1,
) -> list[KeptScore]:
    """Train what the store has not, by the paper's settings; every direction by the three usual measures."""
    grid = Grid(over_bits(lengths, dataset, methods, seeds), *DATASETS[dataset]().load())
    if problems := train_grid(grid, store, on_progress, call=call, at_once=at_once):
        raise InputError([f"{name_training(run)}: {why}" for run, whys in problems.items() for why in whys])
    return [
        KeptScore(
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


def compare_scores(kept: Sequence[KeptScore], fresh: Sequence[KeptScore]) -> list[Verdict]:
    """Every score that is kept, beside what comes out now; what comes out besides is nobody's promise."""
    by_cell = {score.cell: score for score in fresh}
    return [Verdict(score, by_cell.get(score.cell)) for score in kept]


def read_reference(path: Path = FILE) -> list[KeptScore]:
    """What was kept; nothing where nothing was."""
    if not path.is_file():
        return []
    return [KeptScore(**score) for score in json.loads(path.read_text(encoding="utf-8"))["scores"]]


def write_reference(fresh: Sequence[KeptScore], path: Path = FILE) -> None:
    """Put these scores in the place of those that were kept of the same cells, and leave the others."""
    scores = {score.cell: score for score in (*read_reference(path), *fresh)}
    about = {"made by": COMMAND, "versions": dict(versions()), "scores": []}
    lines = ",\n".join(f"  {json.dumps(asdict(scores[cell]), ensure_ascii=False)}" for cell in sorted(scores))
    text = json.dumps(about, ensure_ascii=False).replace('"scores": []', f'"scores": [\n{lines}\n]')
    write_whole(path, lambda file: file.write(f"{text}\n".encode()))

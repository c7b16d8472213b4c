"""Goals of a study: one objective, or two that are traded off against each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from smfh.experiments.folds import BASE_MEASURES, FoldScores
from smfh.types import unknown

MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "balanced": "the geometric mean of mAP@100, mAP over the whole ranking and P@100",
        "found": "mAP@100, divided by the number of relevant items among the first 100",
        "full": "mAP over the whole ranking",
        "precision": "P@100, the share of relevant items among the first 100",
    }
)
SCOPES: Mapping[str, str] = MappingProxyType(
    {
        "mean": "mean of all directions",
        "first": "first direction only, such as text → image",
        "second": "second direction only, such as image → text",
        "directions": "both directions as two objectives (Pareto front)",
        "seconds": "mean of all directions and training seconds as two objectives (Pareto front)",
    }
)


@dataclass(frozen=True)
class Goal:
    """What a study maximises: a measure (key of MEASURES), and the directions it covers (key of SCOPES)."""

    measure: str = "balanced"
    over: str = "mean"

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise unknown("measure", self.measure, MEASURES)
        if self.over not in SCOPES:
            raise unknown("goal", self.over, SCOPES)

    @property
    def has_front(self) -> bool:
        """Whether the goal has two objectives, and therefore a Pareto front."""
        return self.over in ("directions", "seconds")

    @property
    def directions(self) -> tuple[Literal["maximize", "minimize"], ...]:
        """For each objective, whether Optuna maximises or minimises it."""
        if not self.has_front:
            return ("maximize",)
        return "maximize", "minimize" if self.over == "seconds" else "maximize"

    @property
    def titles(self) -> tuple[str, ...]:
        """The axis label of each objective."""
        title = {"balanced": "balanced score"}.get(self.measure) or BASE_MEASURES[self.measure]
        first, second = f"{title}, first direction", f"{title}, second direction"
        by_scope = {"first": (first,), "second": (second,), "directions": (first, second)}
        return by_scope.get(self.over) or ((title, "training seconds") if self.has_front else (title,))

    @property
    def title(self) -> str:
        """The name of the number by which trials are ranked; see `worth`."""
        first = self.titles[0]
        return first.replace("first direction", "mean of both directions") if self.over == "directions" else first

    @property
    def words(self) -> str:
        return f"{MEASURES[self.measure]}; {SCOPES[self.over]}"

    def worth(self, values: Sequence[float]) -> float:
        """Return the number that ranks a trial: the score, or the mean if both directions are objectives."""
        return float(np.mean(values)) if self.over == "directions" else values[0]

    def values(self, folds: Sequence[FoldScores]) -> tuple[float, ...]:
        """Return the mean of each objective over the folds."""
        return tuple(float(value) for value in np.mean([self.of_fold(fold) for fold in folds], axis=0))

    def of_fold(self, fold: FoldScores) -> tuple[float, ...]:
        """Return the value of each objective on a validation fold."""
        first, second, *_ = (fold.measure(self.measure, direction) for direction in fold.directions)
        if self.over == "directions":
            return first, second
        if self.over in ("first", "second"):
            return (first if self.over == "first" else second,)
        mean = fold.measure(self.measure)
        return (mean, fold.seconds) if self.over == "seconds" else (mean,)


def pareto_front(points: Mapping[int, tuple[float, float]]) -> dict[int, tuple[float, float]]:
    """Return the trials on the Pareto front of two objectives, which are both to be maximised."""
    return {
        number: (a, b)
        for number, (a, b) in points.items()
        if not any(c >= a and d >= b and (c, d) != (a, b) for c, d in points.values())
    }


def knee_of(front: Mapping[int, tuple[float, float]]) -> int | None:
    """Return the trial at the knee of a Pareto front; None if the front does not bulge beyond its ends.

    Both objectives of each trial are to be maximised. Scaled so that the ends are (0, 1) and (1, 0), the
    point (x, y) is (x + y − 1) / √2 beyond the line between them; the knee is farthest beyond it.
    """
    if len(front) < 3:
        return None
    points = np.array(list(front.values()), dtype=np.float64)
    size = np.ptp(points, axis=0)
    if not size.all():
        return None
    beyond = ((points - points.min(axis=0)) / size).sum(axis=1) - 1
    return list(front)[int(beyond.argmax())] if beyond.max() > 1e-9 else None


def describe_knee(front: Mapping[int, tuple[float, float]], knee: int, goal: Goal) -> str:
    """Return a sentence that compares the knee with the trial that is best in the first objective."""
    best = max(front, key=front.__getitem__)
    loss, gain = front[best][0] - front[knee][0], front[knee][1] - front[best][1]
    title = goal.titles[0].removesuffix(", first direction")
    if goal.over == "seconds":
        trade = f"gives up {loss:.3f} of the {title} to save {gain:.3g} training seconds"
    else:
        trade = f"gives up {loss:.3f} of the {title} in the first direction for {gain:.3f} in the second"
    return f"Knee: trial {knee} {trade}, compared with trial {best}."

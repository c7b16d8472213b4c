"""What a trial is judged by: one number, or two of which neither is given up for the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from smfh.metrics import AP_DEFINITIONS, HEADLINE, Scores
from smfh.types import unknown

FIGURES: Mapping[str, str] = MappingProxyType({name: AP_DEFINITIONS[name].label for name in HEADLINE})
MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "balanced": "the geometric mean of mAP@100, mAP over the whole ranking and P@100",
        "found": "mAP@100, divided by the relevant items found there",
        "full": "mAP over the whole ranking",
        "precision": "P@100, the share of relevant items among the first 100",
    }
)
OVER: Mapping[str, str] = MappingProxyType(
    {
        "mean": "mean of all directions",
        "first": "the first direction alone, such as text → image",
        "second": "the second direction alone, such as image → text",
        "directions": "both directions, as a front on which neither can gain without the other's loss",
        "seconds": "mean of all directions against the seconds of a training, as such a front",
    }
)


@dataclass(frozen=True)
class PartScores:
    """How a method did on one validation part."""

    dataset: str
    fold: int
    bits: int
    seconds: float  # of the training
    directions: Mapping[str, Mapping[str, float]]  # such as "text → image", the usual one first, → FIGURES

    def measure(self, name: str, direction: str = "") -> float:
        """One of MEASURES in a direction, or its mean over all of them."""
        chosen = [self.directions[direction]] if direction else self.directions.values()
        return float(np.mean([measured(name, figures) for figures in chosen]))


def measured(name: str, figures: Mapping[str, float]) -> float:
    """balanced = (mAP@100 · mAP · P@100)^(1/3)

    mAP@100 divided by the relevant items found rewards a mixed top: one hit, then none, counts as 1. Such a
    ranking reaches .867 where an honest one has .708, with a P@100 of .171 beside .699. Of three factors none
    can be gamed: what one wins is lost where the others fall by the same factor. Even if that ranking kept
    the honest one's mAP of .742, it would have .479 beside .716.
    """
    if name == "balanced":
        return float(np.prod([figures[figure] for figure in FIGURES]) ** (1 / len(FIGURES)))
    return figures[name]


def figures_of(searches: Sequence[Scores]) -> dict[str, float]:
    """The three figures of one direction, as means over its searches by several protocols."""
    return {name: float(np.mean([scores.headline[name] for scores in searches])) for name in HEADLINE}


@dataclass(frozen=True)
class Goal:
    """One of MEASURES, looked at in one of the ways of OVER."""

    measure: str = "balanced"
    over: str = "mean"

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise unknown("measure", self.measure, MEASURES)
        if self.over not in OVER:
            raise unknown("goal", self.over, OVER)

    @property
    def has_front(self) -> bool:
        """Whether there are two objectives."""
        return self.over in ("directions", "seconds")

    @property
    def directions(self) -> tuple[Literal["maximize", "minimize"], ...]:
        """What Optuna does with each objective."""
        if not self.has_front:
            return ("maximize",)
        return "maximize", "minimize" if self.over == "seconds" else "maximize"

    @property
    def titles(self) -> tuple[str, ...]:
        """What an axis calls each objective."""
        title = {"balanced": "balanced score"}.get(self.measure) or FIGURES[self.measure]
        return {
            "mean": (title,),
            "first": (f"{title}, first direction",),
            "second": (f"{title}, second direction",),
            "directions": (f"{title}, first direction", f"{title}, second direction"),
            "seconds": (title, "training seconds"),
        }[self.over]

    @property
    def words(self) -> str:
        return f"{MEASURES[self.measure]}; {OVER[self.over]}"

    def worth(self, values: Sequence[float]) -> float:
        """One number to pick by: the value, the mean of two directions, or the score whatever its time."""
        return float(np.mean(values)) if self.over == "directions" else values[0]

    def values(self, parts: Sequence[PartScores]) -> tuple[float, ...]:
        """Each objective, as its mean over the parts."""
        return tuple(float(value) for value in np.mean([self.of_part(part) for part in parts], axis=0))

    def of_part(self, part: PartScores) -> tuple[float, ...]:
        """Each objective on one part."""
        first, second, *_ = part.directions
        by_name = {
            "mean": part.measure(self.measure),
            "first": part.measure(self.measure, first),
            "second": part.measure(self.measure, second),
        }
        if self.over == "directions":
            return by_name["first"], by_name["second"]
        return (by_name["mean"], part.seconds) if self.over == "seconds" else (by_name[self.over],)

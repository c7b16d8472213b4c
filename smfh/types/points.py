"""What a table prints and a line is drawn through."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Point:
    """One method at one place of an axis, measured with several seeds."""

    method: str  # its name, by which it is coloured
    title: str  # what it is called where one method stands twice
    direction: str  # such as text → image
    at: float  # such as the number of bits
    values: tuple[float, ...]  # a seed each
    ties: tuple[float, float] | None = None  # mean over seeds of the worst and the best that ties allow
    chance: float | None = None

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    @property
    def deviation(self) -> float:
        """Sample standard deviation over seeds; 0 for a single one."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0

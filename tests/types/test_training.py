"""Parameters describe themselves and check their values."""

from dataclasses import dataclass

import numpy as np
import pytest

from smfh.hashing import METHODS
from smfh.types import parameter, parameters, range_problems


@dataclass(frozen=True)
class Example:
    seed: int = parameter(0, "s", 0, 9, "Any.", kw_only=True)
    count: int = parameter(3, "n", 1, 2000, "How many.")
    weight: float = parameter(1.0, "w", 0.0, 1e6, "How much.", "log", typical=(0.1, 10.0), neutral=0.0)
    rate: float = parameter(0.5, "r", 0.0, 60.0, "How fast.", "log")
    parts: tuple[float, ...] = parameter((), "p", 0.0, 1.0, "Shares.")
    on: bool = parameter(False, "o", False, True, "Whether.")


@pytest.mark.parametrize(
    "values", [{"count": 0}, {"count": 2.0}, {"count": True}, {"weight": np.nan}, {"parts": (2.0,)}, {"on": 1}]
)
def test_values_are_accepted_in_their_range_and_rejected_outside(values):
    assert range_problems(Example(count=np.int64(2000), weight=np.float32(1), parts=(0.5, 1), on=True)) == []
    (problem,) = range_problems(Example(**values))
    assert problem.startswith(f"{next(iter(values))} (")
    assert " must be " in problem


@pytest.mark.parametrize("name", METHODS)
def test_the_help_of_numeric_parameters_explains_both_directions(name):
    for field, about in parameters(METHODS[name]).items():
        if not isinstance(about.low, bool):
            assert "higher" in about.help.lower(), field
            assert "lower" in about.help.lower(), field

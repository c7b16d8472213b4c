"""Parameters say what they are, and refuse what they are not."""

from dataclasses import dataclass

import numpy as np
import pytest

from smfh.types import InputError, parameter, parameters, range_problems, read_value


@dataclass(frozen=True)
class Example:
    seed: int = parameter(0, "s", 0, 9, "Any.", kw_only=True)
    count: int = parameter(3, "n", 1, 2000, "How many.")
    weight: float = parameter(1.0, "w", 0.0, 1e6, "How much.", "log", typical=(0.1, 10.0), neutral=0.0)
    rate: float = parameter(0.5, "r", 0.0, 60.0, "How fast.", "log")
    parts: tuple[float, ...] = parameter((), "p", 0.0, 1.0, "Shares.")
    on: bool = parameter(False, "o", False, True, "Whether.")


def test_a_parameter_carries_all_that_a_control_needs():
    about = parameters(Example)
    assert list(about) == ["count", "weight", "rate", "parts", "on", "seed"]  # the order of the signature
    assert about["weight"].typical == (0.1, 10.0)
    assert about["weight"].neutral == 0.0
    assert about["count"].typical == (1, 2000)
    assert about["count"].neutral is None
    assert about["rate"].typical == (0.005, 50.0)
    assert [about[name].wanted for name in ("count", "weight", "on")] == [
        "a whole number from 1 to 2,000",
        "a number from 0 to 1e+06",
        "True or False",
    ]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"count": np.int64(2000)},
        {"weight": 2},
        {"weight": np.float32(0.5)},
        {"parts": (0.5, 1)},
        {"on": True},
    ],
)
def test_values_in_range_are_taken(values):
    assert range_problems(Example(**values)) == []


@pytest.mark.parametrize(
    "values",
    [
        {"count": 0},
        {"count": 2.0},
        {"count": True},
        {"weight": np.nan},
        {"weight": "1"},
        {"parts": (2.0,)},
        {"on": 1},
    ],
)
def test_values_out_of_range_are_named(values):
    (problem,) = range_problems(Example(**values))
    assert problem.startswith(f"{next(iter(values))} (")
    assert " must be " in problem


def test_text_is_read_as_the_kind_of_the_default():
    assert read_value("on", "True", False) is True
    assert read_value("parts", "0.5, 0.5", ()) == (0.5, 0.5)
    with pytest.raises(InputError, match="count must be a whole number, such as 3; got 'x'"):
        read_value("count", "x", 3)

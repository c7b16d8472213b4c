"""Small studies, each in a folder of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from smfh.datasets import Planted
from smfh.experiments.tuning import Range, Studies, StudyPlan
from smfh.hashing import SMFH

METHOD = SMFH(bits=8, iterations=3)
ALPHA, RIDGE = Range("graph_weight", 0.1, 10, "log", points=3), Range("ridge", 1e-4, 1, "log", points=2)

PlanMaker = Callable[..., StudyPlan]


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'studies.db'}"


@pytest.fixture
def studies(address: str) -> Studies:
    return Studies(address)


@pytest.fixture
def make_plan() -> PlanMaker:
    """Return a function that makes a small plan with some fields changed."""

    def make(**changes: object) -> StudyPlan:
        default = {
            "name": "small",
            "sources": (Planted(items=80),),
            "method": METHOD,
            "ranges": (ALPHA, RIDGE),
            "trials": 6,
            "folds": 2,
        }
        return StudyPlan(**(default | changes))

    return make

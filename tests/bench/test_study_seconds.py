"""How long a study took, by the clock on the wall."""

from smfh.bench.tuning import plan_of, wall_seconds
from smfh.datasets import Planted
from smfh.hashing import SMFH
from smfh.tuning import Range, Studies, StudyPlan, tune


def test_from_the_first_start_to_the_last_end(tmp_path):
    ranges = (Range("graph_weight", 1, 4, "log", points=3),)
    plan = StudyPlan("small", (Planted(items=60),), SMFH(bits=8, iterations=2), ranges, "sweep", folds=1)
    study = Studies(f"sqlite:///{tmp_path / 'studies.db'}").create(plan)
    tune(study)
    first, *_, last = study.trials
    assert wall_seconds(study) == (last.ended - first.started).total_seconds()
    assert wall_seconds(study) >= sum((t.ended - t.started).total_seconds() for t in study.trials)


def test_the_sweep_that_is_timed_can_be_shared_evenly():
    for quick in (False, True):
        assert len(plan_of("any", quick).points) % 2 == 0

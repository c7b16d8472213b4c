"""The work of a study: the same whoever does it, stopped and gone on with, pruned, failed, timed."""

from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from optuna.trial import TrialState

from smfh.hashing import CVH, SMFH, HashMethod
from smfh.jobs import JobQueue
from smfh.tuning import Goal, Range, Studies, progress_of, storage, study_work, tune, validation_sets, work
from smfh.tuning.validation import score_part


class Stopped(BaseException):
    """As a cancelled job raises it."""


def told(study):
    """All of the trials that does not depend on the clock."""
    return [
        (t.number, t.state, t.parameters, t.values, [p.directions for p in t.parts]) for t in study.trials
    ]


def test_a_trial_is_scored_part_by_part_as_by_hand(studies, make_plan):
    plan = make_plan(trials=2, lengths=(8, 12))
    study = studies.create(plan)
    tune(study)
    trial = study.trials[1]
    sets = list(validation_sets(plan.sources, plan.folds))
    method = plan.method_of(trial.parameters)
    expected = [
        score_part(replace(method, bits=bits), part, plan.protocols).directions
        for part in sets
        for bits in (8, 12)
    ]
    assert [part.directions for part in trial.parts] == expected
    balanced = [
        np.mean([np.prod(list(figures.values())) ** (1 / 3) for figures in part.values()])
        for part in expected
    ]
    assert trial.values == pytest.approx((np.mean(balanced),))
    assert [(part.fold, part.bits) for part in trial.parts] == [(0, 8), (0, 12), (1, 8), (1, 12)]


def test_the_start_is_trial_0_also_where_it_lies_outside_of_the_ranges(studies, make_plan):
    study = studies.create(make_plan(ranges=(Range("graph_weight", 100, 1000, "log"),), trials=3))
    tune(study)
    start, *others = study.trials
    assert start.parameters == {"graph_weight": 2.0}
    assert start.state == "complete"
    assert all(100 <= trial.parameters["graph_weight"] <= 1000 for trial in others)


def test_a_sweep_tries_every_point_once(studies, make_plan):
    study = studies.create(make_plan(way="sweep", folds=1))
    tune(study)
    assert [trial.parameters for trial in study.trials] == study.plan.points
    assert {trial.state for trial in study.trials} == {"complete"}


def test_the_same_plan_finds_the_same_also_in_two_sittings(studies, make_plan):
    whole, halves = studies.create(make_plan(trials=14)), studies.create(make_plan(name="halves", trials=5))
    tune(whole)
    tune(halves)
    tune(studies.join(make_plan(name="halves", trials=14)))
    assert told(whole) == told(halves)
    weights = [trial.parameters["graph_weight"] for trial in whole.trials]
    assert len(set(weights)) == 14


def test_a_stopped_trial_waits_again_with_the_parts_it_has(studies, make_plan):
    straight = studies.create(make_plan(name="straight"))
    tune(straight)
    study, steps = studies.create(make_plan()), iter(range(1000))

    def stop_in_the_second_part(*_):
        if next(steps) == 3 * 2 + 2 + 4:  # loading asks twice, a part takes three steps
            raise Stopped

    with pytest.raises(Stopped):
        tune(study, check=stop_in_the_second_part)
    stopped = next(trial for trial in study.trials if trial.put_back)
    assert stopped.state == "waiting"
    assert stopped.put_back == "it was stopped"
    assert len(stopped.parts) == 1
    tune(study)
    assert told(study) == told(straight)


def test_a_lost_trial_waits_again(address, make_plan, monkeypatch):
    monkeypatch.setattr(storage, "GRACE", 1)
    study = Studies(address).create(make_plan(trials=2))
    lost = storage.claim(study.optuna, study.storage)  # and its worker is killed
    assert lost is not None
    assert [trial.state for trial in study.trials] == ["running", "waiting"]
    assert tune(study).done == 2  # waits until it is missed
    assert study.trials[lost.number].put_back == "its worker was gone"
    assert [trial.state for trial in study.trials] == ["complete", "complete"]


def test_a_trial_that_another_worker_has_finished_stays_as_it_is(studies, make_plan):
    study = studies.create(make_plan(trials=1))
    trial = storage.claim(study.optuna, study.storage)
    storage.put_back(study.storage, trial, "taken for lost by mistake")
    tune(study)
    before = study.trials
    storage.put_back(study.storage, trial, "again")
    work._tell(study, trial, TrialState.COMPLETE, (0.123,))
    assert study.trials == before


def test_poor_trials_are_given_up_early_and_the_start_never(studies, make_plan):
    study = studies.create(make_plan(trials=20, folds=3))
    tune(study)
    pruned = [trial for trial in study.trials if trial.state == "pruned"]
    complete = [trial for trial in study.trials if trial.state == "complete"]
    assert pruned
    assert all(len(trial.parts) < 3 for trial in pruned)
    assert all(len(trial.parts) == 3 for trial in complete)
    assert study.trials[0].state == "complete"
    firsts = [study.plan.goal.values(trial.parts[:1])[0] for trial in complete]
    one = next(trial for trial in pruned if len(trial.parts) == 1)
    assert one.values[0] < np.median(firsts)
    assert study.best.state == "complete"


def test_a_trial_that_cannot_be_trained_says_why_and_the_study_goes_on(studies, make_plan, monkeypatch):
    fit = HashMethod.fit

    def fit_small_weights_alone(self, *arguments, **options):
        method = self if self.graph_weight < 5 else replace(self, graph_weight=float("nan"))
        return fit(method, *arguments, **options)

    monkeypatch.setattr(HashMethod, "fit", fit_small_weights_alone)
    study = studies.create(make_plan(way="sweep", ranges=(Range("graph_weight", 1, 10, points=3),), folds=1))
    tune(study)
    states = {trial.parameters["graph_weight"]: trial.state for trial in study.trials}
    assert states == {2.0: "complete", 1.0: "complete", 5.5: "failed", 10.0: "failed"}
    failed = study.trials[-1]
    assert "graph_weight (α) must be a number" in failed.problem
    assert failed.values == ()


@pytest.mark.parametrize("over", ["directions", "seconds"])
def test_a_front_has_what_none_is_better_than(studies, make_plan, over):
    study = studies.create(make_plan(goal=Goal(over=over), trials=8))
    tune(study)
    sign = (1, -1 if over == "seconds" else 1)
    scores = {t.number: tuple(s * v for s, v in zip(sign, t.values, strict=True)) for t in study.trials}
    front = {
        n
        for n, own in scores.items()
        if not any(all(map(float.__ge__, o, own)) and o != own for o in scores.values())
    }
    assert {trial.number for trial in study.front} == front
    assert study.best.number in scores


def test_minutes_of_work_end_a_search(studies, make_plan):
    study = studies.create(make_plan(trials=0, minutes=1 / 60, folds=1))
    end = tune(study)
    assert end.total == 0
    assert end.done == len(study.trials) > 1
    assert end.seconds >= 1
    spent = [(trial.ended - trial.started).total_seconds() for trial in study.trials]
    assert sum(spent[:-1]) < 1  # the last one began within the time


def test_within_the_minutes_nobody_waits_for_another_worker(address, make_plan, monkeypatch):
    monkeypatch.setattr(storage, "GRACE", 2)
    study = Studies(address).create(make_plan(trials=0, minutes=1 / 60, folds=1))
    storage.claim(study.optuna, study.storage)  # the start is at work elsewhere
    tune(study)
    start, second, *_ = study.trials
    assert start.state == second.state == "complete"
    assert second.ended < start.started  # who was gone meanwhile


def test_code_lengths_can_be_tuned(studies, make_plan):
    ranges = (Range("bits", 4, 16, "log", True, 3),)
    study = studies.create(make_plan(way="sweep", ranges=ranges, folds=1, lengths=(32,)))
    tune(study)
    assert [trial.parts[0].bits for trial in study.trials] == [8, 4, 16]


def test_as_a_job_it_tells_how_far_it_is_can_be_paused_and_cancelled_and_goes_on(studies, make_plan):
    queue, study = JobQueue(), studies.create(make_plan(trials=4))
    job = queue.submit(study.key, study_work(study))
    job.pause()
    assert job.wait("paused", timeout=60)
    assert progress_of(study).done < 4
    job.cancel()
    assert job.wait(timeout=60)
    assert job.state == "cancelled"
    again = queue.submit(study.key, study_work(study))
    assert again.wait(timeout=60)
    assert again.result == again.reports[-1] == progress_of(study)
    assert again.result.done == again.result.total == 4
    assert [report.done for report in again.reports] == sorted(report.done for report in again.reports)
    queue.close()


def test_others_go_first_between_two_parts(studies, make_plan):
    queue, study, began = JobQueue(), studies.create(make_plan(trials=3)), Event()
    job = queue.submit(study.key, lambda course: (began.set(), study_work(study)(course)))
    assert began.wait(60)
    other = queue.submit("other", lambda course: progress_of(study).done)
    assert other.wait(timeout=60)
    assert other.result < 3
    assert job.wait(timeout=60)
    queue.close()


def test_any_method_is_tuned_by_the_same_code(studies, make_plan):
    study = studies.create(make_plan(method=CVH(bits=8), ranges=(Range("ridge", 1e-6, 1, "log"),), trials=2))
    tune(study)
    assert [trial.state for trial in study.trials] == ["complete", "complete"]
    assert isinstance(study.method_of(study.trials[1]), CVH)
    assert not isinstance(study.method_of(study.trials[1]), SMFH)

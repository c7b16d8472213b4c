"""Trials: the same whoever does them; stopped, lost, stopped early, failed, timed; several at once."""

import subprocess
import sys
from dataclasses import dataclass, replace
from threading import get_ident

import numpy as np
import pytest
from optuna.trial import TrialState
from sqlalchemy import URL
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from smfh.datasets import Planted
from smfh.experiments.folds import score_fold
from smfh.experiments.tuning import Range, Studies, confirm, storage, study_work, tune, validation_folds
from smfh.experiments.tuning.trials import load_folds
from smfh.hashing import CVH, HashMethod
from smfh.jobs import JobQueue, here
from smfh.runs import MemoryRuns
from smfh.types import InputError, MissingFilesError, MultimodalDataset

SOON = 120  # seconds after which a test that hangs fails


class Stopped(BaseException):
    """Raised like the cancellation of a job."""


def outcomes(study):
    """Return everything about the trials that does not depend on the clock."""
    return [(t.number, t.state, t.parameters, t.values, [fold.directions for fold in t.folds]) for t in study.trials]


def abandon_trial(study):
    """Take the start and never finish it, as a killed worker does."""
    storage, study_id = study.storage, study.storage.get_study_id_from_name(study.name)
    trial_id = storage.get_trial_id_from_study_id_trial_number(study_id, 0)
    storage.record_heartbeat(trial_id)
    assert storage.set_trial_state_values(trial_id, TrialState.RUNNING)


def test_validation_folds_contain_only_training_items():
    source = Planted(items=120)
    data, split = source.load()
    folds = validation_folds([source], folds=3)
    assert [fold.number for fold in folds] == [0, 1, 2]
    for fold in folds:
        assert len(fold.data) == len(split.train)
        assert np.array_equal(fold.data.labels, data.labels[split.train])
        assert sorted([*fold.split.train, *fold.split.queries]) == list(range(len(split.train)))
    assert not np.array_equal(folds[0].split.queries, folds[1].split.queries)


@dataclass(frozen=True)
class Scrambled(Planted):
    """The same training items, but random held-out queries."""

    def load(self, split="default", seed=0, on_progress=None):
        data, rows = super().load(split, seed)
        queries = super().load()[1].queries
        rng = np.random.default_rng(1)
        labels, modalities = data.labels.copy(), {}
        labels[queries] = labels[rng.permutation(queries)]
        for name, X in data.modalities.items():
            modalities[name] = X.copy()
            modalities[name][queries] = rng.random(modalities[name][queries].shape)
        return MultimodalDataset(self.name, modalities, labels, data.class_names, data.captions), rows


def test_a_study_does_not_depend_on_the_held_out_queries(make_plan, studies):
    found = []
    for source in (Planted(items=80), Scrambled(items=80)):
        study = studies.create(make_plan(name=type(source).__name__, sources=(source,), trials=5))
        study.plan = replace(study.plan, sources=(source,))
        tune(study)
        found.append(outcomes(study))
    assert found[0] == found[1]


def test_a_trial_is_scored_fold_by_fold_as_by_hand(studies, make_plan):
    plan = make_plan(trials=2, lengths=(8, 12))
    study = studies.create(plan)
    tune(study)
    trial = study.trials[1]
    method = plan.method_of(trial.parameters)
    expected = [
        score_fold(replace(method, bits=bits), fold.data, fold.split, fold.number, plan.protocols).directions
        for fold in validation_folds(plan.sources, plan.folds)
        for bits in (8, 12)
    ]
    assert [fold.directions for fold in trial.folds] == expected
    balanced = [
        np.mean([np.prod(list(measures.values())) ** (1 / 3) for measures in fold.values()]) for fold in expected
    ]
    assert trial.values == pytest.approx((np.mean(balanced),))
    assert [(fold.fold, fold.bits) for fold in trial.folds] == [(0, 8), (0, 12), (1, 8), (1, 12)]


def test_the_start_may_lie_outside_the_ranges(studies, make_plan):
    study = studies.create(make_plan(ranges=(Range("graph_weight", 100, 1000, "log"),), trials=3))
    tune(study)
    start, *others = study.trials
    assert (start.parameters, start.state) == ({"graph_weight": 2.0}, "complete")
    assert all(100 <= trial.parameters["graph_weight"] <= 1000 for trial in others)


def test_a_sweep_tries_every_point_once_with_any_method(studies, make_plan):
    study = studies.create(make_plan(way="sweep", folds=1))
    tune(study)
    assert [trial.parameters for trial in study.trials] == study.plan.points
    bits = (Range("bits", 4, 16, "log", True, 3),)
    study = studies.create(make_plan(name="bits", method=CVH(bits=8), way="sweep", ranges=bits, folds=1, lengths=(32,)))
    tune(study)
    assert [trial.folds[0].bits for trial in study.trials] == [8, 4, 16]
    assert {trial.state for trial in study.trials} == {"complete"}


def test_a_study_in_two_sittings_gives_the_same_trials(studies, make_plan):
    whole, halves = studies.create(make_plan(trials=12)), studies.create(make_plan(name="halves", trials=5))
    tune(whole)
    tune(halves)
    tune(studies.join(make_plan(name="halves", trials=12)))
    assert outcomes(whole) == outcomes(halves)
    assert len({trial.parameters["graph_weight"] for trial in whole.trials}) == 12


def test_a_stopped_trial_waits_again_and_keeps_its_folds(studies, make_plan):
    straight = studies.create(make_plan(name="straight"))
    tune(straight)
    study, steps = studies.create(make_plan()), iter(range(1000))

    def stop_in_the_second_fold(*_):
        if next(steps) == 3 * 2 + 2 + 4:  # two calls while loading, three in each fold
            raise Stopped

    with pytest.raises(Stopped):
        tune(study, check=stop_in_the_second_fold)
    assert [(trial.state, len(trial.folds)) for trial in study.trials[:3]] == [
        *(("complete", 2), ("waiting", 1), ("waiting", 0))
    ]
    tune(study)
    assert outcomes(study) == outcomes(straight)


def test_the_trial_of_a_lost_worker_is_repeated_under_its_number(address, make_plan, monkeypatch):
    monkeypatch.setattr(storage, "GRACE_SECONDS", 1)
    straight = Studies(address).create(make_plan(name="straight", trials=3))
    tune(straight)
    study = Studies(address).create(make_plan(trials=3))
    abandon_trial(study)
    assert [trial.state for trial in study.trials] == ["running", "waiting", "waiting"]
    assert tune(study).done == 3  # waits until the worker counts as lost
    assert [trial.state for trial in study.trials] == ["complete"] * 3
    assert {t.number: t.parameters for t in study.trials}[0] == straight.trials[0].parameters
    study.optuna.tell(0, 0.123, skip_if_finished=True)  # the lost worker comes back
    assert study.trials[0].values == straight.trials[0].values


def test_poor_trials_are_stopped_early_but_never_the_start(studies, make_plan):
    study = studies.create(make_plan(trials=20, folds=3))
    tune(study)
    stopped = [trial for trial in study.trials if trial.state == "pruned"]
    complete = [trial for trial in study.trials if trial.state == "complete"]
    assert stopped
    assert all(len(trial.folds) < 3 for trial in stopped)
    assert all(len(trial.folds) == 3 for trial in complete)
    assert study.trials[0].state == "complete"
    firsts = [study.plan.goal.values(trial.folds[:1])[0] for trial in complete]
    one = next(trial for trial in stopped if len(trial.folds) == 1)
    assert one.values[0] < np.median(firsts)
    assert study.best.state == "complete"


def test_a_trial_that_fails_says_why_and_the_study_continues(studies, make_plan, monkeypatch):
    fit = HashMethod.fit

    def fit_small_weights(self, *arguments, **options):
        method = self if self.graph_weight < 5 else replace(self, graph_weight=float("nan"))
        return fit(method, *arguments, **options)

    monkeypatch.setattr(HashMethod, "fit", fit_small_weights)
    study = studies.create(make_plan(way="sweep", ranges=(Range("graph_weight", 1, 10, points=3),), folds=1))
    tune(study)
    states = {trial.parameters["graph_weight"]: trial.state for trial in study.trials}
    assert states == {2.0: "complete", 1.0: "complete", 5.5: "failed", 10.0: "failed"}
    assert "graph_weight (α) must be a number" in study.trials[-1].problem
    assert study.trials[-1].values == ()


class PasswordDialect(SQLiteDialect_pysqlite):
    """SQLite that refuses connections without the right password, as a server does."""

    supports_statement_cache = True

    def create_connect_args(self, url):
        if url.password != "secret":  # noqa: S105
            raise ValueError(f"wrong password {url.password!r}")
        return super().create_connect_args(URL.create("sqlite", database=url.database))


@pytest.mark.parametrize("is_private", [False, True])
def test_several_trials_at_once_use_the_database_of_the_study(make_plan, tmp_path, is_private):
    """Workers once opened the address as it is displayed, with *** for the password."""
    registry.register("postgresql.testpassword", __name__, "PasswordDialect")
    source = Planted(items=80)
    address = f"postgresql+testpassword://me:secret@host/{tmp_path / 'studies.db'}"
    studies = Studies(upload=source) if is_private else Studies(address)
    study, threads = studies.create(make_plan(sources=(source,))), set()

    def call(function, *arguments, **callbacks):
        threads.add(get_ident())
        return here(function, *arguments, **callbacks)

    assert tune(study, call=call, at_once=2).done == 6
    assert len(threads) == 2
    assert "secret" not in study.key.address
    assert {trial.number for trial in study.trials} == set(range(6))


@dataclass(frozen=True)
class Counted(Planted):
    """Counts how often, and where, it is loaded."""

    def load(self, split="default", seed=0, on_progress=None):
        LOADED.append(WORKERS.copy())
        return super().load(split, seed)


LOADED, WORKERS = [], []


def test_data_is_loaded_once_and_only_in_a_worker(studies, make_plan):
    """Studies and tests on held-out queries once loaded and featurised in the server."""
    source = Counted(items=80)
    study = studies.create(make_plan(sources=(source,), trials=3))
    study.plan = replace(study.plan, sources=(source,))

    def call(function, *arguments, **callbacks):
        WORKERS.append(function.__name__)
        try:
            return function(*arguments, **callbacks)
        finally:
            WORKERS.pop()

    LOADED.clear()
    tune(study, call=call)
    assert LOADED == [["validation_folds"]] * (1 + study.plan.folds)  # the split, and each fold's features
    LOADED.clear()
    confirm(study, 1, MemoryRuns(), call=call)
    assert LOADED == [["load_set"]]


@pytest.mark.parametrize(("error", "loads_here"), [(InputError("damaged"), False), (MissingFilesError("absent"), True)])
def test_only_missing_files_are_read_in_this_process_instead_of_a_worker(make_plan, error, loads_here):
    def fail(*arguments, **callbacks):
        raise error

    LOADED.clear()
    plan = replace(make_plan(trials=3), sources=(Counted(items=80),))
    if loads_here:
        assert len(load_folds(plan, fail)) == plan.folds
    else:
        with pytest.raises(InputError, match="damaged"):
            load_folds(plan, fail)
    assert bool(LOADED) == loads_here


def test_workers_score_folds_without_optuna():
    """Its import takes seconds, for which the first point of a sweep once waited."""
    code = "import sys, smfh.experiments.folds; print('optuna' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
    assert score_fold.__module__ == validation_folds.__module__ == "smfh.experiments.folds"


def test_a_study_as_a_job_reports_pauses_and_continues(studies, make_plan):
    queue, study = JobQueue(), studies.create(make_plan(trials=4))
    job = queue.submit(study.key, study_work(study))
    job.pause()
    assert job.wait("paused", timeout=SOON)
    assert study.progress.done < 4
    job.cancel()
    assert job.wait(timeout=SOON)
    assert job.state == "cancelled"
    again = queue.submit(study.key, study_work(study))
    assert again.wait(timeout=SOON)
    assert again.result == again.reports[-1] == study.progress
    assert again.result.done == again.result.total == 4
    queue.close()


def test_progress_counts_trials_and_time(studies, make_plan):
    study = studies.create(make_plan(trials=2))
    assert (study.progress.done, study.progress.seconds_left, study.progress.is_done) == (0, None, False)
    tune(study)
    progress = study.progress
    assert (progress.done, progress.total, progress.running, progress.is_done) == (2, 2, 0, True)
    assert progress.began == study.trials[0].started
    assert progress.seconds == sum(trial.duration for trial in study.trials) > 0


def test_minutes_end_a_search(studies, make_plan):
    study = studies.create(make_plan(trials=0, minutes=1 / 60, folds=1))
    end = tune(study)
    assert end.total == 0
    assert end.done == len(study.trials) >= 1
    assert sum(trial.duration for trial in study.trials[:-1]) < 1 <= end.seconds  # the last began in time

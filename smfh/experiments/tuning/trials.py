"""Run the trials of a study: load validation folds, take a waiting trial, score it fold by fold."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from threading import Event, Thread
from typing import Any

import numpy as np
import optuna
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import TrialState
from sqlalchemy.exc import SQLAlchemyError

from smfh.experiments.folds import ValidationFold, score_fold, validation_folds
from smfh.experiments.tuning.plan import StudyPlan
from smfh.experiments.tuning.storage import errors_in_words, exclusive_writes
from smfh.experiments.tuning.study import (
    FOLDS,
    PROBLEM,
    WORKER,
    Study,
    StudyProgress,
    is_lost,
    number_of,
    read_folds,
    worker_name,
)
from smfh.jobs import Call, CancelledJobError, JobContext, here
from smfh.runs.training import wait_until_ready
from smfh.types import InputError, MissingFilesError

MIN_COMPLETE = 5  # complete trials before any may be stopped early
POLL_SECONDS = 1.0  # between two checks for trials of other workers


def load_folds(plan: StudyPlan, call: Call = here, check: Callable[..., None] = lambda *_: None) -> Any:
    """Return the validation folds of a plan, loaded in a worker if it has the files."""
    try:
        return call(validation_folds, plan.sources, plan.folds, check=check)
    except MissingFilesError:  # a worker on another machine may not have them
        return validation_folds(plan.sources, plan.folds, check)


def study_work(study: Study) -> Callable[[JobContext], StudyProgress]:
    """Return a function for the job queue that calls `tune` and reports after each fold."""
    return lambda context: tune(study, context.report, context.check, context.yield_turn, context.call, context.at_once)


def tune(
    study: Study,
    on_progress: Callable[[StudyProgress], None] = lambda progress: None,
    check: Callable[..., None] = lambda *_: None,
    yield_turn: Callable[[], None] = lambda: None,
    call: Call = here,
    at_once: int = 1,
) -> StudyProgress:
    """Run the trials of a study until none is waiting or running; return its progress.

    Parameters
    ----------
    on_progress
        Called after each fold.
    check
        Called between steps; an exception that it raises ends the work, and the current trial waits again.
    yield_turn
        Called after each fold, so that other jobs can go first.
    call
        Runs a function in a worker process.
    at_once
        Number of trials at the same time; the others pause, too, while `yield_turn` waits.
    """
    going, stopped = Event(), Event()

    def on_fold() -> None:
        going.clear()
        try:
            on_progress(study.progress)
            yield_turn()
        finally:
            going.set()

    def check_both(*step: Any) -> None:
        check(*step)
        if stopped.is_set():
            raise CancelledJobError

    def wait_for_first() -> None:
        check_both()
        while not going.wait(POLL_SECONDS):
            check_both()

    study.check_current()
    wait_until_ready("training")
    with errors_in_words(study.key.address), ThreadPoolExecutor(max(1, at_once - 1)) as pool:
        folds = load_folds(study.plan, call, check)
        study.check_data([fold.data.fingerprint for fold in folds])
        others = []
        for _ in range(at_once - 1):  # each thread needs an Optuna sampler of its own
            inner = optuna.load_study(study_name=study.name, storage=study.storage)
            own = Study(inner, study.storage, study.plan, study.key)
            others.append(pool.submit(do_trials, own, folds, check_both, wait_for_first, call))
        try:
            do_trials(study, folds, check, on_fold, call)
            for other in others:
                other.result()
        except BaseException:
            stopped.set()
            raise
    return study.progress


def do_trials(
    study: Study, folds: Sequence[ValidationFold], check: Callable[..., None], on_fold: Callable[[], None], call: Call
) -> None:
    """Run the trials of a study one after another, until none is waiting or running."""
    while True:
        on_fold()
        with exclusive_writes():  # trials of lost workers wait again: of ended processes at once, of others later
            for one in study.optuna.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                if is_lost(one):
                    with suppress(UpdateFinishedTrialError):
                        study.storage.set_trial_state_values(one._trial_id, TrialState.WAITING)
            optuna.storages.fail_stale_trials(study.optuna)  # this queues them again
        with take_trial(study) as trial:
            if trial is not None:
                do_trial(study, trial, folds, check, on_fold, call)
                continue
        now = study.progress
        if now.total == 0 and now.seconds_left:
            study.add_trials(1)
        elif any(trial.state in ("waiting", "running") for trial in study.trials):  # at another worker
            check()
            time.sleep(POLL_SECONDS)
        else:
            return


@contextmanager
def take_trial(study: Study) -> Iterator[optuna.Trial | None]:
    """Yield the first waiting trial, which now runs, or None; if the `with` block raises, it waits again.

    Heartbeats show other workers that this worker is alive, even while it is paused.
    """
    storage, over = study.storage, Event()
    for waiting in study.optuna.get_trials(deepcopy=False, states=(TrialState.WAITING,)):
        trial_id = waiting._trial_id
        if isinstance(storage, RDBStorage):  # a running trial without a heartbeat would never count as lost
            storage.record_heartbeat(trial_id)
        with suppress(UpdateFinishedTrialError), exclusive_writes():
            if storage.set_trial_state_values(trial_id, TrialState.RUNNING):
                storage.set_trial_user_attr(trial_id, WORKER, worker_name())
                break
    else:
        yield None
        return

    def send_heartbeats() -> None:
        while isinstance(storage, RDBStorage) and not over.wait(storage.get_heartbeat_interval()):
            with suppress(SQLAlchemyError, StorageInternalError):  # the next heartbeat may succeed
                storage.record_heartbeat(trial_id)

    thread = Thread(target=send_heartbeats, name="heartbeat of a trial", daemon=True)
    thread.start()
    try:
        yield optuna.Trial(study.optuna, trial_id)
    except BaseException:
        with suppress(UpdateFinishedTrialError):
            storage.set_trial_state_values(trial_id, TrialState.WAITING)
        raise
    finally:
        over.set()
        thread.join()


def do_trial(
    study: Study,
    trial: optuna.Trial,
    folds: Sequence[ValidationFold],
    check: Callable[..., None],
    on_fold: Callable[[], None],
    call: Call,
) -> None:
    """Score a trial fold by fold, and save whether it is complete, stopped early or failed."""

    def finish(state: TrialState, values: Sequence[float] | None = None) -> None:
        with suppress(UpdateFinishedTrialError, ValueError):  # it counted as lost, and another worker repeats it
            study.optuna.tell(trial, values, state, skip_if_finished=True)

    plan, goal = study.plan, study.plan.goal
    frozen = study.optuna.get_trials(deepcopy=False)[trial.number]
    own_number = number_of(frozen)
    is_preset = own_number == 0 or bool(frozen.system_attrs.get("fixed_params"))  # requested, so never stopped early
    may_stop = plan.way == "search" and not goal.has_front and not is_preset
    method = plan.method_of(suggest_values(study, trial, own_number))
    scores = list(read_folds(trial.user_attrs.get(FOLDS, [])))  # folds from an earlier attempt
    for number in range(len({one.fold for one in scores}), plan.folds):
        try:
            scores += [
                call(
                    score_fold,
                    replace(method, bits=bits),
                    fold.data,
                    fold.split,
                    number,
                    plan.protocols,
                    plan.distance,
                    check=check,
                )
                for fold in folds
                if fold.number == number
                for bits in plan.bits or (method.bits,)
            ]
        except InputError as error:
            trial.set_user_attr(PROBLEM, " ".join(error.problems))
            return finish(TrialState.FAIL)
        trial.set_user_attr(FOLDS, [asdict(one) for one in scores])
        on_fold()
        if may_stop and number < plan.folds - 1:  # early, if its mean is below the median up to this fold
            study.optuna.pruner = optuna.pruners.MedianPruner(n_startup_trials=MIN_COMPLETE)
            trial.report(goal.values(scores)[0], number)
            if trial.should_prune():
                return finish(TrialState.PRUNED)
    return finish(TrialState.COMPLETE, goal.values(scores))


def suggest_values(study: Study, trial: optuna.Trial, number: int) -> Mapping[str, float]:
    """Return a trial's parameters: planned, taken from an earlier attempt, or chosen now by Optuna.

    The choice depends on the number of the trial and on earlier trials, not on the worker.
    """
    seed = np.random.SeedSequence([study.plan.method.seed, number]).generate_state(1)[0]
    study.optuna.sampler = optuna.samplers.TPESampler(seed=int(seed))
    values = dict(study.plan.start) if number == 0 else {}  # trial 0 may lie outside the ranges
    for one in study.plan.ranges:
        if one.name not in values or values[one.name] in one:
            suggest: Callable[..., float] = trial.suggest_int if one.whole else trial.suggest_float
            values[one.name] = suggest(one.name, one.low, one.high, log=one.scale == "log")
    return values

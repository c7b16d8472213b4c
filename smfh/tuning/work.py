"""Do the trials that stand in line, beside any other program that does."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np
import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import TrialState

from smfh.jobs import Call, Cancelled, Course, here
from smfh.tuning.goals import PartScores
from smfh.tuning.plan import StudyPlan
from smfh.tuning.ranges import Range
from smfh.tuning.storage import beating, claim, errors_in_words, given_back, put_back_lost
from smfh.tuning.studies import Studies
from smfh.tuning.study import FINISHED, PARTS, PROBLEM, Study, Trial, best_of, read_parts, write_parts
from smfh.tuning.validation import ValidationSet, score_part, validation_sets
from smfh.types import InputError, OnStep

UNPRUNED = 5  # complete trials before any may be given up early
GLANCE = 1.0  # seconds between two looks at what other workers do
MINUTE = 60


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is."""

    done: int
    total: int  # 0 where minutes decide
    running: int  # by any worker
    best: Trial | None
    seconds: float  # of work so far, all workers together
    seconds_left: float | None  # of work; None where nothing was measured yet


def progress_of(study: Study) -> StudyProgress:
    """How far the study is, by all who work on it."""
    trials, plan = study.trials, study.plan
    spent = [(t.ended - t.started).total_seconds() for t in trials if t.started and t.ended]
    done = sum(trial.state in FINISHED for trial in trials)
    by_minutes = plan.way == "search" and plan.minutes > 0
    left: float | None = None
    if by_minutes:
        left = max(0.0, plan.minutes * MINUTE - sum(spent))
    elif spent:
        left = float(np.mean(spent)) * (len(trials) - done)
    return StudyProgress(
        done=done,
        total=0 if by_minutes else len(trials),
        running=sum(trial.state == "running" for trial in trials),
        best=best_of(trials, plan),
        seconds=sum(spent),
        seconds_left=left,
    )


def study_work(study: Study) -> Callable[[Course], StudyProgress]:
    """The study as work of a queue; it reports after every part of a trial, and gives way between trials."""

    def work(course: Course) -> StudyProgress:
        others = [Studies(study.key.address).open(study.name) for _ in range(course.at_once - 1)]
        return tune(study, course.report, course.check, course.give_way, course.call, others)

    return work


def tune(
    study: Study,
    on_progress: Callable[[StudyProgress], None] = lambda progress: None,
    check: Callable[..., None] = lambda *_: None,
    give_way: Callable[[], None] = lambda: None,
    call: Call = here,
    others: Sequence[Study] = (),
) -> StudyProgress:
    """Do trials until none is left here nor at work elsewhere; what `check` raises ends it, and the trial
    under way goes back into the line.

    `others` are the study opened again, for trials side by side; they halt between two when this one does.
    """
    going, stopped = Event(), Event()

    def on_part() -> None:
        going.clear()
        try:
            on_progress(progress_of(study))
            give_way()
        finally:
            going.set()

    def check_beside(*told: Any) -> None:
        check(*told)
        if stopped.is_set():
            raise Cancelled

    def wait_to_go() -> None:
        check_beside()
        while not going.wait(GLANCE):
            check_beside()

    study.check_current()
    with errors_in_words(study.key.address):
        sets = list(validation_sets(study.plan.sources, study.plan.folds, check=check))
        study.check_data([part.data.fingerprint for part in sets])
        with ThreadPoolExecutor(max(1, len(others))) as pool:
            beside = [pool.submit(do_trials, other, sets, check_beside, wait_to_go, call) for other in others]
            try:
                do_trials(study, sets, check, on_part, call)
                for future in beside:
                    future.result()
            except BaseException:
                stopped.set()
                raise
        return progress_of(study)


def do_trials(
    study: Study,
    sets: Sequence[ValidationSet],
    check: Callable[..., None],
    on_part: Callable[[], None],
    call: Call,
) -> None:
    """One trial after another, until none is left here nor at work elsewhere."""
    while True:
        on_part()
        put_back_lost(study.optuna, study.storage)
        if (trial := claim(study.optuna, study.storage)) is not None:
            do_trial(study, trial, sets, check, on_part, call)
        elif (now := progress_of(study)).total == 0 and now.seconds_left:
            study.add_trials(1)
        elif now.running:
            check()
            time.sleep(GLANCE)
        else:
            return


def do_trial(
    study: Study,
    trial: optuna.Trial,
    sets: Sequence[ValidationSet],
    check: OnStep,
    on_part: Callable[[], None],
    call: Call = here,
) -> None:
    """Score the trial fold by fold, unless it fails or is seen early to be a poor one."""
    goal, last = study.plan.goal, study.plan.folds - 1
    with beating(study.storage, trial), given_back(study.storage, trial):
        values = suggest(study, trial)
        parts = list(read_parts(trial.user_attrs.get(PARTS, [])))  # of an earlier, unfinished attempt
        for fold in range(len({part.fold for part in parts}), last + 1):
            try:
                own = [one for one in sets if one.fold == fold]
                parts += score_fold(study.plan, values, own, check, call)
            except InputError as error:
                trial.set_user_attr(PROBLEM, " ".join(error.problems))
                _tell(study, trial, TrialState.FAIL)
                return
            trial.set_user_attr(PARTS, write_parts(parts))
            on_part()
            if fold < last and _is_poor(study, trial, fold, goal.values(parts)):
                _tell(study, trial, TrialState.PRUNED)
                return
        _tell(study, trial, TrialState.COMPLETE, goal.values(parts))


def score_fold(
    plan: StudyPlan,
    values: Mapping[str, float],
    sets: Sequence[ValidationSet],
    check: OnStep,
    call: Call = here,
) -> list[PartScores]:
    """The scores on one part of every data set, with every code length."""
    method = plan.method_of(values)
    return [
        call(score_part, replace(method, bits=bits), part, plan.protocols, on_step=check)
        for part in sets
        for bits in plan.bits or (method.bits,)
    ]


def suggest(study: Study, trial: optuna.Trial) -> dict[str, float]:
    """The values of the trial: given with it, from an earlier attempt, or chosen now by what is known.

    What is chosen depends on the number of the trial and on the trials before it, not on who works.
    """
    seed = np.random.SeedSequence([study.plan.method.seed, trial.number]).generate_state(1)[0]
    study.optuna.sampler = optuna.samplers.TPESampler(seed=int(seed))
    given = study.plan.start if trial.number == 0 else {}  # which may lie outside
    inside = [one for one in study.plan.ranges if one.name not in given or given[one.name] in one]
    return given | {one.name: _suggest(trial, one) for one in inside}


def _suggest(trial: optuna.Trial, one: Range) -> float:
    log = one.scale == "log"
    if one.whole:
        return trial.suggest_int(one.name, int(one.low), int(one.high), log=log)
    return trial.suggest_float(one.name, one.low, one.high, log=log)


def _is_poor(study: Study, trial: optuna.Trial, fold: int, values: tuple[float, ...]) -> bool:
    """Whether the mean so far is below the median of others at the same fold."""
    if study.plan.goal.has_front or study.plan.way == "sweep":
        return False
    study.optuna.pruner = optuna.pruners.MedianPruner(n_startup_trials=UNPRUNED)
    trial.report(values[0], fold)
    return trial.number > 0 and trial.should_prune()


def _tell(
    study: Study, trial: optuna.Trial, state: TrialState, values: tuple[float, ...] | None = None
) -> None:
    try:
        study.optuna.tell(trial, values, state, skip_if_finished=True)
    except (UpdateFinishedTrialError, ValueError):
        """Another worker took this one for lost, and does it again."""

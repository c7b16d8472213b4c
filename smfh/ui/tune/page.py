"""The selected study with its charts and findings, and the table of all studies."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from smfh.experiments import tuning
from smfh.experiments.folds import CURVE_PLACES
from smfh.experiments.tuning import Studies, Study, StudyPlan, Trial
from smfh.experiments.tuning.plan import MAX_NAME_LENGTH
from smfh.plots import csv_of, harmless, trial_precision
from smfh.plots.chart import short_number
from smfh.plots.trials import NOTE
from smfh.types import InputError, parameters
from smfh.ui.charts import offer_file, show_chart
from smfh.ui.grids import RESULTS_SECONDS
from smfh.ui.plain import draw_problems, plain
from smfh.ui.settings import Settings
from smfh.ui.tune.charts import choose_overlay, dots_of, draw_filter, draw_main, draw_others, remembered, wall_trials
from smfh.ui.tune.state import (
    REFUSED,
    change,
    continue_study,
    current_request,
    draw_running,
    read_spans,
    start_study,
    study_job,
)
from smfh.ui.tune.trial import draw_by_eye, draw_held_out, draw_note, draw_selected, draw_walls, may_edit_study
from smfh.ui.visitor import NOT_OWNER

TABLE, NEW_NAME = "tune_table", "tune_rename_to"
TABLE_PIXELS, MAX_MARKED = 280, 6
MORE_POINTS, MORE_ROWS = 7, 5  # with both ends, which exist already; of one parameter, of each of two
MORE_TRIALS, MORE_MINUTES = 20, 5
TOP, MORE_FOLDS = 5, 10
SQLITE_MIME = "application/vnd.sqlite3"
EMPTY = (
    "Press Run: each trial trains with different parameters and is scored on validation folds of the training "
    "items. The held-out queries stay unused until you test the setting you have decided on."
)


def draw_open(studies: Studies, settings: Settings, plan: StudyPlan | None) -> None:
    """Draw the study in the link, else the saved one with this plan, else instructions to start one."""
    name = current_request().study
    if not name and plan is not None and (found := studies.find(plan)) is not None:
        name = found.name
    if not name:
        st.info(EMPTY, icon=":material/tune:")
        return
    try:
        study = studies.open(name)
    except InputError as error:
        draw_problems("The study cannot be opened:", error.problems, st.warning)
        return
    with st.container(key="study_title"):
        st.text(study.name, help=f"Goal: {study.plan.goal.words}.")
        if note := study.note:
            st.caption(plain(note))
        if study.is_shipped:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(
                    "This study was computed for this version of the program and is shipped with it.", width="content"
                )
                again = replace(study.plan, name=f"{study.name}, here"[:MAX_NAME_LENGTH])
                args, icon = (again, True), ":material/replay:"
                st.button("Run again here", "tune_again", None, start_study, args, type="tertiary", icon=icon)
    is_running = draw_running(study)

    @st.fragment(run_every=RESULTS_SECONDS if is_running else None)
    def refresh() -> None:
        try:
            draw_study(studies, study, settings)
        except InputError as error:
            draw_problems("The study cannot be read now:", error.problems, st.warning)

    refresh()
    _draw_study_actions(studies, study)


def draw_study(studies: Studies, study: Study, settings: Settings) -> None:
    """Draw the charts, the findings, the selected trial and the table of trials of a study."""
    trials = study.trials
    dots, label = dots_of(study, trials), study.plan.goal.title
    scored = {trial.number: trial for trial in trials if trial.folds and trial.values}
    selected = scored.get(-1 if (requested := current_request().trial) is None else requested) or study.best
    number = None if selected is None else selected.number
    walls = st.container()
    left, right = st.columns([3, 2], gap="large")
    with left:
        place = st.container()  # for the chart, which depends on the controls below it
        if dots:
            draw_refining(study, trials)
        kept, others = draw_filter(dots, label), choose_overlay(studies, study)
        with place:
            if dots:
                draw_main(study, kept, number, others)
            else:
                st.caption(NOTE)
    with right:
        tested = tuning.confirmations(study)
        for line in remembered(study, trials, ("summary", tuple(tested)), lambda: tuning.summarise(study).lines):
            if line not in (tested[number].lines if number in tested else ()):
                st.text(line)
        if selected is not None:
            draw_selected(study, trials, selected, settings)
    if selected is not None:
        draw_held_out(study, selected)
        st.markdown("#### All trials")
        marked = draw_trials(study, trials)
        with walls:
            draw_walls(study, marked or wall_trials(study, trials, selected))
        curves = {}
        for one in marked:
            lengths = {len(fold.precision) for fold in one.folds}
            if len(lengths) == 1 and lengths != {0}:  # older studies have none
                name = f"trial {one.number}: {tuning.setting_in_words(study, one)}"
                curves[name] = np.mean([fold.precision for fold in one.folds], axis=0)
        if curves:
            show_chart(trial_precision(curves, CURVE_PLACES), "tune_precision")
        if draw_by_eye(study, trials) and may_edit_study(study):
            extend(study, partial(tuning.add_suggested, study))
            st.rerun()  # the whole page, because the study runs now
        draw_others(study, kept, number)


def draw_trials(study: Study, trials: Sequence[Trial]) -> list[Trial]:
    """Draw a table of all trials; return the trials whose rows the visitor has marked."""
    symbols = {name: one.symbol for name, one in parameters(study.plan.method).items()}
    rows = [
        {
            symbols.get(name, name): harmless(x) if isinstance(x, str) else x
            for name, x in row.items()
            if name != "study"
        }
        for row in tuning.trial_rows(study)
    ]
    number = st.column_config.NumberColumn(format="%.3f")
    floats = {name for row in rows for name, value in row.items() if isinstance(value, float)}
    look = dict.fromkeys(floats - set(symbols.values()), number)
    event: Any = st.dataframe(
        rows,
        hide_index=True,
        height=TABLE_PIXELS,
        key=f"tune_trials_{study.name}",
        on_select="rerun",
        selection_mode="multi-row",
        column_config=look,
        placeholder="–",
        alt="All trials with their parameters, scores and times",
    )
    by_eye = (
        " The column “by eye” is the rank learnt from choices between results."
        if any("by eye" in row for row in rows)
        else ""
    )
    st.caption(f"Mark up to {MAX_MARKED} rows to compare their results and their precision at K.{by_eye}")
    return [trials[row] for row in event["selection"]["rows"][:MAX_MARKED] if row < len(trials)]


def draw_refining(study: Study, trials: Sequence[Trial]) -> None:
    """Draw buttons that extend a study: more points, more trials, or more folds for the best trials."""
    plan, best, running = study.plan, study.best, study_job(study)
    if best is None or (running is not None and not running.over) or not study.is_current:
        return
    order: Callable[[], object] | None = None
    with st.container(horizontal=True, gap="small", key="tune_refine"):
        if plan.way == "search":
            label = f"{MORE_MINUTES} more minutes" if plan.minutes else f"{MORE_TRIALS} more trials"
            budget = (0, plan.minutes + MORE_MINUTES) if plan.minutes else (len(trials) + MORE_TRIALS, 0.0)
            if st.button(label, "tune_more"):
                order = partial(extend, study, partial(study.set_budget, *budget))
        elif not plan.listed:
            spans, filtered = dict[str, tuple[float, float]](), read_spans(current_request().within)
            for name in (one.name for one in plan.ranges):
                values = sorted({trial.parameters[name] for trial in trials if name in trial.parameters})
                at = values.index(best.parameters[name])
                low, high = values[max(at - 1, 0)], values[min(at + 1, len(values) - 1)]
                if (span := filtered.get(parameters(plan.method)[name].symbol)) is not None:
                    low, high = max(span[0], values[0]), min(span[1], values[-1])
                spans[name] = low, high
            ends = " × ".join(f"{short_number(low)} to {short_number(high)}" for low, high in spans.values())
            about = "Adds points around the best values, or in the range of the filter below."
            if st.button(f"More points from {ends}", "tune_more", about):
                count = MORE_POINTS if len(spans) == 1 else MORE_ROWS
                order = partial(extend, study, partial(study.add_points, spans, count))
        if plan.folds < MORE_FOLDS and len(trials) > TOP:
            about = f"Creates a study of the best {TOP} settings and the starting settings, with {MORE_FOLDS} folds."
            if st.button(f"Re-run the best {TOP} with {MORE_FOLDS} folds", "tune_finer", about):
                complete = [trial for trial in trials if trial.state == "complete" and not trial.is_start]
                top = sorted(complete, key=lambda trial: -plan.goal.worth(trial.values))[:TOP]
                listed = tuple(tuple(trial.parameters[one.name] for one in plan.ranges) for trial in top)
                name = f"Best {TOP} of {study.name}"[:MAX_NAME_LENGTH]
                finer = replace(plan, name=name, way="sweep", folds=MORE_FOLDS, listed=listed)
                order = partial(start_study, finer, False)
    if order is not None:
        order()
        st.rerun()  # the whole page, because the study runs now


def extend(study: Study, change_plan: Callable[[], object]) -> None:
    """Add points, trials or minutes to a study and continue it."""
    try:
        change_plan()
    except InputError as error:
        st.session_state[REFUSED] = error.problems
    else:
        continue_study(study)


def _draw_study_actions(studies: Studies, study: Study) -> None:
    """Draw buttons to export, rename and delete the study, and the command that continues it."""
    is_running = (job := study_job(study)) is not None and not job.over
    with st.container(horizontal=True, key="tune_study_orders", gap="small"):
        make_csv, label, mime = lambda: csv_of(tuning.trial_rows(study)), "Export trials (CSV)", "text/csv"
        offer_file(label, make_csv, "trials.csv", mime, "tune_trials.csv")
        make_file, label, mime = partial(tuning.study_file, study), "Export for Optuna dashboard", SQLITE_MIME
        offer_file(label, make_file, "study.db", mime, "tune_study.db")
        if may_edit_study(study):
            with st.popover("Note", icon=":material/edit_note:"):
                draw_note(study)
            with st.popover("Rename", icon=":material/edit:"), st.form("tune_naming", border=False):
                st.session_state.setdefault(NEW_NAME, study.name)
                st.text_input("Name", key=NEW_NAME, max_chars=MAX_NAME_LENGTH)
                args = (studies, study.name, False)
                st.form_submit_button("Save name", on_click=_edit, args=args, key="tune_rename")
            with st.popover("Delete", icon=":material/delete:"):
                st.markdown("Delete this study with all its trials for everyone?")
                args, label = (studies, study.name, True), "Delete study"
                st.button(label, "tune_delete", None, _edit, args, type="primary", disabled=is_running)
        if studies.upload is None:
            with st.popover("Continue in a terminal", icon=":material/terminal:"):
                st.caption("Several processes can work on this study; all their trials appear here.")
                command = shlex.join(["python", "-m", "smfh", "tune", "--study", study.name])
                st.code(command, language=None, wrap_lines=True)


def _edit(studies: Studies, name: str, is_deleted: bool) -> None:
    """Rename or delete a study (callback), after checking again that the visitor is allowed to."""
    try:
        if not may_edit_study(studies.open(name)):
            raise InputError(NOT_OWNER)
        if is_deleted:
            studies.delete(name)
            change(study="", trial=None, within=())
        else:
            change(study=studies.rename(name, st.session_state[NEW_NAME]).name)
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def draw_studies(studies: Studies) -> None:
    """Draw a table of all studies, newest first; a click on a row opens the study."""
    if not (records := studies.records()):
        return
    st.markdown("#### All studies")
    key = f"{TABLE}_{current_request().study}"  # a new key for each open study clears the selected row

    def open_selected() -> None:
        if rows := st.session_state[key]["selection"]["rows"]:
            change(study=records[rows[0]].name, trial=None, within=())

    rows = list[dict[str, object]]()
    for record in records:
        plan, progress = record.plan, record.progress
        if plan is None or progress is None:
            rows.append({"study": harmless(record.name), "type": harmless(record.problem)})
            continue
        about = parameters(plan.method)
        rows.append(
            {
                "study": harmless(record.name),
                "type": f"{plan.way} of {', '.join(about[one.name].symbol for one in plan.ranges)}",
                "method": plan.method.title,
                "data": ", ".join(source.card.title for source in plan.sources),
                "trials": f"{progress.done} of {record.trials}",
                "best": plan.goal.worth(progress.best.values) if progress.best else None,
                "goal": plan.goal.title,
                "seconds": progress.seconds,
                "began (UTC)": progress.began,
            }
        )
    st.dataframe(
        rows,
        hide_index=True,
        key=key,
        on_select=open_selected,
        selection_mode="single-row",
        column_config={
            "best": st.column_config.NumberColumn(format="%.3f"),
            "began (UTC)": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
            "seconds": st.column_config.NumberColumn(format="%.1f"),
        },
        alt="All studies with their best values",
    )

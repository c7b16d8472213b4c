"""All studies: open one, set several beside each other, rename, delete, take along."""

import shlex
from collections.abc import Sequence

import streamlit as st

from smfh.plots import best_so_far, csv_of, harmless
from smfh.tuning import Studies, Study, StudyRecord, study_file, trial_rows
from smfh.tuning.plan import LONGEST_NAME
from smfh.types import InputError, parameters
from smfh.ui.charts import show_chart
from smfh.ui.rights import OTHERS, may_change
from smfh.ui.session import visitor
from smfh.ui.tune.running import REFUSED, study_job
from smfh.ui.tune.wanted import change, current_wanted

TABLE, FIELD, BESIDE = "tune_table", "tune_rename_to", "tune_beside"
JOIN = ("python", "-m", "smfh", "tune", "--study")


def draw_studies(studies: Studies) -> None:
    """The newest first, each with its best value; a click opens one."""
    records = studies.records()
    if not records:
        return
    st.markdown("#### All studies")
    key = f"{TABLE}_{current_wanted().study}"  # where another is open, no row is chosen

    def choose() -> None:
        if rows := st.session_state[key]["selection"]["rows"]:
            change(study=records[rows[0]].name, trial=None, within=())

    st.dataframe(
        [row_of(record) for record in records],
        hide_index=True,
        key=key,
        on_select=choose,
        selection_mode="single-row",
        column_config={
            "best": st.column_config.NumberColumn(format="%.3f"),
            "begun (UTC)": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
            "seconds": st.column_config.NumberColumn(format="%.1f"),
        },
        alt="All studies with their best values",
    )
    _draw_beside(studies, records)


def row_of(record: StudyRecord) -> dict[str, object]:
    """What the table says of a study."""
    plan = record.plan
    if plan is None:
        return {"study": harmless(record.name), "what": harmless(record.problem)}
    about = parameters(plan.method)
    tuned = ", ".join(about[one.name].symbol for one in plan.ranges)
    return {
        "study": harmless(record.name),
        "what": f"{plan.way} of {tuned}",
        "method": plan.method.title,
        "data": ", ".join(source.card.title for source in plan.sources),
        "trials": f"{record.done} of {record.total}",
        "best": record.best.values[0] if record.best else None,
        "goal": plan.goal.titles[0],
        "seconds": record.seconds,
        "begun (UTC)": record.begun,
    }


def _draw_beside(studies: Studies, records: Sequence[StudyRecord]) -> None:
    """The best so far of several studies in one chart."""
    names = [record.name for record in records if record.plan is not None]
    if len(names) < 2:
        return
    st.session_state[BESIDE] = [name for name in st.session_state.get(BESIDE, []) if name in names]
    chosen = st.multiselect("Set studies beside each other", names, key=BESIDE, placeholder="Two or more")
    if len(chosen) < 2:
        return
    opened = [studies.open(name) for name in chosen]
    goals = {study.plan.goal.titles[0] for study in opened}
    histories = {
        study.name: [trial.values[0] for trial in study.trials if trial.state == "complete"]
        for study in opened
    }
    show_chart(best_so_far(histories, goals.pop() if len(goals) == 1 else "score"), "tune_beside")
    if goals:
        st.caption("These studies have different goals: their scores are not the same thing.")


def draw_study_orders(studies: Studies, study: Study) -> None:
    """What can be done with the open study as a whole."""
    at_work = (job := study_job(study)) is not None and not job.over
    with st.container(horizontal=True, key="tune_study_orders", gap="small"):
        for label, file, mime, make in (
            ("Trials (CSV)", "trials.csv", "text/csv", lambda: csv_of(trial_rows(study))),
            ("For Optuna's dashboard", "study.db", "application/vnd.sqlite3", lambda: study_file(study)),
        ):
            icon, key = ":material/download:", f"tune_{file}"
            st.download_button(label, make, file, mime, key, icon=icon, on_click="ignore")
        if _may_change(studies, study):
            _draw_changes(studies, study, at_work)
        if studies.own is None:
            with st.popover("Work on it from a terminal", icon=":material/terminal:"):
                st.caption("Any number of programs can join in; the page sees their trials arrive.")
                st.code(shlex.join([*JOIN, study.name]), language=None, wrap_lines=True)


def _may_change(studies: Studies, study: Study) -> bool:
    """Own data's studies are with their visitor alone."""
    return studies.own is not None or may_change(study.maker, visitor())


def _draw_changes(studies: Studies, study: Study, at_work: bool) -> None:
    with st.popover("Rename", icon=":material/edit:"), st.form("tune_naming", border=False):
        st.session_state.setdefault(FIELD, study.name)
        st.text_input("Name", key=FIELD, max_chars=LONGEST_NAME)
        st.form_submit_button(
            "Save the name", on_click=_rename, args=(studies, study.name), key="tune_rename"
        )
    with st.popover("Delete", icon=":material/delete:"):
        st.markdown("Delete this study with all its trials, for everybody?")
        st.button(
            "Yes, delete it",
            type="primary",
            key="tune_delete",
            on_click=_delete,
            args=(studies, study.name),
            disabled=at_work,
        )


def _rename(studies: Studies, name: str) -> None:
    try:
        _check_right(studies, name)
        change(study=studies.rename(name, st.session_state[FIELD]).name)
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def _check_right(studies: Studies, name: str) -> None:
    """The page may have been drawn when another had this name."""
    if not _may_change(studies, studies.open(name)):
        raise InputError(OTHERS)


def _delete(studies: Studies, name: str) -> None:
    try:
        _check_right(studies, name)
        studies.delete(name)
        change(study="", trial=None, within=())
    except InputError as error:
        st.session_state[REFUSED] = error.problems

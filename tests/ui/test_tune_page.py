"""The Tune page in AppTest: sweep, search, links, filter, selected trial, stop and continue, uploads."""

import base64
import json
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import app_pages
import numpy as np
import pytest
from app_pages import make_page, texts, until
from streamlit.testing.v1 import AppTest

from smfh.datasets import DATASETS, Planted
from smfh.datasets.user_data import UserDataset
from smfh.experiments.tuning import Goal, Range, Studies, StudyPlan, default_name, default_range, read_choices, tune
from smfh.experiments.tuning.study import SHIPPED, WORKER
from smfh.experiments.tuning.trials import take_trial
from smfh.files.atomic import MACHINE
from smfh.hashing import METHODS, SMFH
from smfh.plots import TrialDot
from smfh.runs import RunStore
from smfh.types import InputError
from smfh.ui import server
from smfh.ui.server import add_upload, forget, job_queue, upload_of
from smfh.ui.tune.charts import inside
from smfh.ui.tune.form import estimate
from smfh.ui.tune.state import REQUEST, StudyRequest, find_or_create, read_spans
from smfh.ui.visitor import PrivateKey, owner_id

pytestmark = pytest.mark.slow
open_page = partial(app_pages.open_page, "pages/4_Tune.py")
METHOD = SMFH(bits=8, iterations=3)
SMALL = {"data": "planted", "data.items": "90", "method": "smfh", "bits": "8", "iterations": "3"}
SHORT = {"tune.ranges": "graph_weight=0.1:10:3", "tune.parts": "2"}
ALPHA, RIDGE = Range("graph_weight", 0.1, 10, "log", points=3), Range("ridge", 1e-4, 1, "log", points=2)


def has(page: AppTest, key: str) -> bool:
    return any(found.key == key for found in page.button)


def until_over(page: AppTest) -> AppTest:
    """Until nobody is at work and nothing is left to do."""
    return until(page, lambda: not has(page, "tune_job_cancel") and not has(page, "tune_resume"))


def is_tested(page: AppTest) -> bool:
    return not has(page, "confirmation_run") and not has(page, "confirmation_cancel")


def drawn(page: AppTest) -> list[dict[str, Any]]:
    return [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]


def carried(figure: dict[str, Any]) -> set[int]:
    """The trials that can be clicked in a figure."""
    found: set[int] = set()
    for trace in figure["data"]:
        data = trace.get("customdata", [])
        if isinstance(data, dict):  # how Plotly writes arrays
            data = np.frombuffer(base64.b64decode(data["bdata"]), data["dtype"])
        found |= {int(one) for one in np.ravel(data).tolist() if isinstance(one, int | float)}
    return found


def make_study(name: str, **others: Any) -> str:
    """A finished study in the storage that the page reads."""
    default = {"sources": (Planted(items=90),), "method": METHOD, "ranges": (ALPHA,), "way": "sweep"}
    tune(Studies().join(StudyPlan(name, **(default | {"folds": 2} | others))))
    return name


@pytest.fixture(scope="module")
def swept() -> str:
    return make_study("α of a test")


@pytest.fixture(scope="module")
def searched() -> str:
    return make_study("a search", ranges=(ALPHA, RIDGE), way="search", trials=12, folds=1)


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_can_be_tuned_or_explains_what_is_missing(name):
    options = {"data.items": "300"} if name in ("synthetic", "planted") else {}
    page = open_page(data=name, seed="7", **options)  # no study of this seed is saved
    if DATASETS[name]().missing():
        assert DATASETS[name].card.title in page.info[0].value
    else:
        assert page.button(key="tune_run").label.startswith("Run 9 trials")
        assert "The held-out queries stay unused" in page.info[0].value
    assert not page.run().exception


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_offered_sweeps_of_their_parameters(name):
    page = open_page(data="planted", method=name)
    assert has(page, "tune_run")
    offered = page.get("button_group")
    sweeps = next(group for group in offered if group.proto.label == "Sweep over") if offered else None
    has_alpha = "graph_weight" in METHODS[name]().get_params()
    assert ("α" in str(sweeps.proto if sweeps else "")) == has_alpha
    assert not page.run().exception


def test_a_sweep_of_two_parameters_is_a_map():
    bits = Range("bits", 8, 16, "log", whole=True, points=2)
    name = make_study("bits × α of a test", ranges=(bits, ALPHA), folds=1)
    page = open_page(**SMALL, **{"tune.study": name})
    heat = drawn(page)[0]["data"][0]
    assert heat["type"] == "heatmap"
    assert carried(drawn(page)[0]) == set(range(1, 7))  # the start's α is none of the three
    assert not page.run().exception


def test_a_sweep_runs_once_in_the_background():
    seed = str(time.time_ns() % 2**31)
    page = open_page(**SMALL, **SHORT, **{"data.data_seed": seed})
    assert page.button(key="tune_run").label.startswith("Run 4 trials")
    page.button(key="tune_run").click().run()
    until_over(page)
    assert "4 complete trials on 2 validation folds" in texts(page)
    name = page.query_params["tune.study"]
    assert len(page.get("plotly_chart")) == 1
    assert not page.run().exception
    before = Studies().names()
    page.button(key="tune_run").click().run()
    assert page.query_params["tune.study"] == name
    assert "already finished" in page.toast[0].value
    assert Studies().names() == before


def test_a_link_opens_the_study_with_its_trial_and_its_filter(swept):
    link = {"tune.study": swept, "tune.trial": "1", "tune.within": "α=-inf:2"}
    page = open_page(**SMALL, **link)
    assert page.selectbox(key="tune_trial").value == 1
    clickable = [carried(figure) for figure in drawn(page)]
    assert clickable == [{0, 1, 2}]  # trial 3 has α 10
    assert any("3 of 4 trials" in caption.value for caption in page.caption)
    assert all("trial 1, selected" in json.dumps(figure) for figure in drawn(page))
    page.button(key="tune_filter_off").click().run()
    assert [carried(figure) for figure in drawn(page)] == [{0, 1, 2, 3}]
    assert "tune.within" not in page.query_params


def test_the_filter_is_part_of_the_link(swept):
    page = open_page(**SMALL, **{"tune.study": swept})
    slider = next(found for found in page.select_slider if found.label == "α")
    slider.set_range(1.0, 10.0).run()
    assert not page.exception
    assert read_spans([page.query_params["tune.within"]]) == {"α": (1.0, float("inf"))}
    assert [carried(figure) for figure in drawn(page)] == [{0, 2, 3}]
    assert not page.run().exception


def test_a_trial_is_applied_to_the_sidebar_and_opens_in_explore(swept):
    page = open_page(**SMALL, **{"tune.study": swept, "tune.trial": "3"})
    page.button(key="tune_use").click().run()
    assert page.query_params["graph_weight"] == "10.0"
    assert page.select_slider(key="control_smfh_graph_weight").value == 10.0
    assert page.button(key="tune_use").disabled
    assert any("--graph-weight 10.0" in code.value for code in page.code)
    page.button(key="tune_open").click().run()
    assert not page.exception
    assert page.title[0].value == "Explore"


def test_all_charts_of_a_search_show_the_same_trials(searched):
    page = open_page(**SMALL, **{"tune.way": "search", "tune.study": searched, "tune.trial": "2"})
    history, importance, slices, densities, contour, lines, front = drawn(page)
    everything = set(range(12))
    assert carried(history) == carried(slices) == carried(contour) == everything
    assert carried(lines) == carried(front) == everything  # one part: nothing is given up early
    assert not carried(importance)
    assert not carried(densities)
    assert "Best balanced score" in texts(page)
    assert not page.run().exception


@pytest.mark.parametrize("over", ["directions", "seconds", "first"])
def test_every_goal_has_charts_and_findings(over):
    link = {"tune.way": "search", "tune.tuned": "graph_weight,ridge", "tune.trials": "4", "tune.parts": "1"}
    seed = str(time.time_ns() % 2**31)
    page = open_page(**SMALL, **link, **{"tune.over": over, "data.data_seed": seed})
    page.button(key="tune_run").click().run()
    until_over(page)
    assert len(drawn(page)) == 6
    assert "on the Pareto front" in texts(page)
    assert page.query_params["tune.over"] == over
    assert not page.run().exception


def test_a_stopped_study_continues():
    seed = str(time.time_ns() % 2**31)
    long = {"tune.ranges": "graph_weight=0.1:10:16", "tune.parts": "2"}
    page = open_page(**SMALL, **long, **{"data.data_seed": seed})
    page.button(key="tune_run").click().run()
    page.button(key="tune_job_pause").click().run()
    page.button(key="tune_job_cancel").click().run()
    until(page, lambda: has(page, "tune_resume"))
    other = open_page(**SMALL, **long, **{"data.data_seed": seed, "tune.study": page.query_params["tune.study"]})
    assert other.button(key="tune_resume").label == "Continue"
    other.button(key="tune_resume").click().run()
    until_over(other)
    assert "17 complete trials" in texts(other)


def test_drawing_the_page_does_not_write_to_the_database():
    """The page once gave back the trials of lost workers while it was drawn."""
    name = "left by a lost worker"
    study = Studies().create(StudyPlan(name, (Planted(items=90),), METHOD, (ALPHA,), "sweep", folds=1))
    with take_trial(study):
        with study.storage.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE trial_heartbeats SET heartbeat = '2000-01-01 00:00:00'")
        with closing(sqlite3.connect(str(study.storage.engine.url.database))) as observer:
            before = observer.execute("PRAGMA data_version").fetchone()
            page = open_page(**SMALL, **{"tune.study": name})
            assert page.button(key="tune_resume").label == "Continue"
            assert "Interrupted after 0 of 4 trials" in texts(page)
            assert observer.execute("PRAGMA data_version").fetchone() == before
    page.button(key="tune_resume").click().run()
    until_over(page)
    assert "4 complete trials" in texts(page)


def test_other_viewers_see_the_progress_and_cannot_stop_it():
    seed = str(time.time_ns() % 2**31)
    query = {**SMALL, "tune.ranges": "graph_weight=0.1:10:60", "tune.parts": "5", "data.data_seed": seed}
    first = open_page(**query)
    first.button(key="tune_run").click().run()
    first.button(key="tune_job_pause").click().run()
    second = open_page(**query, **{"tune.study": first.query_params["tune.study"]})
    assert "of 61 trials" in second.get("progress")[0].proto.text
    second.button(key="tune_job_cancel").click().run()
    assert "other people are viewing" in second.toast[0].value
    assert first.button(key="tune_run").disabled  # one study at a time
    first.button(key="tune_job_cancel").click().run()
    until(first, lambda: has(first, "tune_resume"))


def test_invalid_ranges_are_explained_and_nothing_runs():
    page = open_page(**SMALL, **{"tune.ranges": "graph_weight=10:1:3"})
    assert "needs a range from low to high" in texts(page)
    assert not has(page, "tune_run")
    page = open_page(**SMALL, **{"tune.ranges": "graph_weight=1:1e9:3"})
    assert "must be a number from 0 to 1e+06" in texts(page)
    page = open_page(**SMALL, **{"tune.way": "search", "tune.tuned": "anchors,ridge"})
    assert "SMFH has no tunable parameter 'anchors'; choose from" in texts(page)
    assert not page.run().exception


def test_only_the_owner_can_rename_and_delete_under_the_owner_policy(monkeypatch):
    monkeypatch.setenv("SMFH_EDIT_POLICY", "owner")
    ann, name = secrets.token_hex(16), f"ann's {secrets.token_hex(4)}"
    plan = Studies().open(make_study("nobody's")).plan
    Studies().create(replace(plan, name=name), owner_id(ann))

    def orders(visitor, study):
        page = open_page(**SMALL, **{"tune.study": study}, visitor=visitor)
        return page, {button.key for button in page.button} & {"tune_rename", "tune_delete"}

    for visitor, study in (("bob" * 10, name), (ann, "nobody's")):
        assert orders(visitor, study)[1] == set()
    page, there = orders(ann, name)
    assert there == {"tune_rename", "tune_delete"}
    page.button(key="tune_delete").click().run()
    assert name not in Studies().names()
    monkeypatch.setenv("SMFH_EDIT_POLICY", "anyone")
    assert orders("bob" * 10, "nobody's")[1] == {"tune_rename", "tune_delete"}


def test_names_are_plain_text_and_studies_can_be_renamed_and_deleted():
    name = make_study("**bold** <b>x</b> :smile:")
    page = open_page(**SMALL, **{"tune.study": name})
    assert name in [element.value for element in page.text]
    assert not any(name in element.value for element in page.markdown)
    page.text_input(key="tune_rename_to").set_value("plain")
    page.button(key="tune_rename").click().run()
    assert page.query_params["tune.study"] == "plain"
    page.button(key="tune_delete").click().run()
    assert not page.exception
    assert not {"plain", name} & set(Studies().names())
    assert "tune.study" not in page.query_params


def test_studies_are_listed_and_compared(swept, searched):
    page = open_page(**SMALL)
    listed = page.dataframe[-1].value
    assert {swept, searched} <= set(listed["study"])
    assert listed.set_index("study").loc[swept, "trials"] == "4 of 4"


def test_a_study_that_another_program_works_on_says_so():
    name = "of another program"
    study = Studies().create(StudyPlan(name, (Planted(items=90),), METHOD, (ALPHA,), "sweep", folds=1))
    with take_trial(study):
        assert "Another process is working on this study: 0 of 4 trials" in texts(
            open_page(**SMALL, **{"tune.study": name})
        )
        trial_id = study.storage.get_trial_id_from_study_id_trial_number(study.optuna._study_id, 0)
        ended = f"{MACHINE} {2**22 + 1} gone"  # no process has such an id
        study.storage.set_trial_user_attr(trial_id, WORKER, ended)
        page = open_page(**SMALL, **{"tune.study": name})
        assert "Interrupted after 0 of 4 trials" in texts(page)
        page.button(key="tune_resume").click().run()
        until_over(page)  # at once, although the last heartbeat is recent
    assert "4 complete trials" in texts(page)


def test_notes_on_a_study_and_a_trial(swept):
    page = open_page(**SMALL, **{"tune.study": swept, "tune.trial": "1"})
    for label, text in (("Note on this study", "*of* interest"), ("Note on trial 1", "too low")):
        next(one for one in page.text_input if one.label == label).set_value(text).run()
    assert not page.exception
    again = Studies().open(swept)
    assert (again.note, again.trials[1].note) == ("*of* interest", "too low")
    page = open_page(**SMALL, **{"tune.study": swept, "tune.trial": "1"})
    assert next(one for one in page.text_input if one.label == "Note on trial 1").value == "too low"


def test_two_tests_on_held_out_queries_are_counted():
    name = make_study("two tests")
    for count, trial in ((1, "1"), (2, "3")):
        page = open_page(**SMALL, **{"tune.study": name, "tune.trial": trial})
        assert f"({['1st', '2nd'][count - 1]} test of this study)" in page.button(key="confirmation_run").label
        page.button(key="confirmation_run").click().run()
        until(page, partial(is_tested, page))
        log = page.dataframe[0].value  # above the table of trials
        assert log["test"].unique().tolist() == ["1st", "2nd"][:count]
    assert log["trial"].str.split(":").str[0].unique().tolist() == ["1", "3"]
    assert "Bonferroni" in "".join(one.value for one in page.caption)


def test_a_sweep_from_the_sidebar_starts_at_once():
    seed = str(time.time_ns() % 2**31)
    page = open_page(**SMALL, **{"data.data_seed": seed, "tune.ranges": SHORT["tune.ranges"]})
    page.button(key="sweep_projection_weight").click().run()
    assert not page.exception
    assert page.query_params["tune.sweep"] == "μ"
    assert "tune.ranges" not in page.query_params  # of another parameter
    until_over(page)
    (one,) = Studies().open(page.query_params["tune.study"]).plan.ranges
    assert one == default_range(METHOD, "projection_weight")
    assert "Highest balanced score at μ" in texts(page)
    explore = app_pages.open_page("streamlit_app.py", **SMALL, **{"data.data_seed": seed})
    explore.button(key="sweep_projection_weight").click().run()
    assert explore.title[0].value == "Tune"
    assert explore.query_params["tune.study"] == page.query_params["tune.study"]  # opened, not repeated


def test_ranges_follow_the_method():
    page = open_page(**SMALL, **SHORT)
    assert page.number_input(key="tune_smfh_graph_weight_to").value == 10
    page.selectbox(key="control_method").set_value("smfh-plus").run()
    usual = default_range(METHODS["smfh-plus"](), "graph_weight")
    assert page.number_input(key="tune_smfh-plus_graph_weight_to").value == usual.high
    assert "tune.ranges" not in page.query_params


def test_a_finished_sweep_gets_more_points_and_more_folds():
    name = make_study("to refine")
    page = open_page(**SMALL, **{"tune.study": name, "tune.within": "α=1:10"})
    assert page.button(key="tune_more").label == "More points from 1 to 10"
    page.button(key="tune_more").click().run()
    until_over(page)
    study = Studies().open(name)
    assert len(study.trials) == 9
    assert study.progress.is_done
    assert [trial.parameters["graph_weight"] for trial in study.trials[4:]] == [1.47, 2.15, 3.16, 4.64, 6.81]
    page.button(key="tune_finer").click().run()
    until_over(page)
    finer = Studies().open(page.query_params["tune.study"])
    assert finer.name == "Best 5 of to refine"
    assert len(finer.trials) == 6
    assert {len(trial.by_fold(finer.plan.goal)) for trial in finer.trials} == {10}
    ranked = sorted(study.trials[1:], key=lambda trial: -trial.values[0])
    assert {trial.parameters["graph_weight"] for trial in finer.trials[1:]} == {
        trial.parameters["graph_weight"] for trial in ranked[:5]
    }
    assert not page.run().exception


def test_a_finished_search_gets_more_trials():
    name = make_study("search to extend", ranges=(ALPHA, RIDGE), way="search", trials=3, folds=1)
    page = open_page(**SMALL, **{"tune.study": name})
    page.button(key="tune_more").click().run()
    until_over(page)
    study = Studies().open(name)
    assert study.progress.done == 23
    study.optuna.enqueue_trial({"graph_weight": 1.0, "ridge": 0.01})  # as a suggestion by eye does
    tune(study)
    page = open_page(**SMALL, **{"tune.study": name})
    page.button(key="tune_more").click().run()
    until_over(page)
    assert Studies().open(name).progress.done == 24 + 20


def test_a_finished_map_gets_more_points_around_the_best_pair():
    name = make_study("map to refine", ranges=(ALPHA, RIDGE), folds=1)
    page = open_page(**SMALL, **{"tune.study": name})
    assert " × " in page.button(key="tune_more").label
    page.button(key="tune_more").click().run()
    until_over(page)
    study = Studies().open(name)
    assert study.progress.is_done
    assert len(study.trials) > 7
    best, known = study.trials[:7], {tuple(one.parameters.values()) for one in study.trials}
    assert len(known) == len(study.trials)  # no pair is tried twice
    chosen = max(best, key=lambda trial: trial.values[0]).parameters["graph_weight"]
    assert all(chosen / 10 <= one.parameters["graph_weight"] <= chosen * 10 for one in study.trials[7:])
    assert not page.run().exception


def test_a_goal_of_two_directions_has_one_best_trial():
    goal = Goal("full", "directions")
    name = make_study("both directions", ranges=(ALPHA, RIDGE), way="search", trials=10, folds=1, goal=goal)
    study = Studies().open(name)
    worth = {trial.number: np.mean(trial.values) for trial in study.trials}
    assert study.best.number == max(worth, key=worth.__getitem__)
    page = open_page(**SMALL, **{"tune.study": name})
    assert f"in trial {study.best.number}" in texts(page)  # the title of the history
    stars = [
        trace["customdata"]
        for chart in drawn(page)
        for trace in chart["data"]
        if trace.get("name") == "best trial" and "customdata" in trace
    ]
    assert len(stars) >= 4
    assert {number for star in stars for number in np.ravel(star).tolist()} == {study.best.number}


def test_the_estimated_time_follows_earlier_trials_and_needs_none():
    studies, source = Studies(), Planted(items=90, data_seed=time.time_ns() % 2**31)
    plan = StudyPlan("to estimate", (source,), METHOD, (ALPHA,), "sweep", folds=2)
    store, loaded = RunStore(), source.load()
    assert 0 < estimate(plan, studies, store, loaded) < 60  # without any history
    tune(study := studies.create(plan))
    longer = replace(plan, name="longer", folds=4)
    median = float(np.median([trial.duration for trial in study.trials]))
    assert estimate(longer, studies, store, loaded) == pytest.approx(2 * median * len(plan.points))
    other = replace(plan, name="more bits", method=replace(METHOD, bits=32))
    assert estimate(plan, studies, store, loaded) < estimate(other, studies, store, loaded)
    tune(more := studies.create(replace(longer, name="measured")))
    assert estimate(longer, studies, store, loaded) == pytest.approx(more.progress.seconds, rel=1.0)


def test_a_shipped_study_says_so_and_runs_again_here():
    name = make_study("shipped")
    Studies().open(name).optuna.set_user_attr(SHIPPED, True)
    page = open_page(**SMALL, **{"tune.study": name})
    assert any("computed for this version" in one.value for one in page.caption)
    page.button(key="tune_again").click().run()
    until_over(page)
    assert page.query_params["tune.study"] == "shipped, here"
    assert len(Studies().open("shipped, here").trials) == 4
    assert not any("computed for this version" in one.value for one in page.caption)


def test_studies_of_the_same_parameter_are_overlaid(swept, searched):
    page = open_page(**SMALL, **{"tune.study": swept})
    before = [trace.get("name") for trace in drawn(page)[0]["data"]]
    page.multiselect(key="tune_overlay").set_value([searched]).run()
    assert not page.exception
    after = drawn(page)[0]["data"]
    assert [trace.get("name") for trace in after if trace.get("name") not in before] == [searched]
    assert next(trace for trace in after if trace.get("name") == searched)["mode"] == "markers"  # two vary
    assert carried(drawn(page)[0]) == {0, 1, 2, 3}  # only this study's trials can be clicked


def test_results_of_one_query_at_several_values_and_all_trials_in_a_table(swept):
    page = open_page(**SMALL, **{"tune.study": swept})
    assert texts(page).count("of 8 relevant") == 4
    table = page.dataframe[0].value
    assert table["trial"].tolist() == [0, 1, 2, 3]
    assert {"α", "μ", "r", "balanced score, fold 2", "P@100, image → text", "state", "note"} <= set(table)
    query = next(one for one in page.selectbox if one.label == "Validation query")
    shown = [trial.folds[0].examples for trial in Studies().open(swept).trials]
    changes = {row: sum(len({*a[row]} ^ {*b[row]}) for a in shown for b in shown) for row in shown[0]}
    assert changes[query.value] == max(changes.values())
    query.select_index(1).run()
    assert not page.exception


def test_choices_by_eye_are_stored_by_the_buttons_only_and_suggest_a_trial():
    name = make_study("by eye", ranges=(ALPHA, RIDGE), way="search", trials=8, folds=1)
    study = Studies().open(name)
    with closing(sqlite3.connect(str(study.storage.engine.url.database))) as observer:
        before = observer.execute("PRAGMA data_version").fetchone()
        page = open_page(**SMALL, **{"tune.study": name})
        assert observer.execute("PRAGMA data_version").fetchone() == before
    assert page.button(key="tune_suggest").disabled

    def press(label: str) -> None:
        next(button for button in page.button if button.label == label).click().run()
        assert not page.exception

    for label in ("Left is better", "Skip", "Right is better", "Left is better"):
        press(label)
    choices = read_choices(Studies().open(name))
    assert sorted(one.winner is None for one in choices) == [False] * 3 + [True]
    (sentence,) = (one.value for one in page.caption if "3 choices stored with this study" in one.value)
    assert "First by eye: trial" in sentence
    assert "may disagree" in sentence
    ranks = page.dataframe[0].value["by eye"].dropna().astype(int).tolist()
    assert sorted(ranks) == list(range(1, len(ranks) + 1))
    page.button(key="tune_suggest").click().run()
    until_over(page)
    assert "9 complete trials" in texts(page)
    assert not page.run().exception


def test_only_who_may_edit_the_study_can_choose(monkeypatch, searched):
    monkeypatch.setenv("SMFH_EDIT_POLICY", "owner")
    page = open_page(**SMALL, **{"tune.study": searched}, visitor="b0" * 16)
    assert not has(page, "tune_suggest")
    assert not any("is better" in button.label for button in page.button)


def test_the_selected_trial_is_tested_once():
    name = make_study("to confirm")
    page = open_page(**SMALL, **{"tune.study": name, "tune.trial": "1"})
    page.button(key="confirmation_run").click().run()
    until(page, partial(is_tested, page))
    again = open_page(**SMALL, **{"tune.study": name, "tune.trial": "1"})
    assert is_tested(again)
    start = open_page(**SMALL, **{"tune.study": name, "tune.trial": "0"})
    assert not has(start, "confirmation_run")  # the start beside itself


def test_uploads_are_tuned_in_memory_only():
    rows = "".join(f"{k % 3},{k % 2},{k % 3},1,{k % 3}\n" for k in range(40))
    source = UserDataset(f"image:1,image:2,text:1,text:2,labels\n{rows}".encode(), "mine.csv")
    query = {key: value for key, value in SMALL.items() if not key.startswith("data.")}
    page = make_page("pages/4_Tune.py", **query | SHORT | {"data": "own"})
    owner = page.session_state["visitor"] = secrets.token_hex(16)
    add_upload(owner, source, source.load())
    page.run()
    public, kept = Studies().names(), {record.id for record in RunStore().records()}
    page.button(key="tune_run").click().run()
    until_over(page)
    assert "4 complete trials" in texts(page)
    assert not any("smfh" in code.value for code in page.code)  # no command can repeat it
    assert Studies().names() == public
    other = next(number for number in range(1, 4) if number != page.selectbox(key="tune_trial").value)
    page.selectbox(key="tune_trial").set_value(other).run()
    page.button(key="confirmation_run").click().run()
    until(page, partial(is_tested, page))
    assert {record.id for record in RunStore().records()} == kept
    key = PrivateKey(owner, upload_of(owner).studies.open(page.query_params["tune.study"]).key)
    assert job_queue().find(key) is not None
    forget(owner)
    assert job_queue().find(key) is None
    assert upload_of(owner) is None
    page.run()
    assert not page.exception
    assert "Your upload is not on the server" in page.info[0].value


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A storage that is none, in place of the usual one."""
    path = tmp_path / "studies.db"
    path.write_bytes(b"no database at all" * 99)
    monkeypatch.setenv("SMFH_STUDIES", f"sqlite:///{path}")
    server._shared.forget_where("studies".__eq__)
    yield path
    server._shared.forget_where("studies".__eq__)


def test_a_damaged_database_is_reported_and_not_changed(damaged):
    page = open_page(**SMALL)
    assert "the file is not a database" in texts(page)
    assert damaged.read_bytes() == b"no database at all" * 99
    assert not page.run().exception


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(
            ("ranges", text)
            for text in ("x", "ridge=1:2", "ridge=1:2:x", "ridge=nan:1:3", "m=inf:9:3", "m=1:1e30:3", "=")
        ),
        *(("within", text) for text in ("α", "α=1", "α=1:2:3", "α=nan:2")),
        *(("way", "x"), ("sweep", "β"), ("trials", "1"), ("trial", "-1"), ("over", "x"), ("colour", "red")),
    ],
)
def test_each_invalid_value_gets_a_note(name, text):
    wanted, notes = REQUEST.read({f"tune.{name}": text})
    assert wanted == StudyRequest()
    assert len(notes) == 1


def dot(number: int, score: float, seconds: float, alpha: float = 1.0) -> TrialDot:
    return TrialDot(number, {"α": alpha}, score, {}, seconds)


def test_the_filter_acts_by_parameter_score_and_time():
    dots = [dot(0, 0.5, 1, alpha=1), dot(1, 0.6, 2, alpha=2), dot(2, 0.7, 3, alpha=3)]
    assert [one.number for one in inside(dots, {"α": (1, 2)}, "score")] == [0, 1]
    assert [one.number for one in inside(dots, {"score": (0.6, 1), "seconds": (0, 2)}, "score")] == [1]
    assert inside(dots, {"unknown": (5, 6)}, "score") == dots


def test_a_taken_default_name_gets_a_number(tmp_path):
    studies = Studies(f"sqlite:///{tmp_path / 'studies.db'}")
    plan = StudyPlan("same", (Planted(items=90),), METHOD, (ALPHA,), "sweep")
    other = StudyPlan("same", (Planted(items=91),), METHOD, (ALPHA,), "sweep")
    assert find_or_create(studies, plan, is_named=False).name == "same"
    assert find_or_create(studies, other, is_named=False).name == "same (2)"
    assert find_or_create(studies, plan, is_named=False).name == "same"
    with pytest.raises(InputError, match="choose another name"):
        find_or_create(studies, other, is_named=True)
    assert default_name(plan) == "α of SMFH on Planted, 8 bits"

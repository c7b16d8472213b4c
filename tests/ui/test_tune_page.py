"""Tune in AppTest: sweep, search, link, filter, chosen trial, stop and resume, own data."""

import base64
import json
import secrets
import time
from collections.abc import Iterator
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
from smfh.datasets.own import OwnData
from smfh.hashing import METHODS, SMFH
from smfh.plots import TrialDot
from smfh.runs import RunStore
from smfh.tuning import Range, Studies, StudyPlan, tune
from smfh.tuning.storage import claim
from smfh.types import InputError
from smfh.ui import server
from smfh.ui.rights import maker_of
from smfh.ui.server import bring, forget, job_queue, kept_studies
from smfh.ui.tune.choice import usual_name
from smfh.ui.tune.dots import dots_of, inside
from smfh.ui.tune.figures import front_of, known_marks
from smfh.ui.tune.pictures import telling_queries
from smfh.ui.tune.running import settle
from smfh.ui.tune.wanted import WANTED, Wanted, read_spans, write_span

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
    return until(page, lambda: not has(page, "tune_stop") and not has(page, "tune_resume"))


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
    usual = {
        "sources": (Planted(items=90),),
        "method": METHOD,
        "ranges": (ALPHA,),
        "way": "sweep",
        "folds": 2,
    }
    study = Studies().join(StudyPlan(name, **(usual | others)))
    tune(study)
    return name


@pytest.fixture(scope="module")
def swept() -> str:
    return make_study("α of a test")


@pytest.fixture(scope="module")
def searched() -> str:
    return make_study("a search", ranges=(ALPHA, RIDGE), way="search", trials=12, folds=1)


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_can_be_tuned_or_says_what_it_needs(name):
    options = {"data.items": "300"} if name in ("synthetic", "planted") else {}
    page = open_page(data=name, **options)
    if DATASETS[name]().missing():
        assert DATASETS[name].card.title in page.info[0].value
    else:
        assert page.button(key="tune_run").label.startswith("Run 9 trials")
        assert "The queries stay unseen" in page.info[0].value
    assert not page.run().exception


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_offered_the_sweeps_that_it_has_parameters_for(name):
    page = open_page(data="planted", method=name)
    assert has(page, "tune_run")
    offered = page.get("button_group")
    sweeps = next(group for group in offered if group.proto.label == "Sweep over") if offered else None
    has_alpha = "graph_weight" in METHODS[name]().get_params()
    assert ("α" in str(sweeps.proto if sweeps else "")) == has_alpha
    assert not page.run().exception


@pytest.mark.parametrize(
    ("sweep", "trials"), [("α", 9), ("μ", 9), ("m", 10), ("α × μ", 81), ("bits × α", 45)]
)
def test_every_ready_made_sweep_can_be_run(sweep, trials):
    page = open_page(data="planted", method="smfh", **{"tune.sweep": sweep})
    assert page.button(key="tune_run").label.startswith(f"Run {trials} trials")
    assert page.query_params.get("tune.sweep", "α") == sweep


def test_a_sweep_of_two_parameters_is_a_map():
    bits = Range("bits", 8, 16, "log", whole=True, points=2)
    name = make_study("bits × α of a test", ranges=(bits, ALPHA), folds=1)
    page = open_page(**SMALL, **{"tune.study": name})
    heat = drawn(page)[0]["data"][0]
    assert heat["type"] == "heatmap"
    assert carried(drawn(page)[0]) == set(range(1, 7))  # the start's α is none of the three
    assert not page.run().exception


def test_a_sweep_runs_in_the_background_and_the_same_again_is_found():
    seed = str(time.time_ns() % 2**31)
    page = open_page(**SMALL, **SHORT, **{"data.data_seed": seed})
    assert page.button(key="tune_run").label.startswith("Run 4 trials")
    page.button(key="tune_run").click().run()
    until_over(page)
    assert "4 trials (4 complete) on 2 validation parts" in texts(page)
    name = page.query_params["tune.study"]
    assert len(page.get("plotly_chart")) == 4
    assert not page.run().exception
    before = Studies().names()
    page.button(key="tune_run").click().run()
    assert page.query_params["tune.study"] == name
    assert "there already" in page.toast[0].value
    assert Studies().names() == before


def test_a_link_opens_the_study_with_its_trial_and_its_filter(swept):
    link = {"tune.study": swept, "tune.trial": "1", "tune.within": "α=-inf:2"}
    page = open_page(**SMALL, **link)
    assert page.selectbox(key="tune_trial").value == 1
    clickable = [carried(figure) for figure in drawn(page)]
    assert clickable == [{0, 1, 2}] * 4  # trial 3 has α 10
    assert any("3 of 4 trials" in caption.value for caption in page.caption)
    assert sum("trial 1, chosen" in json.dumps(figure) for figure in drawn(page)) == 3  # a bar has an edge
    page.button(key="tune_filter_off").click().run()
    assert [carried(figure) for figure in drawn(page)] == [{0, 1, 2, 3}] * 4
    assert "tune.within" not in page.query_params


def test_the_filter_narrows_and_the_address_says_so(swept):
    page = open_page(**SMALL, **{"tune.study": swept})
    slider = next(found for found in page.select_slider if found.label == "α")
    slider.set_range(1.0, 10.0).run()
    assert not page.exception
    assert read_spans([page.query_params["tune.within"]]) == {"α": (1.0, float("inf"))}
    assert [carried(figure) for figure in drawn(page)] == [{0, 2, 3}] * 4
    assert not page.run().exception


def test_use_these_sets_the_controls_and_the_address(swept):
    page = open_page(**SMALL, **{"tune.study": swept, "tune.trial": "3"})
    page.button(key="tune_use").click().run()
    assert not page.exception
    assert page.query_params["graph_weight"] == "10.0"
    assert page.select_slider(key="control_smfh_graph_weight").value == 10.0
    assert page.button(key="tune_use").disabled
    assert any("--graph-weight 10.0" in code.value for code in page.code)
    assert any("graph_weight=10.0" in code.value for code in page.code)


def test_a_trial_opens_in_explore(swept):
    page = open_page(**SMALL, **{"tune.study": swept, "tune.trial": "1"})
    page.button(key="tune_open").click().run()
    assert not page.exception
    assert page.title[0].value == "Explore"
    assert page.query_params["graph_weight"] == "0.1"


def test_all_charts_of_a_search_show_the_same_trials(searched):
    page = open_page(**SMALL, **{"tune.way": "search", "tune.study": searched, "tune.trial": "2"})
    history, importance, slices, contour, lines, front, times = drawn(page)
    everything = set(range(12))
    assert carried(history) == carried(slices) == carried(contour) == carried(times) == everything
    assert carried(lines) == carried(front) == everything  # one part: nothing is given up early
    assert not carried(importance)
    assert "Best balanced score" in texts(page)
    assert not page.run().exception


def test_importance_is_that_of_the_shown_trials(searched):
    page = open_page(**SMALL, **{"tune.study": searched, "tune.within": "α=9:inf"})
    assert "nothing can be said yet" in texts(page)


@pytest.mark.parametrize("over", ["directions", "seconds", "first"])
def test_every_goal_has_its_charts_and_words(over):
    link = {"tune.way": "search", "tune.tuned": "graph_weight,ridge", "tune.trials": "4", "tune.parts": "1"}
    seed = str(time.time_ns() % 2**31)
    page = open_page(**SMALL, **link, **{"tune.over": over, "data.data_seed": seed})
    page.button(key="tune_run").click().run()
    until_over(page)
    assert len(drawn(page)) == 7
    assert "on the front" in texts(page)
    assert page.query_params["tune.over"] == over
    assert not page.run().exception


def test_a_stopped_study_goes_on_where_it_was():
    seed = str(time.time_ns() % 2**31)
    long = {"tune.ranges": "graph_weight=0.1:10:16", "tune.parts": "2"}
    page = open_page(**SMALL, **long, **{"data.data_seed": seed})
    page.button(key="tune_run").click().run()
    page.button(key="tune_pause").click().run()
    page.button(key="tune_stop").click().run()
    until(page, lambda: has(page, "tune_resume"))
    other = open_page(
        **SMALL, **long, **{"data.data_seed": seed, "tune.study": page.query_params["tune.study"]}
    )
    assert other.button(key="tune_resume").label == "Resume"
    other.button(key="tune_resume").click().run()
    until_over(other)
    assert "17 trials (17 complete)" in texts(other)


def test_what_a_killed_worker_has_left_is_offered_again():
    name = "left behind"
    plan = StudyPlan(name, (Planted(items=90),), METHOD, (ALPHA,), "sweep", folds=1)
    study = Studies().create(plan)
    assert claim(study.optuna, study.storage) is not None
    page = open_page(**SMALL, **{"tune.study": name})
    assert page.button(key="tune_resume").label == "Join in"  # for all one knows it is at work
    with study.storage.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE trial_heartbeats SET heartbeat = '2000-01-01 00:00:00'")
    page.run()
    assert page.button(key="tune_resume").label == "Resume"
    page.button(key="tune_resume").click().run()
    until_over(page)
    assert "4 trials (4 complete)" in texts(page)


def test_others_see_how_far_it_is_and_cannot_stop_it():
    seed = str(time.time_ns() % 2**31)
    query = {**SMALL, "tune.ranges": "graph_weight=0.1:10:60", "tune.parts": "5", "data.data_seed": seed}
    first = open_page(**query)
    first.button(key="tune_run").click().run()
    first.button(key="tune_pause").click().run()
    second = open_page(**query, **{"tune.study": first.query_params["tune.study"]})
    assert "of 61 trials" in second.get("progress")[0].proto.text
    second.button(key="tune_stop").click().run()
    assert "Others watch" in second.toast[0].value
    assert first.button(key="tune_run").disabled  # one study at a time
    first.button(key="tune_stop").click().run()
    until(first, lambda: has(first, "tune_resume"))


def test_a_reversed_or_impossible_range_is_told_and_nothing_runs():
    page = open_page(**SMALL, **{"tune.ranges": "graph_weight=10:1:3"})
    assert "needs a range from low to high" in texts(page)
    assert not has(page, "tune_run")
    page = open_page(**SMALL, **{"tune.ranges": "graph_weight=1:1e9:3"})
    assert "must be a number from 0 to 1e+06" in texts(page)
    assert not page.run().exception


@pytest.mark.parametrize(
    "text", ["graph_sample=1:2.5:9", "graph_sample=-5:9:999999", "graph_sample=1e12:2:0"]
)
def test_no_range_of_a_link_breaks_the_page(text):
    page = open_page(**SMALL, **{"tune.sweep": "m", "tune.ranges": text})
    assert not page.run().exception


def test_a_parameter_that_the_method_lacks_is_told():
    page = open_page(**SMALL, **{"tune.way": "search", "tune.tuned": "anchors,ridge"})
    assert "SMFH has no parameter 'anchors' to tune; there are" in texts(page)
    assert page.multiselect(key="tune_tuned_search_smfh").value == ["ridge"]
    page.multiselect(key="tune_tuned_search_smfh").set_value([]).run()
    assert "Something must be tuned" in texts(page)
    assert not has(page, "tune_run")


def test_a_study_that_is_not_there_is_told():
    page = open_page(**SMALL, **{"tune.study": "<b>none</b>"})
    assert "There is no study '<b>none</b>'" in texts(page)
    assert not page.run().exception


def test_where_only_makers_may_nobody_elses_study_is_renamed_or_deleted(monkeypatch):
    monkeypatch.setenv("SMFH_CHANGED_BY", "maker")
    ann, name = secrets.token_hex(16), f"ann's {secrets.token_hex(4)}"
    plan = kept_studies("").open(make_study("nobody's")).plan
    kept_studies("").create(replace(plan, name=name), maker_of(ann))

    def orders(visitor, study):
        page = open_page(**SMALL, **{"tune.study": study}, visitor=visitor)
        return page, {button.key for button in page.button} & {"tune_rename", "tune_delete"}

    for visitor, study in (("bob" * 10, name), (ann, "nobody's")):
        assert orders(visitor, study)[1] == set()
    page, there = orders(ann, name)
    assert there == {"tune_rename", "tune_delete"}
    page.button(key="tune_delete").click().run()
    assert name not in kept_studies("").names()
    monkeypatch.setenv("SMFH_CHANGED_BY", "all")
    assert orders("bob" * 10, "nobody's")[1] == {"tune_rename", "tune_delete"}


def test_names_are_text_and_a_study_is_renamed_and_deleted():
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


def test_a_name_that_is_taken_is_told(swept):
    page = open_page(**SMALL, **SHORT, **{"data.data_seed": "5"})
    page.text_input(key="tune_name").set_value(swept).run()
    page.button(key="tune_run").click().run()
    assert "already; join it as it is, or choose another name" in texts(page)


def test_all_studies_are_listed_and_set_beside_each_other(swept, searched):
    page = open_page(**SMALL)
    listed = page.dataframe[0].value
    assert {swept, searched} <= set(listed["study"])
    assert listed.set_index("study").loc[swept, "trials"] == "4 of 4"
    page.multiselect(key="tune_beside").set_value([swept, searched]).run()
    assert not page.exception
    assert len(drawn(page)[0]["data"]) == 2


def test_the_chosen_trial_is_confirmed_once_with_pictures():
    name = make_study("to confirm")
    page = open_page(**SMALL, **{"tune.study": name, "tune.trial": "1"})
    page.button(key="tune_confirm").click().run()
    until(page, lambda: "The same three queries" in texts(page))
    assert "5 seeds" in texts(page)
    assert len(page.image) == 3 * (1 + 2 * 8)  # a query, and the first eight answers of both
    assert not has(page, "tune_confirm")
    again = open_page(**SMALL, **{"tune.study": name, "tune.trial": "1"})
    assert "The same three queries" in texts(again)
    start = open_page(**SMALL, **{"tune.study": name, "tune.trial": "0"})
    assert not has(start, "tune_confirm")  # the start beside itself


def test_own_data_is_tuned_in_memory_and_forgotten():
    rows = "".join(f"{k % 3},{k % 2},{k % 3},1,{k % 3}\n" for k in range(40))
    source = OwnData(f"image:1,image:2,text:1,text:2,labels\n{rows}".encode(), "mine.csv")
    query = {key: value for key, value in SMALL.items() if not key.startswith("data.")}
    page = make_page("pages/4_Tune.py", **query | SHORT | {"data": "own"})
    owner = page.session_state["visitor"] = secrets.token_hex(16)
    bring(owner, source, source.load())
    page.run()
    public, kept = Studies().names(), {record.id for record in RunStore().records()}
    page.button(key="tune_run").click().run()
    until_over(page)
    assert "4 trials (4 complete)" in texts(page)
    assert not any("smfh" in code.value for code in page.code)  # no command can repeat it
    assert Studies().names() == public
    other = next(number for number in range(1, 4) if number != page.selectbox(key="tune_trial").value)
    page.selectbox(key="tune_trial").set_value(other).run()
    page.button(key="tune_confirm").click().run()
    until(page, lambda: "The same three queries" in texts(page))
    assert {record.id for record in RunStore().records()} == kept
    key = kept_studies(owner).open(page.query_params["tune.study"]).key
    assert job_queue().find(key) is not None
    forget(owner)
    assert job_queue().find(key) is None
    with pytest.raises(InputError, match="not here any more"):
        kept_studies(owner)
    page.run()
    assert not page.exception
    assert "Your own data is not here" in page.info[0].value


@pytest.fixture
def damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A storage that is none, in place of the usual one."""
    path = tmp_path / "studies.db"
    path.write_bytes(b"no database at all" * 99)
    monkeypatch.setenv("SMFH_STUDIES", f"sqlite:///{path}")
    server._shared.forget("_studies")
    yield path
    server._shared.forget("_studies")


def test_a_damaged_storage_is_told_and_not_touched(damaged):
    page = open_page(**SMALL)
    assert "the file is no database" in texts(page)
    assert damaged.read_bytes() == b"no database at all" * 99
    assert not page.run().exception


def test_what_a_link_says_is_what_was_wanted():
    wanted = Wanted(
        way="search",
        sweep="other",
        tuned=("ridge",),
        ranges=("ridge=0.1:10:3",),
        trials=7,
        minutes=3,
        measure="full",
        over="seconds",
        parts=2,
        study="wiki, smfh",
        trial=4,
        within=("α=-inf:2",),
    )
    assert WANTED.read(WANTED.write(wanted)) == (wanted, [])
    assert WANTED.read({}) == (Wanted(), [])


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
def test_each_wrong_value_has_a_note(name, text):
    wanted, notes = WANTED.read({f"tune.{name}": text})
    assert wanted == Wanted()
    assert len(notes) == 1


def test_spans_are_read_as_they_are_written():
    assert read_spans([write_span("ridge", 1e-9, 0.1, 9)]) == {"ridge": (1e-9, 0.1, 9.0)}
    assert read_spans([write_span("a=b", -np.inf, 2)]) == {"a=b": (-np.inf, 2.0)}


def dot(number: int, score: float, seconds: float, alpha: float = 1.0) -> TrialDot:
    return TrialDot(number, {"α": alpha}, score, {}, (seconds,))


def test_the_filter_acts_by_parameter_score_and_time():
    dots = [dot(0, 0.5, 1, alpha=1), dot(1, 0.6, 2, alpha=2), dot(2, 0.7, 3, alpha=3)]
    assert [one.number for one in inside(dots, {"α": (1, 2)}, "score")] == [0, 1]
    assert [one.number for one in inside(dots, {"score": (0.6, 1), "seconds": (0, 2)}, "score")] == [1]
    assert inside(dots, {"unknown": (5, 6)}, "score") == dots


def test_what_looks_the_same_on_a_slider_is_the_same_to_the_filter():
    dots = [dot(0, 0.12341, 1), dot(1, 0.12344, 1)]
    assert inside(dots, {"score": (0.123, 0.123)}, "score") == dots


def test_a_front_has_what_nothing_beats_in_both():
    dots = [dot(0, 0.5, 1), dot(1, 0.7, 3), dot(2, 0.6, 2), dot(3, 0.6, 4), dot(4, 0.5, 1)]
    seconds = {one.number: one.mean_seconds for one in dots}
    assert front_of(dots, seconds, fewer_is_better=True) == [0, 1, 2, 4]
    assert front_of(dots, seconds, fewer_is_better=False) == [1, 3]


def test_the_telling_queries_are_the_middle_the_gain_and_the_loss():
    before, after = np.array([0.1, 0.9, 0.5]), np.array([0.6, 0.1, 0.5])
    assert telling_queries(before, after) == {"In the middle": 2, "Gained most": 0, "Lost most": 1}


def test_a_name_that_nobody_chose_gets_a_number_where_it_is_taken(tmp_path):
    studies = Studies(f"sqlite:///{tmp_path / 'studies.db'}")
    plan = StudyPlan("same", (Planted(items=90),), METHOD, (ALPHA,), "sweep")
    other = StudyPlan("same", (Planted(items=91),), METHOD, (ALPHA,), "sweep")
    assert settle(studies, plan, named=False).name == "same"
    assert settle(studies, other, named=False).name == "same (2)"
    assert settle(studies, plan, named=False).name == "same"
    with pytest.raises(InputError, match="choose another name"):
        settle(studies, other, named=True)
    assert usual_name(plan) == "α of SMFH on Planted, 8 bits"


def test_dots_have_what_the_trials_have(swept):
    study = Studies().open(swept)
    trials = study.trials
    dots = dots_of(study, trials)
    assert [one.settings["α"] for one in dots] == [2.0, 0.1, 1.0, 10.0]
    assert dots[0].start
    assert dots[1].parts["mAP@100"] == tuple(part.measure("found") for part in trials[1].parts)
    assert all(one.lasted > 0 for one in dots)
    assert [(mark.label, mark.at) for mark in known_marks(study)] == [("start", 2.0)]

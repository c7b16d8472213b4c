"""How far a fit on shards is: written down after every step, read by whoever looks, shown on Runs."""

import json
from dataclasses import replace
from time import time

import pytest
from streamlit.testing.v1 import AppTest

from smfh.cluster import Folder, fit_shards, stream_source, write_shards
from smfh.cluster.progress import LONG, PROGRESS, read_fits
from smfh.cluster.workers import LocalWorkers, ThisProcess
from smfh.datasets.planted import Planted
from smfh.hashing import make_method
from smfh.ui.runs.shards import in_words

pytestmark = pytest.mark.slow
METHOD = make_method("smfh", bits=8, iterations=4, graph_sample=50)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("shards") / "planted")
    write_shards(stream_source(Planted(items=240), "default", 0, None), Folder(folder))
    return folder


@pytest.fixture(scope="module")
def seen(shards):
    """What whoever looks sees after each step of a fit."""
    found = []
    fit_shards(METHOD, shards, ThisProcess(), on_step=lambda step: found.append(read_fits(shards)[1][0]))
    return found


def test_after_every_step_its_number_terms_and_workers_can_be_read(seen):
    assert [len(fit.trace) for fit in seen] == list(range(1, len(seen) + 1))
    last = seen[-1]
    assert (last.method, last.bits, last.steps, last.workers) == (METHOD.title, 8, METHOD.steps, 1)
    assert last.trace[-1].objective < last.trace[0].objective
    assert seen[0].is_moving
    assert seen[0].step_seconds is None
    assert last.step_seconds is not None


def test_it_says_how_many_work_on_it(shards):
    workers = LocalWorkers(2)
    try:
        fit_shards(make_method("smfh", bits=8, iterations=2, graph_sample=50), shards, workers)
    finally:
        workers.close()
    assert read_fits(shards)[1][0].workers == 2


def test_a_fit_is_done_when_all_is_learnt_be_it_early(shards, seen):
    assert not any(fit.is_over for fit in seen)
    early = make_method("smfh", bits=8, iterations=50, graph_sample=50, tolerance=0.5)
    fit_shards(early, shards, ThisProcess())
    fit = read_fits(shards)[1][0]
    assert len(fit.trace) < fit.steps == 50
    assert fit.is_over
    assert not fit.is_moving
    assert fit.share == 1.0
    assert in_words(fit, 180).endswith("done")


def test_long_steps_are_waited_for(seen):
    last, step = seen[-1], seen[-1].trace[-1]
    ago, later = time() - 2 * LONG, replace(step, seconds=step.seconds + LONG)
    assert in_words(replace(last, trace=(*last.trace, later), when=ago), 180).endswith("· at work")
    assert in_words(replace(last, when=ago), 180).endswith("not at work")


def test_what_is_damaged_is_passed_over(shards, seen, tmp_path):
    manifest, fits = read_fits(shards)
    assert manifest.items > 0
    folder = next(name for name in Folder(shards).folder("fits").names())
    work = Folder(shards).folder("fits").folder(folder)
    sound = work.json(PROGRESS)
    for wrong in ({}, [], sound | {"when": "soon"}, sound | {"trace": [[1]]}, sound | {"steps": None}):
        work.write_json(PROGRESS, wrong)
        assert len(read_fits(shards)[1]) == len(fits) - 1
    work.write_json(PROGRESS, json.loads(json.dumps(sound)))
    assert len(read_fits(shards)[1]) == len(fits)


def test_runs_shows_shards_steps_workers_and_convergence(shards, seen, monkeypatch):
    monkeypatch.setenv("SMFH_SHARDS", shards)
    page = AppTest.from_file("../../streamlit_app.py", default_timeout=120).switch_page("pages/6_Runs.py")
    page.query_params["data"] = "planted"
    page.run()
    assert not page.exception
    assert any("items in" in text.value and "part" in text.value for text in page.text)
    said = [bar.proto.text for bar in page.get("progress")]
    assert any("step" in words and "worker" in words for words in said)
    assert page.get("plotly_chart")


def test_without_shards_runs_has_no_such_part(monkeypatch):
    monkeypatch.delenv("SMFH_SHARDS", raising=False)
    page = AppTest.from_file("../../streamlit_app.py", default_timeout=120).switch_page("pages/6_Runs.py")
    page.query_params["data"] = "planted"
    page.run()
    assert not page.exception
    assert not any("On shards" in str(expander.label) for expander in page.expander)

"""Grids of runs: what their button, progress and job depend on."""

from threading import Event

import pytest

from smfh.datasets import Planted
from smfh.experiments.comparison import Comparison, Grid
from smfh.hashing import CVH
from smfh.ui import grids
from smfh.ui.grids import grid_job, start_grid
from smfh.ui.page import steer_owned
from smfh.ui.server import job_queue, run_store

WAIT_SECONDS = 60  # a test that hangs fails after this time


def planted_grid(items, seeds=1):
    source = Planted(items=items)
    return Grid(Comparison(source, (CVH(),), (4,), seeds), *source.load())


@pytest.fixture
def session(monkeypatch):
    state = {"visitor": "a" * 32}
    monkeypatch.setattr(grids.st, "session_state", state)
    return state


def test_a_grid_starts_while_another_one_of_the_same_visitor_is_unfinished(session):
    first, second = planted_grid(30), planted_grid(31)
    lesson = job_queue().submit(first.key, lambda course: course.report(None), "a" * 32)
    lesson.pause("a" * 32)
    start_grid(second)
    assert grids.REFUSALS not in session
    job = grid_job(second)
    assert job.wait(timeout=WAIT_SECONDS)
    assert job.state == "finished"
    assert second.missing(run_store()) == []
    lesson.cancel("a" * 32)


def test_a_grid_beyond_the_limits_is_refused(session, monkeypatch):
    monkeypatch.setenv("SMFH_MAX_GB", "1e-9")
    grid = planted_grid(32)
    start_grid(grid)
    assert "would take about" in session[grids.REFUSALS][0]
    assert grid_job(grid) is None


def test_only_its_owner_pauses_or_cancels_a_grid_even_if_away(session, monkeypatch):
    monkeypatch.setenv("SMFH_EDIT_POLICY", "owner")
    monkeypatch.setattr("smfh.ui.page.st.toast", lambda *message, **icon: None)
    gate = Event()

    def work(context):
        gate.wait(WAIT_SECONDS)
        context.check()

    job = job_queue().submit(planted_grid(33).key, work, "b" * 32)
    job.leave("b" * 32)
    for order in (job.cancel, job.pause):
        steer_owned(job, order)
    assert not job.is_cancelled
    assert not job.is_pausing
    session["visitor"] = "b" * 32
    steer_owned(job, job.pause)
    assert job.is_pausing
    steer_owned(job, job.cancel)
    assert job.is_cancelled
    gate.set()
    assert job.wait(timeout=WAIT_SECONDS)

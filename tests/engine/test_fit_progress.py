"""The progress of a fit on shards: written after every step, read back, shown on the Runs page."""

import pytest
from app_pages import open_page

from smfh.datasets.planted import Planted
from smfh.engine import Folder, fit_shards, stream_source, write_shards
from smfh.engine.engine import ThisProcess
from smfh.engine.fitting import PROGRESS, read_fits
from smfh.hashing import make_method
from smfh.ui.runs.cluster import describe_fit

pytestmark = pytest.mark.slow
METHOD = make_method("smfh", bits=8, iterations=4, graph_sample=50)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("shards") / "planted")
    write_shards(stream_source(Planted(items=240), "default", 0, None), Folder(folder))
    return folder


@pytest.fixture(scope="module")
def seen(shards):
    """The progress after each step of a fit."""
    found = []
    fit_shards(METHOD, shards, ThisProcess(), on_step=lambda step: found.append(read_fits(shards)[1][0]))
    return found


def test_progress_can_be_read_after_every_step(seen):
    assert [len(fit.trace) for fit in seen] == list(range(1, len(seen) + 1))
    last = seen[-1]
    assert (last.method, last.bits, last.steps, last.workers) == (METHOD.title, 8, METHOD.steps, 1)
    assert last.trace[-1].objective < last.trace[0].objective
    assert seen[0].is_moving


def test_a_fit_that_stops_early_is_over(shards, seen):
    assert not any(fit.is_over for fit in seen)
    early = make_method("smfh", bits=8, iterations=50, graph_sample=50, tolerance=0.5)
    fit_shards(early, shards, ThisProcess())
    fit = read_fits(shards)[1][0]
    assert len(fit.trace) < fit.steps == 50
    assert fit.is_over
    assert not fit.is_moving
    assert fit.share == 1.0
    assert describe_fit(fit, 180).endswith("finished")


def test_damaged_progress_is_ignored(shards, seen, tmp_path):
    fits, folder = read_fits(shards)[1], Folder(shards).folder("fits")
    work = folder.folder(next(iter(folder.names())))
    sound = work.json(PROGRESS)
    for wrong in ({}, [], sound | {"when": "soon"}, sound | {"trace": [[1]]}, sound | {"steps": None}):
        work.write_json(PROGRESS, wrong)
        assert len(read_fits(shards)[1]) == len(fits) - 1
    work.write_json(PROGRESS, sound)


def test_the_runs_page_shows_the_progress(shards, seen, monkeypatch):
    monkeypatch.setenv("SMFH_SHARDS", shards)
    page = open_page("pages/6_Runs.py", data="planted")
    assert any("items in" in text.value and "part" in text.value for text in page.text)
    said = [bar.proto.text for bar in page.get("progress")]
    assert any("step" in words and "worker" in words for words in said)
    assert page.get("plotly_chart")

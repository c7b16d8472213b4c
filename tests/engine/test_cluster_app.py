"""The app with a cluster: trainings run there, except on data of one visitor alone."""

import os
import subprocess
import sys
from contextlib import closing

import pytest
from app_pages import open_page, until

from smfh.datasets.planted import Planted
from smfh.engine import Engine
from smfh.hashing import make_method
from smfh.runs import run_key
from smfh.ui import server
from smfh.ui.visitor import PrivateKey

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("shards")]


@pytest.fixture
def named(cluster, monkeypatch):
    """The app's cluster during the test."""
    with closing(Engine(cluster.address, on_count=server.job_queue().set_workers)) as engine:
        monkeypatch.setattr(server, "cluster", lambda: engine)
        yield engine
    server.job_queue().set_workers(1)


def captions(script: str) -> str:
    return " ".join(caption.value for caption in open_page(script).caption)


def test_the_environment_names_the_cluster():
    told = {"SMFH_CLUSTER": "tcp://127.0.0.1:1"}
    ask = "from smfh.ui import server; print(server.cluster() and server.cluster().address)"
    for environment, answer in ((told, "tcp://127.0.0.1:1"), ({}, "None")):
        known = {name: value for name, value in os.environ.items() if name != "SMFH_CLUSTER"}
        command = [sys.executable, "-c", ask]
        out = subprocess.run(command, env=known | environment, capture_output=True, text=True, check=True)
        assert out.stdout.strip() == answer


def test_a_training_runs_on_the_cluster_step_by_step(named, monkeypatch):
    assert "Runs are trained on a cluster" in captions("pages/6_Runs.py")
    with closing(Engine()) as unused:
        monkeypatch.setattr(server, "local_engine", lambda: unused)
        page = open_page("streamlit_app.py", data="planted", bits="13", iterations="5")
        until(page, lambda: page.metric)
        assert not unused.is_connected
    assert page.select_slider(key="wall_iteration").options == [str(step) for step in range(1, 9)]
    assert "a cluster with 2 workers" in captions("pages/6_Runs.py")


def test_data_of_one_visitor_stays_on_this_machine(named):
    data, split = Planted(items=60).load()
    key = run_key(data, split, make_method("smfh"))
    assert server.engine_of(key) is named
    assert server.engine_of(PrivateKey("somebody", key)) is server.local_engine()

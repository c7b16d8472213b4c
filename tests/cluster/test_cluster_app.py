"""The app with a cluster: trainings are done there, and what is one visitor's alone never is."""

import os
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from unittest.mock import patch

import pytest
from streamlit.testing.v1 import AppTest

from smfh.cluster.calls import ClusterCalls
from smfh.datasets.planted import Planted
from smfh.hashing import make_method
from smfh.jobs import Processes
from smfh.runs import run_key
from smfh.ui import server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("shards")]
SECONDS = 120


@pytest.fixture
def named(cluster, monkeypatch):
    """The app's own cluster, known as long as the test runs."""
    with closing(ClusterCalls(cluster.address, server.job_queue().set_workers)) as calls:
        monkeypatch.setattr(server, "cluster", lambda: calls)
        yield calls
    server.job_queue().set_workers(1)


def open_page(script: str = "", **query: str) -> AppTest:
    page = AppTest.from_file("../../streamlit_app.py", default_timeout=SECONDS)
    if script:
        page.switch_page(script)
    for key, value in query.items():
        page.query_params[key] = value
    return page.run()


def test_the_server_asks_the_environment_for_its_cluster():
    told = {"SMFH_CLUSTER": "tcp://127.0.0.1:1"}
    ask = "from smfh.ui import server; print(server.cluster() and server.cluster().address)"
    for environment, answer in ((told, "tcp://127.0.0.1:1"), ({}, "None")):
        known = {name: value for name, value in os.environ.items() if name != "SMFH_CLUSTER"}
        command = [sys.executable, "-c", ask]
        out = subprocess.run(command, env=known | environment, capture_output=True, text=True, check=True)
        assert out.stdout.strip() == answer


def test_a_visitors_training_is_done_on_the_cluster_step_by_step(named):
    assert "looked for when one begins" in " ".join(one.value for one in open_page("pages/6_Runs.py").caption)
    with patch.object(Processes, "call", side_effect=AssertionError("called here")):
        page = open_page(data="planted", bits="13", iterations="5")
        end = time.monotonic() + SECONDS
        while not page.metric:
            assert time.monotonic() < end
            assert not page.exception
            page.run()
    assert page.select_slider(key="wall_iteration").options == [str(step) for step in range(1, 9)]
    assert "2 workers of a cluster" in " ".join(one.value for one in open_page("pages/6_Runs.py").caption)


def test_what_is_one_visitors_alone_stays_on_this_machine(named):
    data, split = Planted(items=60).load()
    key = run_key(data, split, make_method("smfh"))
    assert server.caller_of(key) is named
    assert server.caller_of(replace(key, owner="somebody")) is server.beside_cluster()

"""Queues, and work that waits for a test."""

import threading
from contextlib import closing

import pytest
from steps import SOON

from smfh.jobs import JobQueue


@pytest.fixture
def queue():
    with closing(JobQueue(workers=1, max_waiting=4, max_results=2)) as queue:
        yield queue


@pytest.fixture
def gate():
    """Opened at the latest when the test is over, so that work which waits for it ends."""
    opened = threading.Event()
    yield opened
    opened.set()


@pytest.fixture
def blocked(gate):
    """Work that waits for the gate."""
    return lambda context: gate.wait(SOON)

"""A cluster of real processes on this machine."""

import socket
import subprocess
import sys
from dataclasses import dataclass, field

import pytest
from distributed import Client

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@dataclass
class Cluster:
    """A scheduler and some workers of one thread each."""

    address: str
    scheduler: subprocess.Popen | None = None
    workers: list[subprocess.Popen] = field(default_factory=list)

    def start_scheduler(self) -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", self.address]
        self.scheduler = subprocess.Popen([*command, "--no-dashboard", "--no-show"], **QUIET)

    def add_worker(self) -> None:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self.address, "--nthreads", "1"]
        self.workers.append(subprocess.Popen([*command, "--no-nanny", "--no-dashboard"], **QUIET))

    def kill_worker(self) -> None:
        worker = self.workers.pop(0)
        worker.kill()
        worker.wait()

    def wait(self) -> None:
        """Until both workers are there; the engine itself waits only a few seconds for a cluster."""
        with Client(self.address, timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self.workers.clear()


@pytest.fixture(scope="module")
def cluster():
    """Two workers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        made = Cluster(f"tcp://127.0.0.1:{free.getsockname()[1]}")
    made.start_scheduler()
    made.add_worker()
    made.add_worker()
    made.wait()
    yield made
    made.stop()

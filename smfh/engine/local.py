"""Program that runs a Dask scheduler with worker processes on this machine, started by the engine.

It prints the scheduler's address, then reads the wanted number of workers from its standard input, one number
per line. When the input ends, for example because the engine's process was killed, the program and its workers end.
"""

import logging
import os
import sys
from contextlib import suppress
from tempfile import TemporaryDirectory
from threading import Thread
from time import sleep

import dask
from distributed import LocalCluster
from distributed.system import MEMORY_LIMIT

from smfh.plugins import load_plugins

CHECK_SECONDS = 2.0  # between two checks for dead workers
SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # the engine decides whether a call is tried again
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.memory.target": False,  # visitors' data is never written to disk
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.worker.profile.enabled": False,  # profiling would slow down training
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.multiprocessing-method": "spawn",
    "distributed.comm.timeouts.connect": "60s",  # a busy machine starts processes slowly
}


def main(workers: int) -> None:
    """Run the scheduler with this number of workers until the standard input ends."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what workers print goes to the log
    dask.config.set(SETTINGS)
    load_plugins()  # the scheduler reads their objects too
    with TemporaryDirectory(prefix="smfh-workers-", ignore_cleanup_errors=True) as scratch:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=MEMORY_LIMIT,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
            local_directory=scratch,
            preload=["smfh.engine.worker"],
        )
        with suppress(BrokenPipeError):  # the engine's process has ended meanwhile
            print(cluster.scheduler_address, file=output, flush=True)
        Thread(target=replace_dead_workers, args=(cluster,), daemon=True).start()
        for line in sys.stdin:
            cluster.scale(int(line))
    os._exit(0)  # worker processes end with this one, even if busy


def replace_dead_workers(cluster: LocalCluster) -> None:
    """Replace dead workers; Dask does not restart a worker that was killed while starting."""
    dead_before: set[object] = set()
    while True:
        sleep(CHECK_SECONDS)
        dead = {name for name, nanny in list(cluster.workers.items()) if nanny.pid is None}
        if gone := dead & dead_before:
            count = len(cluster.worker_spec)
            for name in gone:
                cluster.worker_spec.pop(name, None)
            cluster.scale(count)
        dead_before = dead - gone


if __name__ == "__main__":
    main(int(sys.argv[1]))

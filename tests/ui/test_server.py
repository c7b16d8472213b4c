"""What visitors share: data is loaded once, nobody blocks others, and private data goes with its owner."""

import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from smfh.datasets import DatasetSource, Planted, Synthetic
from smfh.datasets.user_data import UserDataset, example_archive
from smfh.hashing import make_method
from smfh.memory import BoundedCache
from smfh.runs import find_or_train
from smfh.runs.limits import GB
from smfh.types import InputError
from smfh.ui import server
from smfh.ui.visitor import PrivateKey

WAIT_SECONDS = 60  # a test that hangs fails after this time


@dataclass(frozen=True)
class Damaged(DatasetSource):
    """A data set that cannot be loaded, and counts how often it was tried."""

    name: ClassVar[str] = "damaged"
    is_light: ClassVar[bool] = True  # loaded in this process
    card: ClassVar = Planted.card
    loads: ClassVar[list[int]] = []

    def load(self, split="default", seed=0, on_progress=None):
        self.loads.append(seed)
        raise InputError("A file is damaged.")


@pytest.fixture
def empty_server(monkeypatch):
    monkeypatch.setattr(server, "_shared", BoundedCache(32))


@pytest.fixture(scope="module")
def run():
    source = Planted(items=40)
    return find_or_train(None, source, make_method("cvh", bits=4), *source.load())


def test_a_failed_load_is_reported_and_tried_again():
    for _ in range(2):
        with pytest.raises(InputError, match="damaged"):
            server.load_source(Damaged())
    assert len(Damaged.loads) == 2


def test_data_sets_in_use_share_the_memory_limit(empty_server, monkeypatch):
    gc.collect()  # data of earlier tests
    source = Synthetic(items=1000)
    with server._weak_lock:
        used = sum(server._live_bytes.values())
    monkeypatch.setenv("SMFH_MAX_GB", str((used + 5 * source.bytes) / GB))
    monkeypatch.setattr("smfh.ui.server.check_source_size", lambda source, limits: None)
    held = [server.load_source(replace(source, data_seed=seed), "ann") for seed in range(5)]
    with pytest.raises(InputError, match=r"visitors of this server use \d+\.\d GB. Use fewer items"):
        server.load_source(replace(source, data_seed=5), "bob")
    held.clear()
    assert len(server.load_source(replace(source, data_seed=5), "bob")[0]) == 1000


def test_memory_can_be_checked_while_other_sessions_load_and_derive(run, monkeypatch):
    monkeypatch.setenv("SMFH_MAX_GB", "100")
    data, split = Planted(items=20).load()
    stop, source = threading.Event(), Synthetic(items=1000)

    def load_and_derive():
        while not stop.is_set():
            server.add_upload("ann", UserDataset(), (data.take(range(10)), split))
            server.derive(replace(run), "result", lambda: 1)

    with ThreadPoolExecutor(4) as pool:
        others = [pool.submit(load_and_derive) for _ in range(3)]
        for _ in range(300):
            server.check_memory(source)
        stop.set()
    server.forget("ann")
    for one in others:
        one.result()


def test_an_empty_server_drops_everything_but_uploads(empty_server, run):
    upload = UserDataset(example_archive(), "mine.zip")
    server.load_source(run.source)
    server.add_upload("ann", upload, upload.load())
    job = server.job_queue().submit(run.key, lambda context: run)
    assert job.wait(timeout=WAIT_SECONDS)
    assert server.derive(run, "result", lambda: 1) == server.derive(run, "result", lambda: 2) == 1
    server.forget_all()
    assert server.job_queue().find(run.key) is None
    assert server.peek_source(run.source) is None
    assert server.derive(run, "result", lambda: 3) == 3
    assert server.upload_of("ann") is not None
    server.forget("ann")
    assert server.upload_of("ann") is None


@pytest.mark.parametrize("file", ["", "0123"])
def test_private_jobs_go_with_their_owner(run, file):
    keys = [PrivateKey(owner, run.key, file) for owner in ("ann", "bob")]
    jobs = [server.job_queue().submit(key, lambda context: run, key.owner) for key in keys]
    assert all(job.wait(timeout=WAIT_SECONDS) for job in jobs)
    snapshots = [server.snapshots_of(key) for key in keys]
    server.forget("ann")
    assert [server.job_queue().find(key) for key in keys] == [None, jobs[1]]
    assert server.snapshots_of(keys[0]) is not snapshots[0]
    assert server.snapshots_of(keys[1]) is snapshots[1]
    server.forget("bob")


def test_loading_stops_when_all_viewers_have_left(empty_server):
    source = Synthetic(items=50_000)
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(server.load_source, source, "ann")
        while (job := server.data_queue().find(source)) is None:
            assert not loading.done()
        job.leave("ann")
        with pytest.raises(InputError, match="no page needs it"):
            loading.result(WAIT_SECONDS)


def test_reading_has_a_deadline_and_a_visitor_reads_one_file_at_a_time():
    has_begun = threading.Event()
    assert server.read_in_worker("bob", abs, -1) == 1  # starts the workers
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(server.read_in_worker, "ann", time.sleep, 60, max_seconds=10.0, check=has_begun.set)
        assert has_begun.wait(WAIT_SECONDS)
        with pytest.raises(InputError, match="Another tab of yours is reading"):
            server.read_in_worker("ann", abs, -1)
        assert server.read_in_worker("bob", abs, -2) == 2
        with pytest.raises(InputError, match="more than 10 s, which is the limit"):
            slow.result(WAIT_SECONDS)
    assert server.read_in_worker("ann", abs, -1) == 1


def test_every_reading_has_a_memory_limit():
    with pytest.raises(InputError, match="needs too much memory"):
        server.read_in_worker("ann", bytearray, 1 << 30, max_bytes=1 << 28)
    assert len(server.read_in_worker("ann", bytearray, 1 << 10, max_bytes=1 << 28)) == 1 << 10


def test_visitors_who_read_files_leave_workers_to_others():
    stop, begun = threading.Event(), threading.Semaphore(0)

    def check():
        begun.release()
        if stop.is_set():
            raise InputError("stopped")

    with ThreadPoolExecutor(server.MAX_READERS) as pool:
        names = [f"visitor {number}" for number in range(server.MAX_READERS)]
        slow = [pool.submit(server.read_in_worker, name, time.sleep, 60, check=check) for name in names]
        for _ in range(4 * len(slow)):
            assert begun.acquire(timeout=WAIT_SECONDS)
        with pytest.raises(InputError, match="Too many visitors are reading files"):
            server.read_in_worker("ann", abs, -1, max_seconds=0.3)
        assert server.local_engine().call(abs, -1) == 1
        stop.set()
        assert all(isinstance(one.exception(WAIT_SECONDS), InputError) for one in slow)
    assert server.read_in_worker("ann", abs, -1) == 1

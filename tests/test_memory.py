"""The bounded cache: values are computed once, and the least recently used are dropped."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from smfh.memory import BoundedCache, forget_caches

WAIT_SECONDS = 60  # a test that hangs fails after this time


def test_concurrent_requests_compute_a_value_once():
    cache, computed, start = BoundedCache(4), [], threading.Barrier(8)

    def request(_):
        start.wait(WAIT_SECONDS)
        return cache.get("a", lambda: computed.append(1) or object())

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(request, range(8)))
    assert len(computed) == len(set(map(id, found))) == 1


def test_the_least_recently_used_value_is_dropped():
    cache = BoundedCache(2)
    for key in "abac":
        cache.get(key, lambda key=key: key)
    assert [cache.peek(key) for key in "abc"] == ["a", None, "c"]


def test_unwanted_values_are_dropped():
    cache = BoundedCache(8)
    for key in range(4):
        cache.get(key, lambda key=key: key)
    cache.forget_where(lambda key: key % 2 == 0)
    assert [cache.peek(key) for key in range(4)] == [None, 1, None, 3]
    cache.forget_where()
    assert cache.peek(1) is None


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_a_waiting_thread_computes_the_value_if_the_first_one_fails(error):
    cache, started, gate = BoundedCache(4), threading.Event(), threading.Event()

    def fail():
        started.set()
        assert gate.wait(WAIT_SECONDS)
        raise error

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, "a", fail)
        assert started.wait(WAIT_SECONDS)
        second = pool.submit(cache.get, "a", lambda: "computed")
        gate.set()
        assert second.result(WAIT_SECONDS) == "computed"
        assert isinstance(first.exception(), error)


def test_all_caches_are_emptied_but_those_that_last():
    caches = [BoundedCache(4), BoundedCache(4), BoundedCache(4, lasts=True)]
    for cache in caches:
        cache.get("a", lambda: "computed")
    forget_caches()
    assert [cache.peek("a") for cache in caches] == [None, None, "computed"]

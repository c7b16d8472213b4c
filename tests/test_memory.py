"""Values made once: nobody waits for another's, and what was used last stays."""

import threading

import pytest

from smfh.memory import Memory

SOON = 60  # seconds after which a test that hangs fails


def test_a_value_is_made_once_however_many_ask_at_once():
    memory, made, asked = Memory(4), [], threading.Barrier(8)

    def make():
        made.append(1)
        return object()

    found = []

    def ask():
        asked.wait(SOON)
        found.append(memory.get("a", make))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert len(made) == 1
    assert len(set(map(id, found))) == 1


def test_nobody_waits_for_a_value_of_another_key():
    memory, begun, gate = Memory(4), threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert gate.wait(SOON)
        return "slow"

    other = threading.Thread(target=memory.get, args=("slow", slow))
    other.start()
    assert begun.wait(SOON)
    assert memory.get("quick", lambda: "quick") == "quick"
    assert memory.peek("slow") is None
    gate.set()
    other.join(SOON)
    assert memory.peek("slow") == "slow"


def test_the_values_used_last_are_remembered():
    memory = Memory(2)
    for key in "ab":
        memory.get(key, lambda key=key: key)
    memory.get("a", lambda: "never")
    memory.get("c", lambda: "c")
    assert [memory.peek(key) for key in "abc"] == ["a", None, "c"]


def test_what_cannot_be_made_is_told_and_tried_again():
    memory = Memory(2)
    with pytest.raises(ZeroDivisionError):
        memory.get("a", lambda: 1 / 0)
    assert memory.peek("a") is None
    assert memory.get("a", lambda: 2) == 2


def test_unwanted_values_are_forgotten():
    memory = Memory(8)
    for key in range(6):
        memory.get(key, lambda key=key: key)
    memory.forget_where(lambda key: key % 2 == 0)
    memory.forget(5)
    assert [memory.peek(key) for key in range(6)] == [None, 1, None, 3, None, None]


def test_who_waits_makes_the_value_where_its_maker_is_ended():
    memory, begun, gate = Memory(4), threading.Event(), threading.Event()

    class Ended(BaseException):
        pass

    def ended():
        begun.set()
        assert gate.wait(SOON)
        raise Ended

    def make_first():
        with pytest.raises(Ended):
            memory.get("a", ended)

    first = threading.Thread(target=make_first)
    first.start()
    assert begun.wait(SOON)
    found = []
    second = threading.Thread(target=lambda: found.append(memory.get("a", lambda: "made")))
    second.start()
    gate.set()
    first.join(SOON)
    second.join(SOON)
    assert found == ["made"]

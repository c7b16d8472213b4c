"""Rooms of a class: codes, limits, expiry, replaced answers, rights, and many threads."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import pytest
from hostile_texts import TEXTS

from smfh.lessons.rooms import (
    ALPHABET,
    CODE_LENGTH,
    MAX_ANSWERS,
    MAX_OPTIONS,
    MAX_ROOMS,
    ROOM_SECONDS,
    Room,
    Rooms,
    read_code,
)
from smfh.types import InputError

TEACHER, ANN, BOB = "teacher", "ann", "bob"


class Clock:
    """A clock that moves only when a test moves it."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def rooms(clock):
    return Rooms(clock)


def test_codes_are_short_unambiguous_and_different(rooms):
    codes = {rooms.create(f"teacher {k}") for k in range(MAX_ROOMS)}
    assert len(codes) == MAX_ROOMS
    assert all(len(code) == CODE_LENGTH and set(code) <= set(ALPHABET) for code in codes)
    assert not set("ILOU0158") & set(ALPHABET)


def test_a_code_is_read_in_any_case_and_everything_else_is_refused():
    assert read_code(" bcdfg\n") == "BCDFG"
    for wrong in (*TEXTS, "", "BCDF", "BCDFGH", "BCDFO", "BCDF1", "B" * 10_000, "BCDFG\nBCDFG", "ＢＣＤＦＧ"):
        with pytest.raises(InputError, match="A room code has 5 letters") as error:
            read_code(wrong)
        assert len(str(error.value)) < 300


def test_answers_are_counted_by_lesson_and_a_new_one_replaces_the_old_one(rooms):
    code = rooms.create(TEACHER)
    rooms.send(code, "ties", ANN, 0)
    rooms.send(code, "ties", BOB, 2)
    rooms.send(code, "seed", BOB, 1)
    assert rooms.find(code).counts("ties", 4) == (1, 0, 1, 0)
    rooms.send(code, "ties", ANN, 2)
    assert rooms.find(code).counts("ties", 4) == (0, 0, 2, 0)
    assert rooms.find(code).counts("seed", 2) == (0, 1)
    assert rooms.find(code).counts("ties", 2) == (0, 0)  # options that the question does not have
    assert rooms.find(code).answers["ties", ANN] == 2
    assert ("seed", ANN) not in rooms.find(code).answers


def test_only_the_owner_closes_the_room(rooms):
    code = rooms.create(TEACHER)
    rooms.send(code, "ties", ANN, 1)
    assert rooms.owned_by(ANN) is None
    rooms.close(code, ANN)
    assert rooms.owned_by(TEACHER).code == code
    rooms.close(code, TEACHER)
    assert rooms.owned_by(TEACHER) is None
    assert rooms.find(code) is None
    with pytest.raises(InputError, match=f"Room {code} is not open"):
        rooms.send(code, "ties", ANN, 1)


def test_a_visitor_has_one_room_and_a_server_a_limited_number(rooms, clock):
    codes = [rooms.create(f"teacher {k}") for k in range(MAX_ROOMS)]
    assert rooms.create("teacher 3") == codes[3]
    with pytest.raises(InputError, match=f"All {MAX_ROOMS} rooms"):
        rooms.create(TEACHER)
    rooms.close(codes[0], "teacher 0")
    assert rooms.create(TEACHER)
    clock.now += ROOM_SECONDS
    assert rooms.create("another teacher")
    assert len(rooms._rooms) == 1


def test_a_full_room_accepts_only_new_versions_of_its_answers(rooms):
    code = rooms.create(TEACHER)
    for k in range(MAX_ANSWERS):
        rooms.send(code, "ties", f"student {k}", 0)
    with pytest.raises(InputError, match=f"full: it has {MAX_ANSWERS} answers"):
        rooms.send(code, "ties", ANN, 1)
    assert ("ties", ANN) not in rooms.find(code).answers
    rooms.send(code, "ties", "student 7", 1)
    assert rooms.find(code).answers["ties", "student 7"] == 1
    assert rooms.find(code).counts("ties", 2) == (MAX_ANSWERS - 1, 1)


@pytest.mark.parametrize("option", [-1, MAX_OPTIONS, 10**30])
def test_an_option_out_of_range_is_refused(rooms, option):
    code = rooms.create(TEACHER)
    with pytest.raises(InputError, match="An answer must be"):
        rooms.send(code, "ties", ANN, option)
    assert ("ties", ANN) not in rooms.find(code).answers


def test_a_room_ends_two_hours_after_the_last_answer(rooms, clock):
    code = rooms.create(TEACHER)
    clock.now += ROOM_SECONDS - 1
    rooms.send(code, "ties", ANN, 0)
    clock.now += ROOM_SECONDS - 1
    assert rooms.find(code).counts("ties", 2) == (1, 0)  # looking at it does not extend its time
    clock.now += 1
    assert rooms.find(code) is None
    assert rooms.owned_by(TEACHER) is None


def test_expired_rooms_are_released_without_a_visit(rooms, clock):
    rooms.create(TEACHER)
    clock.now += ROOM_SECONDS / 2
    rooms.create(ANN)
    clock.now += ROOM_SECONDS / 2
    assert len(rooms._rooms) == 2
    rooms.forget_expired()
    assert len(rooms._rooms) == 1


def test_a_room_is_a_frozen_value_that_does_not_print_visitors():
    room = Room("BCDFG", "secret", 0.0, {("ties", "secret"): 1})
    assert "secret" not in repr(room)
    with pytest.raises(FrozenInstanceError):
        room.owner = ANN


def test_no_answer_is_lost_between_threads(rooms):
    code = rooms.create(TEACHER)
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(rooms.send, code, "ties", f"student {k}", k % 4) for k in range(200)]
        made = [pool.submit(rooms.create, ANN) for _ in range(50)]
    assert {one.exception() for one in sent} == {None}
    assert len({one.result() for one in made}) == 1
    assert rooms.find(code).counts("ties", 4) == (50, 50, 50, 50)


def test_only_the_owner_shows_the_measured_answer_and_only_of_one_lesson(rooms):
    code = rooms.create(TEACHER)
    rooms.send(code, "ties", ANN, 1)
    rooms.show_answer(code, ANN, "ties")
    assert "ties" not in rooms.find(code).shown
    rooms.show_answer(code, TEACHER, "ties")
    assert "ties" in rooms.find(code).shown
    assert "seed" not in rooms.find(code).shown
    rooms.show_answer("BCDFG", TEACHER, "ties")  # no such room
    assert rooms.find("BCDFG") is None

"""Rooms in which the students of a class answer the questions of lessons; in memory only, without names."""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from time import monotonic

from smfh.types import InputError

ALPHABET, CODE_LENGTH = "BCDFGHJKMNPQRSTVWXYZ", 5  # no I, L and O; no vowels, so a code is not a word
MAX_ROOMS, MAX_ANSWERS = 64, 500  # on a server; in a room, over all lessons
MAX_OPTIONS = 100  # of a question
ROOM_SECONDS = 2 * 3600.0  # from the last use of a room until it is deleted
QUOTE_CHARACTERS = 40


@dataclass(frozen=True)
class Room:
    """The state of a room, an immutable value. Names of visitors are secret, so they are not printed."""

    code: str
    owner: str = field(repr=False)  # the visitor who created it
    last_used: float  # in seconds of the clock: when it was created, or the last answer was sent
    answers: Mapping[tuple[str, str], int] = field(default_factory=dict, repr=False)  # by lesson and visitor
    shown: frozenset[str] = frozenset()  # lessons whose measured answer the owner has shown

    def counts(self, lesson: str, options: int) -> tuple[int, ...]:
        """Return how many visitors chose each option of a lesson."""
        chosen = [option for (name, _), option in self.answers.items() if name == lesson]
        return tuple(chosen.count(option) for option in range(options))


def read_code(text: str) -> str:
    """Return the room code in a typed text or a link; upper and lower case are the same.

    Raises
    ------
    InputError
        If the text cannot be a room code.

    Examples
    --------
    >>> read_code(" kxbmt ")
    'KXBMT'
    """
    code = text.strip()[:QUOTE_CHARACTERS].upper()
    if not re.fullmatch(f"[{ALPHABET}]{{{CODE_LENGTH}}}", code):
        raise InputError(
            f"A room code has {CODE_LENGTH} letters, each one of {ALPHABET}; got {text[:QUOTE_CHARACTERS]!r}."
        )
    return code


class Rooms:
    """All rooms of a server, for many threads.

    A room ends ROOM_SECONDS after it was created or received its last answer. Looking at it does not extend
    this time, so that a forgotten browser tab keeps no room open.

    Parameters
    ----------
    clock
        Returns the time in seconds; tests replace it.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._rooms: dict[str, Room] = {}  # by code
        self._lock = Lock()

    @contextmanager
    def _open_rooms(self) -> Iterator[dict[str, Room]]:
        """Yield the rooms by code to one thread at a time, without the expired ones."""
        with self._lock:
            end = self._clock() - ROOM_SECONDS
            for code in [room.code for room in self._rooms.values() if room.last_used <= end]:
                del self._rooms[code]
            yield self._rooms

    def create(self, owner: str) -> str:
        """Return the code of a new room, or of the room that this visitor already has.

        Raises
        ------
        InputError
            If the server has MAX_ROOMS rooms.
        """
        with self._open_rooms() as rooms:
            if (existing := _owned(rooms, owner)) is not None:
                return existing.code
            if len(rooms) >= MAX_ROOMS:
                raise InputError(f"All {MAX_ROOMS} rooms of this server are in use. Try again later.")
            while (code := "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))) in rooms:
                pass
            rooms[code] = Room(code, owner, self._clock())
            return code

    def owned_by(self, visitor: str) -> Room | None:
        """Return the room that this visitor has created, if any."""
        with self._open_rooms() as rooms:
            return _owned(rooms, visitor)

    def find(self, code: str) -> Room | None:
        """Return the room with this code; None if it is not open."""
        with self._open_rooms() as rooms:
            return rooms.get(code)

    def send(self, code: str, lesson: str, visitor: str, option: int) -> None:
        """Save a visitor's answer to a lesson, in place of an earlier one.

        Raises
        ------
        InputError
            If the room is closed or full, or the option is out of range.
        """
        if not 0 <= option < MAX_OPTIONS:
            raise InputError(f"An answer must be an option from 0 to {MAX_OPTIONS - 1}; got {option}.")
        with self._open_rooms() as rooms:
            if (room := rooms.get(code)) is None:
                raise InputError(f"Room {code[:QUOTE_CHARACTERS]} is not open.")
            answers = {**room.answers, (lesson, visitor): option}
            if len(answers) > MAX_ANSWERS:
                raise InputError(f"Room {code} is full: it has {MAX_ANSWERS} answers.")
            rooms[code] = replace(room, answers=answers, last_used=self._clock())

    def show_answer(self, code: str, owner: str, lesson: str) -> None:
        """Show the measured answer of a lesson in a room; no effect for visitors who do not own the room."""
        with self._open_rooms() as rooms:
            if (room := rooms.get(code)) is not None and room.owner == owner:
                rooms[code] = replace(room, shown=room.shown | {lesson})

    def close(self, code: str, owner: str) -> None:
        """Delete a room with its answers; without effect for visitors who have not created it."""
        with self._open_rooms() as rooms:
            if (room := rooms.get(code)) is not None and room.owner == owner:
                del rooms[code]

    def forget_expired(self) -> None:
        """Delete the rooms that were not used for ROOM_SECONDS."""
        with self._open_rooms():
            pass


def _owned(rooms: Mapping[str, Room], owner: str) -> Room | None:
    return next((room for room in rooms.values() if room.owner == owner), None)

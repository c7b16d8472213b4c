"""Damage of every size, at random and the same for the same seed: to bytes, and to values of a header."""

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

SIGNS = [  # that mean something to one parser or another
    *b"True -1 0 99999999999999999999 1e999 nan <U3 |O |V8 ( ' , \" ; labels image:1 PK\5\6 PK\1\2".split(
        b" "
    ),
    *(b"\r", b"\n\n", b"\0" * 4, "😀".encode(), b"{", b"]", b"[[[[", b"9" * 4400),
    *(b"\xff" * 4, b"\x7f" + b"\xff" * 3, b"\xff" * 3 + b"\x7f", b"\xd8\x00"),
]
VALUES: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**30, 10**400, 1e308, -1e308, float("inf"), float("nan")),
    *("", "x" * 5000, "nan", "1e999", "9" * 4400, "\0", "\ud800", "<b>", "../../x", "smfh", "emoji", "text"),
    *([], {}, [[]], [None], {"a": 1}, [0] * 1000, {"": {"": {"": []}}}, [1e400] * 3),
]


Rng = np.random.Generator | None  # None changes nothing


def change(content: bytes, rng: Rng) -> bytes:
    """One to four small things done to the file: a byte, a sign, a piece lost, doubled or moved."""
    if rng is None:
        return content
    changed = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        start = int(rng.integers(len(changed)))
        end = start + int(rng.integers(1, 40))
        kind = rng.integers(7)
        if kind == 0:
            changed[start] = rng.integers(256)
        elif kind == 1:
            changed[start] ^= 1 << rng.integers(8)
        elif kind == 2:
            sign = SIGNS[rng.integers(len(SIGNS))]
            changed[start : start + len(sign) * int(rng.integers(2))] = sign
        elif kind == 3:
            del changed[start:end]
        elif kind == 4:
            changed[start:start] = changed[start:end]
        elif kind == 5:
            piece = changed[start:end]
            del changed[start:end]
            place = int(rng.integers(len(changed) + 1))
            changed[place:place] = piece
        elif rng.random() < 0.2:
            del changed[start:]
        if not changed:
            break
    return bytes(changed)


def change_value(value: Any, rng: np.random.Generator) -> Any:
    """The same with one to three places of it changed: another kind, another size, lost, or wrapped."""
    changed = copy.deepcopy(value)
    for _ in range(rng.integers(1, 4)):
        places = list(_places(changed))
        if not places:
            return another(rng)
        inside, key = places[rng.integers(len(places))]
        kind = rng.integers(8)
        if kind == 0:
            del inside[key]
        elif kind == 1:
            inside[key] = [inside[key]]
        elif kind == 2:
            other, at = places[rng.integers(len(places))]
            inside[key] = copy.deepcopy(other[at])
        else:
            inside[key] = another(rng)
    return changed


def another(rng: np.random.Generator) -> Any:
    """A value that nobody expects."""
    return copy.deepcopy(VALUES[rng.integers(len(VALUES))])


def _places(value: Any) -> Any:
    """Everything inside a value, as (where, key)."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, own in list(inner):
        yield value, key
        yield from _places(own)


def change_json(text: bytes, rng: Rng) -> bytes:
    """A value inside is changed, or, one time in four, the text itself."""
    if rng is None or rng.random() < 0.25:
        return change(text, rng)
    return json.dumps(change_value(json.loads(text), rng)).encode()


def one_of(contents: Sequence[bytes], how: Callable[[bytes, Rng], bytes] = change) -> Callable[[Rng], bytes]:
    """Makes a changed copy of one of the files."""
    return lambda rng: how(contents[0 if rng is None else rng.integers(len(contents))], rng)

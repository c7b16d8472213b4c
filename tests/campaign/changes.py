"""Random damage to bytes and to JSON values, the same for the same seed."""

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

TOKENS = [  # that mean something to one parser or another
    *b"True -1 0 99999999999999999999 1e999 nan <U3 |O |V8 ( ' , \" ; labels image:1 PK\5\6 PK\1\2".split(b" "),
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
    """One to four small changes: a byte, a bit, a token, or a piece that is lost, doubled or moved."""
    if rng is None:
        return content
    changed = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        start = int(rng.integers(len(changed)))
        end = start + int(rng.integers(1, 40))
        piece, token = changed[start:end], TOKENS[rng.integers(len(TOKENS))]
        kind = rng.integers(7)
        if kind == 0:
            changed[start] = rng.integers(256)
        elif kind == 1:
            changed[start] ^= 1 << rng.integers(8)
        elif kind == 2:
            changed[start : start + len(token) * int(rng.integers(2))] = token
        elif kind == 3:
            del changed[start:end]
        elif kind == 4:
            changed[start:start] = piece
        elif kind == 5:
            del changed[start:end]
            place = int(rng.integers(len(changed) + 1))
            changed[place:place] = piece
        elif rng.random() < 0.2:
            del changed[start:]
        if not changed:
            break
    return bytes(changed)


def change_value(value: Any, rng: np.random.Generator) -> Any:
    """A copy with one to three values replaced, removed, or put into a list."""
    changed = copy.deepcopy(value)
    for _ in range(rng.integers(1, 4)):
        places = list(_places(changed))
        if not places:
            return copy.deepcopy(VALUES[rng.integers(len(VALUES))])
        inside, key = places[rng.integers(len(places))]
        other, other_key = places[rng.integers(len(places))]
        kind = rng.integers(8)
        if kind == 0:
            del inside[key]
        else:
            replacement = {1: [inside[key]], 2: other[other_key]}.get(kind, VALUES[rng.integers(len(VALUES))])
            inside[key] = copy.deepcopy(replacement)
    return changed


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every value inside a value, as (container, key)."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(inner):
        yield value, key
        yield from _places(child)


def change_json(text: bytes, rng: Rng) -> bytes:
    """Change a value inside or, one time in four, the text itself."""
    if rng is None or rng.random() < 0.25:
        return change(text, rng)
    return json.dumps(change_value(json.loads(text), rng)).encode()


def one_of(contents: Sequence[bytes], how: Callable[[bytes, Rng], bytes] = change) -> Callable[[Rng], bytes]:
    """Make a changed copy of one of the files."""
    return lambda rng: how(contents[0 if rng is None else rng.integers(len(contents))], rng)

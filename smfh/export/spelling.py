"""How Python reads words, as tables for a page: the browser's Unicode may be another year's."""

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfh.asking import spell_out
from smfh.features.text import PIECE, UNSPACED, Vocabulary, tokens

ASSIGNED = (range(0xD800), range(0xE000, 0x40000), range(0xE0000, 0xE0200))  # points that may mean something


@cache
def characters() -> list[str]:
    return [chr(point) for points in ASSIGNED for point in points]


def spelling_of(vocabulary: Vocabulary) -> dict[str, Any]:
    """What `words` needs to know of characters: lower case, and the names of symbols that matter.

    Those are symbols whose names have known words, and those that would become letters where nobody names
    them: 🈯 is read as 指 by NFKC.
    """
    known = set(vocabulary.tokens)
    symbols = (c for c in characters() if unicodedata.category(c) == "So")
    names = {c: spell_out(c).strip() for c in symbols}
    return {
        "unspaced": UNSPACED,
        "piece": PIECE,
        "fold": {c: c.casefold() for c in characters() if c.casefold() != c},
        "names": {
            c: name
            for c, name in names.items()
            if _has_letters(c) or known & set(tokens(name, vocabulary.letters))
        },
    }


def _has_letters(symbol: str) -> bool:
    """Whether letters or digits come out of it when it is put into one spelling."""
    return any(c.isalnum() for c in unicodedata.normalize("NFKC", symbol))


@cache
def letter_ranges() -> NDArray[np.uint32]:
    """Letters and digits as first, last, first, last, …"""
    return _ranges(str.isalnum)


@cache
def mark_ranges() -> NDArray[np.uint32]:
    """Marks that belong to the letter before them, in the same way."""
    return _ranges(lambda c: unicodedata.category(c)[0] == "M")


def _ranges(is_meant: Callable[[str], bool]) -> NDArray[np.uint32]:
    points = np.array([ord(c) for c in characters() if is_meant(c)], dtype=np.uint32)
    first = np.diff(points, prepend=0) != 1
    first[0] = True
    return np.column_stack([points[first], points[np.append(first[1:], True)]]).ravel()

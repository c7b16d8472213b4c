"""Related English words, to replace typed words that no training text contains.

A table has a vector for each of 50,000 words; the cosine of two vectors says how related the words are. The
file is read when it is first needed. Stems relate forms of the same word: rainy and rain.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from smfh.files import convert_errors, read_npz
from smfh.folders import app_folder
from smfh.types import EPS, FloatArray, InputError

FILE = app_folder() / "assets" / "words.npz"
RELATED_WORDS = 3
CLOSE_COSINE = 0.4  # with a lower cosine, a related word is only a guess
MIN_STEM = 3  # letters
# Least cosine of two forms of a word: happiness and happy have .55, sweater and sweat .50, moth and mother .21.
# The median over the table's verbs with their forms on -ing, -ed and -s is .81, .71 and .85.
FORM_COSINE = 0.52
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the and or but if of to in on at by for from with as is am are was were be been being do does "
        "did have has had i me my you your he him his she her it its we us our they them their this that "
        "these those there what which who some any so very can could will would should may might must please",
    )
)
DOUBLED = tuple(2 * letter for letter in "bdgmnprt")  # run for running; full, miss and buzz stay the same


@dataclass(frozen=True, eq=False)
class WordTable:
    """Words and their vectors; the cosine of two vectors is high for words of related meaning."""

    rows: Mapping[str, int]
    vectors: NDArray[np.int8]  # (words, dimensions)

    def related(self, word: str, known: Sequence[str], limit: int = RELATED_WORDS) -> dict[str, float]:
        """Return the `known` words most related to `word`, with their cosines, most related first.

        These are up to `limit` words with a cosine of at least CLOSE_COSINE or, if there are none, the single
        most related word. The result is empty if the table does not contain `word`.
        """
        present = [other for other in known if other in self.rows]
        if word not in self.rows or not present:
            return {}
        cosines = self._units(present) @ self._units([word])[0]
        order = [k for k in np.argsort(-cosines, kind="stable")[:limit] if cosines[k] > 0]
        close = [k for k in order if cosines[k] >= CLOSE_COSINE] or order[:1]
        return {present[k]: float(cosines[k]) for k in close}

    def cosine(self, word: str, other: str) -> float | None:
        """Return the cosine of two words; None if the table does not contain both."""
        if word not in self.rows or other not in self.rows:
            return None
        first, second = self._units([word, other])
        return float(first @ second)

    def knows_language(self, known: Sequence[str]) -> bool:
        """Whether at least half of the words are in the table, so that the language is probably English."""
        words = [word for word in known if word.isalpha()]
        return 2 * sum(word in self.rows for word in words) >= len(words) > 0

    def _units(self, words: Sequence[str]) -> FloatArray:
        Z = self.vectors[[self.rows[word] for word in words]].astype(np.float64)
        units: FloatArray = Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), EPS)
        return units


@cache
def load_words() -> WordTable:
    """Read the table of words from its file."""
    if not FILE.is_file():
        raise InputError(f"The word table assets/{FILE.name} is missing. Install the program again.")
    with convert_errors(FILE.name):
        arrays = read_npz(FILE, ["words", "vectors"])
        words = arrays["words"].tobytes().decode("ascii").split()
        vectors = arrays["vectors"]
        if vectors.dtype != np.int8 or vectors.ndim != 2 or len(vectors) != len(words):
            raise InputError(
                f"{FILE.name} is damaged: it does not have one vector for each of its {len(words):,} words."
            )
        return WordTable({word: row for row, word in enumerate(words)}, vectors)


@lru_cache(100_000)
def stem(word: str) -> str:
    """Return an English word without its ending: rain for rainy, run for running, baby for babies.

    "er" and "est" are removed only if the table has the rest as a word, such as "fast" for "faster". They are
    also removed from "forest", because the table has "for"; therefore `is_form` compares meanings as well.
    """
    for ending, instead in (("ies", "y"), ("ily", "y"), ("iest", "y"), ("ier", "y"), ("iness", "y")):
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM - 1:
            return stem(word.removesuffix(ending) + instead)
    for ending in ("ingly", "edly", "ness", "ing", "est", "ed", "er", "ly", "es", "s", "y", "e"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= MIN_STEM and not word.endswith("ss"):
            rest = rest[:-1] if rest.endswith(DOUBLED) else rest
            if ending not in ("er", "est") or not load_words().rows.keys().isdisjoint((rest, f"{rest}e")):
                return rest
    return word


def is_form(word: str, other: str) -> bool:
    """Whether two words are forms of one word: rain and rainy are, moth and mother are not.

    Forms have the same stem and, except for a regular plural, a cosine of at least FORM_COSINE if the table
    has both words.
    """
    if word == other or stem(word) != stem(other):
        return word == other
    short, long = sorted((word, other), key=len)
    if long in (f"{short}s", f"{short}es", f"{short.removesuffix('y')}ies"):
        return True
    cosine = load_words().cosine(word, other)
    return cosine is None or cosine >= FORM_COSINE


def forms_of(word: str, known: Iterable[str]) -> list[str]:
    """Return the known words that are forms of `word`, shortest first."""
    return sorted((other for other in known if is_form(word, other)), key=lambda other: (len(other), other))

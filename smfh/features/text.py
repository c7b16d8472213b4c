"""Sentences → counts of words, tf-idf; the vocabulary is kept for a person's own sentence.

Languages with spaces are read word by word. Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer put no
spaces between words, or glue endings to them: their runs of letters are read as single characters and
overlapping pairs. One character often is a word there (猫, cat), and pairs tell which one is meant (熱帯魚).
Short names in languages that inflect gain by `letters=3`: a word then also counts as its letter triples, so
that *gato* and *gatos* meet. Long texts do as well without.
"""

import difflib
import re
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from scipy import sparse

from smfh.features.maps import row_norms, scale_rows
from smfh.types import EPS, FloatArray, InputError, Matrix

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
RUNS = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
IS_UNSPACED = re.compile(f"[{UNSPACED}]")
PIECE = "~"  # marks letter n-grams, so that the triple ~cat is not the word cat


def words(sentence: str) -> list[str]:
    """Runs of letters, digits and their marks in one spelling and lower case; all else divides them."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", sentence).casefold())
    spaced = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in folded)
    runs = [run for word in spaced.split() for run in RUNS.findall(word)]
    return [run for run in runs if any(c.isalnum() for c in run)]


def spell(word: str, letters: int = 0) -> list[str]:
    """The tokens that stand for a word."""
    if IS_UNSPACED.match(word):
        return _grams(word, 1) + _grams(word, 2)
    pieces = [PIECE + gram for gram in _grams(f" {word} ", letters)] if letters else []
    return [word, *pieces]


def _grams(word: str, length: int) -> list[str]:
    return [word[i : i + length] for i in range(len(word) - length + 1)]


def tokens(sentence: str, letters: int = 0) -> list[str]:
    return [token for word in words(sentence) for token in spell(word, letters)]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens that training sentences taught, in the order of the columns."""

    tokens: tuple[str, ...]
    letters: int = 0  # length of the letter n-grams beside each word; 0: none

    def count(self, sentences: Sequence[str]) -> sparse.csr_array:
        """How often each token stands in each sentence."""
        known = [[self._columns[t] for t in tokens(s, self.letters) if t in self._columns] for s in sentences]
        ends = np.cumsum([0, *map(len, known)], dtype=np.int32)
        columns = np.fromiter(chain.from_iterable(known), dtype=np.int32, count=ends[-1])
        ones = np.ones(len(columns), dtype=np.float32)
        counts = sparse.csr_array((ones, columns, ends), shape=(len(known), len(self.tokens)))
        counts.sum_duplicates()
        return counts

    def unknown_words(self, sentence: str) -> list[str]:
        """The words that training never taught, each once, as they are read."""
        return [word for word in dict.fromkeys(words(sentence)) if not self.knows(word)]

    def knows(self, word: str) -> bool:
        """A word with spaces around it is known as a whole, a run without them by any part."""
        return any(token in self._columns for token in spell(word))

    def near_spellings(self, word: str, most: int = 3) -> list[str]:
        """Known words that look like this one, the likest first."""
        known = [token for token in self.tokens if not token.startswith(PIECE)]
        return difflib.get_close_matches(" ".join(words(word)), known, n=most, cutoff=0.75)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {token: column for column, token in enumerate(self.tokens)}


def fit_vocabulary(
    sentences: Sequence[str], min_items: int = 1, max_tokens: int | None = None, letters: int = 0
) -> Vocabulary:
    """Tokens of at least `min_items` sentences, at most the `max_tokens` most frequent, in sorted order."""
    items = Counter(token for sentence in sentences for token in set(tokens(sentence, letters)))
    frequent = sorted((t for t in items if items[t] >= min_items), key=lambda t: (-items[t], t))
    if not frequent:
        raise InputError(
            f"None of the {len(sentences)} training sentences has a word that stands in {min_items} of them; "
            f"give sentences with common words, or a lower minimum."
        )
    return Vocabulary(tuple(sorted(frequent[:max_tokens])), letters)


@dataclass(frozen=True, eq=False)
class TextEncoder(ABC):
    """Sentences → rows ≥ 0; a sentence of unknown words alone tells nothing."""

    vocabulary: Vocabulary

    @abstractmethod
    def encode(self, items: Sequence[str]) -> Matrix: ...

    def unknown_words(self, sentence: str) -> list[str]:
        return self.vocabulary.unknown_words(sentence)

    def near_spellings(self, word: str, most: int = 3) -> list[str]:
        return self.vocabulary.near_spellings(word, most)


@dataclass(frozen=True, eq=False)
class BagOfWords(TextEncoder):
    """Counts of the known tokens."""

    def encode(self, items: Sequence[str]) -> sparse.csr_array:
        return self.vocabulary.count(items)


@dataclass(frozen=True, eq=False)
class TfIdf(TextEncoder):
    """x = c ∘ ω / ‖c ∘ ω‖ from the counts c: what is rare says more."""

    weights: FloatArray  # ω

    def encode(self, items: Sequence[str]) -> Matrix:
        weighted = sparse.csr_array(self.vocabulary.count(items).multiply(self.weights[None, :]))
        return scale_rows(weighted, 1.0 / np.maximum(row_norms(weighted), EPS))


def fit_bag_of_words(
    sentences: Sequence[str], min_items: int = 1, max_tokens: int | None = None, letters: int = 0
) -> BagOfWords:
    return BagOfWords(fit_vocabulary(sentences, min_items, max_tokens, letters))


def fit_tf_idf(
    sentences: Sequence[str], min_items: int = 1, max_tokens: int | None = None, letters: int = 0
) -> TfIdf:
    """ω_w = 1 + ln((1 + N) / (1 + N_w)), N_w of the N training sentences having the token"""
    vocabulary = fit_vocabulary(sentences, min_items, max_tokens, letters)
    having = np.bincount(vocabulary.count(sentences).indices, minlength=len(vocabulary.tokens))
    return TfIdf(vocabulary, 1 + np.log(np.float32(1 + len(sentences)) / (1 + having.astype(np.float32))))

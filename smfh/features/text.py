"""Features of sentences: counts of words, or tf-idf; typed queries use the same vocabulary.

In languages with spaces, tokens are words. Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer have no
spaces between words, or attach endings to them: there, tokens are single characters and overlapping pairs of
characters. A single character is often a word (猫, cat), and pairs distinguish longer words (熱帯魚).
For short names in inflected languages, `letters=3` helps: the letter triples of a word are then tokens too,
so that *gato* and *gatos* have tokens in common. Long texts do not need it.
"""

import difflib
import re
import unicodedata
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
PIECE = "~"  # prefix of letter n-grams, so that the triple ~cat differs from the word cat


def split_words(sentence: str) -> list[str]:
    """Split a sentence into words of letters, digits and combining marks, in lower case."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", sentence).casefold())
    spaced = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in folded)
    runs = [run for word in spaced.split() for run in RUNS.findall(word)]
    return [run for run in runs if any(c.isalnum() for c in run)]


def word_tokens(word: str, letters: int = 0) -> list[str]:
    """Return a word and its n-grams of `letters` letters.

    In languages without spaces, return single characters and pairs of characters instead.
    """

    def grams(text: str, length: int) -> list[str]:
        return [text[i : i + length] for i in range(len(text) - length + 1)]

    if IS_UNSPACED.match(word):
        return grams(word, 1) + grams(word, 2)
    return [word, *(PIECE + gram for gram in grams(f" {word} ", letters) if letters)]


def split_tokens(sentence: str, letters: int = 0) -> list[str]:
    return [token for word in split_words(sentence) for token in word_tokens(word, letters)]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The tokens of the training sentences, in the order of the feature columns."""

    tokens: tuple[str, ...]
    letters: int = 0  # length of the letter n-grams added to each word; 0 for none

    def count(self, sentences: Sequence[str]) -> sparse.csr_array:
        """Return how often each known token occurs in each sentence, (sentences, tokens)."""
        known = [[self.columns[t] for t in split_tokens(s, self.letters) if t in self.columns] for s in sentences]
        ends = np.cumsum([0, *map(len, known)], dtype=np.int32)
        columns = np.fromiter(chain.from_iterable(known), dtype=np.int32, count=ends[-1])
        ones = np.ones(len(columns), dtype=np.float32)
        counts = sparse.csr_array((ones, columns, ends), shape=(len(known), len(self.tokens)))
        counts.sum_duplicates()
        return counts

    @cached_property
    def columns(self) -> dict[str, int]:
        return {token: column for column, token in enumerate(self.tokens)}


def fit_vocabulary(
    sentences: Sequence[str], min_items: int = 1, max_tokens: int | None = None, letters: int = 0
) -> Vocabulary:
    """Return the `max_tokens` most frequent tokens that occur in at least `min_items` sentences."""
    items = Counter(token for sentence in sentences for token in set(split_tokens(sentence, letters)))
    frequent = sorted((t for t in items if items[t] >= min_items), key=lambda t: (-items[t], t))
    if not frequent:
        raise InputError(
            f"No word occurs in at least {min_items} of the {len(sentences)} training sentences. "
            "Use captions that share words, or a lower minimum."
        )
    return Vocabulary(tuple(sorted(frequent[:max_tokens])), letters)


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """Encoder of sentences as counts c of known tokens, or as tf-idf, c ∘ ω / ‖c ∘ ω‖, if it has weights ω.

    A sentence with only unknown words becomes a row of zeros.
    """

    vocabulary: Vocabulary
    weights: FloatArray | None = None  # ω, larger for rare tokens

    def encode(self, items: Sequence[str]) -> Matrix:
        return self.weigh(self.vocabulary.count(items))

    def weigh(self, counts: sparse.csr_array) -> Matrix:
        """Convert counts of tokens to features: the counts themselves, or tf-idf."""
        if self.weights is None:
            return counts
        weighted = sparse.csr_array(counts.multiply(self.weights[None, :]))
        return scale_rows(weighted, 1.0 / np.maximum(row_norms(weighted), EPS))

    def unknown_words(self, sentence: str) -> list[str]:
        """Return the words of a sentence that the training sentences do not contain, each once.

        In languages without spaces, a word is known if any of its tokens is known.
        """
        known = self.vocabulary.columns.keys()
        return [word for word in dict.fromkeys(split_words(sentence)) if known.isdisjoint(word_tokens(word))]

    def near_spellings(self, word: str, limit: int = 3) -> list[str]:
        """Return up to `limit` known words with a similar spelling, most similar first."""
        known = [token for token in self.vocabulary.tokens if not token.startswith(PIECE)]
        return difflib.get_close_matches(" ".join(split_words(word)), known, n=limit, cutoff=0.75)


def fit_bag_of_words(sentences: Sequence[str], max_tokens: int | None = None) -> TextEncoder:
    """Return an encoder that counts the most frequent tokens of the training sentences."""
    return TextEncoder(fit_vocabulary(sentences, max_tokens=max_tokens))


def fit_tf_idf(
    sentences: Sequence[str], min_items: int = 1, max_tokens: int | None = None, letters: int = 0
) -> TextEncoder:
    """Return a tf-idf encoder with the weights ω_w = 1 + ln((1 + N) / (1 + N_w)).

    N_w of the N training sentences contain token w.
    """
    vocabulary = fit_vocabulary(sentences, min_items, max_tokens, letters)
    having = np.bincount(vocabulary.count(sentences).indices, minlength=len(vocabulary.tokens))
    return TextEncoder(vocabulary, 1 + np.log(np.float32(1 + len(sentences)) / (1 + having.astype(np.float32))))

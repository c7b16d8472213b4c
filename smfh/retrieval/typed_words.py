"""Interpret typed words for a data set: stop words, forms of a word, related words, words to exclude."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from smfh.features.maps import row_norms, scale_rows
from smfh.features.text import PIECE, TextEncoder, split_words
from smfh.features.words import CLOSE_COSINE, STOP_WORDS, load_words, same_stem, stem
from smfh.types import EPS, BoolArray, FloatArray, IntArray, Matrix, MultimodalDataset

EXCLUDED = re.compile(r"(?<!\S)[-−](?=\w)(\S+)")  # "-cartoon" but not "T-shirt"
RELATED_POWER = 4  # a related word of cosine c weighs c⁴


@dataclass(frozen=True, eq=False)
class Meaning:
    """Features of typed words, and the known words that replace unknown ones."""

    features: Matrix  # (1, dimensions)
    tokens: int  # number of known tokens; an unknown word with related words counts as one
    interpreted: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_guess: bool = False  # no word is known and none is close to a known word


def spell_out(sentence: str) -> str:
    """Return the sentence with symbols replaced by their Unicode names, such as 🐶 by "dog face"."""
    symbols = {c for c in sentence if unicodedata.category(c) == "So"}
    return "".join(f" {unicodedata.name(c, ' ').lower()} " if c in symbols else c for c in sentence)


def split_excluded(sentence: str) -> tuple[str, list[str]]:
    """Return the sentence without its excluded words ("cat -cartoon"), and these words."""
    excluded = [word for text in EXCLUDED.findall(sentence) for word in split_words(text)]
    return EXCLUDED.sub(" ", sentence), excluded


def content_words(words: Sequence[str]) -> list[str]:
    """Return the words without stop words; all words if there are only stop words."""
    return [word for word in words if word not in STOP_WORDS] or list(words)


def understand(encoder: TextEncoder, X: Matrix, words: Sequence[str]) -> Meaning:
    """Return how typed words are interpreted, given the texts X that the encoder has encoded.

    Stop words are left out. An unknown word is replaced by a known word with the same stem, or else by
    related words, weighted by c⁴ for cosine c. A token that N_w of N texts contain is multiplied by 1 + ln((1
    + N) / (1 + N_w)), in addition to the encoder's weights; then the row is scaled to its old norm. In other
    languages, letter n-grams already relate the forms of a word, so all words are used unchanged.

    Chosen on four validation folds of Emoji's training rows, with 150 words removed from all texts: precision
    at 8 is .153 with 3 related words of cosine ≥ .4 weighted by c⁴, .142 with one, and at most .156 with
    other numbers, thresholds and powers; below a cosine of .4 it is .03, chance is .006. For two words of a
    held-out text, the share of results in its subgroup is .376 without the second weighting, .385 with it.
    """
    if encoder.vocabulary.letters:
        features = encoder.encode([" ".join(words)])
        return Meaning(features, int((features > 0).sum()))
    content = content_words(words)
    missing = encoder.unknown_words(" ".join(content))
    counts = encoder.vocabulary.count([" ".join(word for word in content if word not in missing)]).toarray()
    tokens, interpreted = int(np.count_nonzero(counts)), dict[str, tuple[str, ...]]()
    closest = 1.0 if tokens else 0.0
    for word in missing:
        if related := related_words(encoder, word):
            columns = [encoder.vocabulary.columns[other] for other in related]
            weights = np.array(list(related.values())) ** RELATED_POWER
            counts[0, columns] += weights / weights.sum()
            closest, interpreted[word] = max(closest, *related.values()), tuple(related)
    features = weigh_by_information(encoder.weigh(sparse.csr_array(counts)), X)
    is_guess = closest < CLOSE_COSINE or STOP_WORDS.issuperset(content)
    return Meaning(features, tokens + len(interpreted), interpreted, is_guess)


def related_words(encoder: TextEncoder, word: str) -> dict[str, float]:
    """Return the known words that replace an unknown word, with their cosines; a form of it has cosine 1."""
    known = [token for token in encoder.vocabulary.tokens if not token.startswith(PIECE)]
    if forms := same_stem(word, known):
        return dict.fromkeys(forms[:1], 1.0)
    table = load_words()
    return table.related(word, known) if table.knows_language(known) else {}


def weigh_by_information(features: Matrix, X: Matrix) -> Matrix:
    """Multiply each token by its informativeness in the texts X, and restore the norm of the row."""
    having: FloatArray = np.asarray((X > 0).sum(axis=0)).ravel()
    weights = 1 + np.log((1 + X.shape[0]) / (1 + having))
    weighted = sparse.csr_array(features * weights.astype(features.dtype))
    return scale_rows(weighted, row_norms(features) / np.maximum(row_norms(weighted), EPS))


def has_name(data: MultimodalDataset, rows: IntArray, words: Sequence[str]) -> BoolArray:
    """Return a mask of the items whose caption consists of just these words, in any order and form."""
    wanted = name_key(words)
    if data.captions is None or not wanted:
        return np.zeros(len(rows), dtype=np.bool_)
    start = min(wanted)[:2]  # rules out most captions quickly
    captions = (data.captions[row].casefold() for row in rows)
    return np.array([start in text and name_key(split_words(text)) == wanted for text in captions])


def name_key(words: Sequence[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in content_words(words))


def contains_any(data: MultimodalDataset, source: str, rows: IntArray, words: Sequence[str]) -> BoolArray:
    """Return a mask of the items that have one of these words, in any form, in their text or caption."""
    found: BoolArray = np.zeros(len(rows), dtype=np.bool_)
    if isinstance(encoder := data.encoders.get(source), TextEncoder):
        known = encoder.vocabulary
        columns = [known.columns[form] for word in words for form in same_stem(word, known.tokens)]
        found = np.asarray((data.modalities[source][rows][:, columns] > 0).sum(axis=1)).ravel() > 0
    if data.captions is not None:
        roots = {stem(word) for word in words}
        found |= np.array([bool(roots & {*map(stem, split_words(data.captions[row]))}) for row in rows])
    return found

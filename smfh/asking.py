"""One question to a trained hasher, and its answer.

Words, a picture or an item of the data become a row of features of their modality, the row becomes a code,
few words with the help of the training texts that have them, and the database is ordered by Hamming distance
from it. A code of few classes leaves many items at the same
distance; `likeness` then puts the most alike first, or they stay in database order, as every score has them.
"""

import hashlib
import unicodedata
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from smfh.bits import fewest_flips
from smfh.evaluation import database_codes
from smfh.features.image import ImageEncoder
from smfh.features.maps import FeatureMap, row_norms
from smfh.features.text import TextEncoder, words
from smfh.hamming import pack, rank, unpack
from smfh.hashing import FittedHasher
from smfh.metrics import AP_DEFINITIONS, average_precision
from smfh.types import (
    EPS,
    BoolArray,
    DistanceCounts,
    FloatArray,
    InputError,
    IntArray,
    Matrix,
    MultimodalDataset,
    Split,
    Words,
    unknown,
)

TIES: dict[str, str] = {
    "likeness": "Equal distances: most alike first, by the training items that such a query comes with.",
    "database": "Equal distances: in database order, as every score counts them.",
}
MOST_CHARACTERS = 500
MOST_BYTES = 10 * 2**20
MOST_ANSWERS = 100
MOST_TIED = 20_000  # items whose likeness is compared
PARTNERS = 20  # training items that tell what a query comes with
MEAN_SAMPLE = 2_000  # training items that tell what is usual
UNIT_ROWS = FeatureMap(unit_rows=True)
DECIMALS = 12  # that two ways to add up the same numbers agree in
SCORE = AP_DEFINITIONS["found"]


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked, as features of one modality, and the classes that an answer should have."""

    source: str
    features: Matrix  # (1, dimensions)
    classes: BoolArray | None  # (classes,); None where nobody knows what is right
    row: int | None = None  # of the data set, where an item asks
    words: str = ""  # where a sentence asks
    picture: str = ""  # SHA-256 of its file, where a picture asks

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """No other question of the same data has it."""
        return self.source, self.row, self.words, self.picture


@dataclass(frozen=True, eq=False)
class Answer:
    """The nearest items, nearest first, and how far the whole database lies."""

    question: Question
    target: str
    code: BoolArray  # (bits,) of the question
    rows: IntArray  # (answers,) of the data set
    distances: IntArray  # (answers,)
    codes: BoolArray  # (answers, bits)
    relevance: BoolArray | None  # (answers,); None where nobody knows
    counts: DistanceCounts  # of the one query; none relevant where nobody knows
    average_precision: float | None  # ties in database order

    @property
    def nearest(self) -> int:
        return int(self.distances[0])

    def within(self, radius: int) -> int:
        """How many items of the database lie at most so far."""
        return int(self.counts.items[0, : radius + 1].sum())


def takes_words(data: MultimodalDataset) -> list[str]:
    """The modalities that can be asked with a sentence."""
    return [name for name in data.modalities if isinstance(data.encoders.get(name), TextEncoder)]


def takes_pictures(data: MultimodalDataset) -> list[str]:
    """The modalities that can be asked with a picture file."""
    return [name for name in data.modalities if isinstance(data.encoders.get(name), ImageEncoder)]


def text_encoder(data: MultimodalDataset, source: str) -> TextEncoder:
    """What makes features of a sentence, in a modality that can be asked with one."""
    encoder = data.encoders.get(source)
    if not isinstance(encoder, TextEncoder):
        raise _cannot_ask(f"Words cannot be asked in {source!r}", takes_words(data))
    return encoder


def ask_words(data: MultimodalDataset, source: str, sentence: str) -> Question:
    """A sentence as a question; right is an answer of a class that it names."""
    encoder = text_encoder(data, source)
    if len(sentence) > MOST_CHARACTERS:
        raise InputError(
            f"At most {MOST_CHARACTERS} characters can be asked; got {len(sentence):,}. Ask with fewer words."
        )
    if not words(spoken := spell_out(sentence)):
        raise InputError("There is no word to search with; type at least one, of letters or digits.")
    features = encoder.encode([spoken])
    if features.sum() == 0:
        raise InputError(
            "None of these words is known from training, so they tell nothing; try other or simpler words."
        )
    return Question(source, features, named_classes(spoken, data.class_names), words=sentence)


def ask_picture(data: MultimodalDataset, source: str, file: bytes, name: str = "picture") -> Question:
    """A picture file as a question; nobody has said what it shows."""
    encoder = data.encoders.get(source)
    if not isinstance(encoder, ImageEncoder):
        raise _cannot_ask(f"Pictures cannot be asked in {source!r}", takes_pictures(data))
    if len(file) > MOST_BYTES:
        raise InputError(
            f"{name} has {len(file) / 2**20:,.1f} MB; at most {MOST_BYTES // 2**20} MB are read. "
            "Save it smaller."
        )
    return Question(source, encoder.encode([file]), None, picture=hashlib.sha256(file).hexdigest())


def ask_item(data: MultimodalDataset, source: str, row: int) -> Question:
    """An item of the data as a question; right is what shares a label."""
    if source not in data.modalities:
        raise unknown("modality", source, data.modalities)
    if not 0 <= row < len(data):
        raise InputError(f"There are {len(data):,} items, 0 to {len(data) - 1:,}; got {row}.")
    return Question(source, data.modalities[source][[row]], data.labels[row], row)


def spell_out(sentence: str) -> str:
    """The sentence with symbols as their Unicode names: 🐶 → dog face"""
    symbols = {c for c in sentence if unicodedata.category(c) == "So"}
    return "".join(f" {unicodedata.name(c, ' ').lower()} " if c in symbols else c for c in sentence)


def unknown_words(data: MultimodalDataset, source: str, sentence: str) -> list[str]:
    """The words of a sentence that can be asked which training never taught."""
    encoder = data.encoders.get(source)
    if not isinstance(encoder, TextEncoder) or len(sentence) > MOST_CHARACTERS:
        return []
    return encoder.unknown_words(spell_out(sentence))


def find_language(data: MultimodalDataset, source: str, sentence: str) -> str:
    """The text modality that knows most of the words: `source`, unless another one knows more of them."""
    names = sorted(takes_words(data), key=lambda name: name != source)
    return min(names, key=lambda name: len(unknown_words(data, name, sentence)), default=source)


def near_words(data: MultimodalDataset, source: str, word: str) -> list[str]:
    """Words of training that look like this one."""
    encoder = data.encoders.get(source)
    near = encoder.near_spellings(word) if isinstance(encoder, TextEncoder) else []
    return [known for known in near if known != word]


def replace_word(sentence: str, word: str, by: str) -> str:
    """The sentence as it is read, with one of its words replaced."""
    return " ".join(by if said == word else said for said in words(spell_out(sentence)))


def named_classes(sentence: str, class_names: tuple[str, ...]) -> BoolArray | None:
    """The classes that have a word of the sentence in their name, one or many of it; None for none."""
    said = {_singular(word) for word in words(sentence)}
    named = np.array([bool(said & {_singular(word) for word in words(name)}) for name in class_names])
    return named if named.any() else None


def _singular(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 else word


def _cannot_ask(what: str, modalities: list[str]) -> InputError:
    instead = f"choose {' or '.join(modalities)}" if modalities else "this data set has only its own items"
    return InputError(f"{what}: its features come from elsewhere; {instead}, or pick an item.")


def answer(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    question: Question,
    target: str,
    protocol: str = "training",
    ties: str = "likeness",
    flips: Sequence[int] = (),
    most: int = MOST_ANSWERS,
) -> Answer:
    """Order the `target` modality by distance from the question, and keep the first `most`.

    `flips` are bits of the question's code that a person turned round.
    """
    if ties not in TIES:
        raise unknown("order of ties", ties, TIES)
    code = flipped(encode_question(hasher, data, split, question), flips, hasher.bits)
    database, rows = database_codes(hasher, data, split, target, protocol)
    order, distances = (found[0] for found in rank(code, database))
    relevant = None if question.classes is None else (data.labels[rows] @ question.classes)[order]
    counts = _counts(distances, relevant, hasher.bits)
    score = None
    if relevant is not None:
        score = float(average_precision(relevant[None, : SCORE.top], counts.total_relevant, SCORE)[0])
    first: IntArray = np.arange(min(most, len(order)))
    if ties == "likeness":
        tied = min(int(np.searchsorted(distances, distances[first[-1]], side="right")), MOST_TIED)
        alike = likeness(data, split, question, target, rows[order[:tied]])
        first = np.lexsort((-alike, distances[:tied]))[:most]
    return Answer(
        question=question,
        target=target,
        code=unpack(code, hasher.bits)[0],
        rows=rows[order[first]],
        distances=distances[first].astype(np.int64),
        codes=unpack(database[order[first]], hasher.bits),
        relevance=None if relevant is None else relevant[first],
        counts=counts,
        average_precision=score,
    )


def flipped(code: Words, flips: Sequence[int], bits: int) -> Words:
    """The packed code with these bits turned round."""
    turned = np.zeros((1, bits), dtype=np.bool_)
    turned[0, list(flips)] = True
    return code ^ pack(turned)


def mend(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    question: Question,
    target: str,
    protocol: str = "training",
) -> IntArray | None:
    """The fewest bits of the question's code to flip so that something right is nearer than all that is
    wrong; None where no flips can do that, or where nobody knows what is right."""
    if question.classes is None:
        return None
    code = unpack(encode_question(hasher, data, split, question), hasher.bits)[0]
    database, rows = database_codes(hasher, data, split, target, protocol)
    relevant = data.labels[rows] @ question.classes
    right, wrong = (np.unique(database[which], axis=0) for which in (relevant, ~relevant))
    return fewest_flips(code, unpack(right, hasher.bits), unpack(wrong, hasher.bits))


def encode_question(hasher: FittedHasher, data: MultimodalDataset, split: Split, question: Question) -> Words:
    """m(x) > 0, packed, m being the margins of the hash function; of typed words

        t m(x) + (1 − t) Σ_j s_j² m(x_j) / Σ_j s_j² > 0,  t = min(1, n/n̄)²,

    with x_j the training texts most like them, by cosine s_j, n the known words and n̄ those of a usual text.

    Few words lie far from every training text: all RBF features shrink at once, more than in any of these,
    and that decides the bits instead of the words. Items and pictures are encoded as every score has them.
    Measured with SMFH+ on validation parts of training rows, with 1, 2 and 3 words of a text (mAP@100): Emoji
    .620, .726, .752 → .727, .777, .779; names in German .450, .557, .582 → .490, .569, .590; PASCAL's
    sentences .268, .347, .444 → .321, .397, .459. Whole texts: .875 → .873, .600 → .606, .742 → .724.
    """
    if not question.words:
        return hasher.encode(question.source, question.features)
    X = data.modalities[question.source]

    def m(rows: Matrix) -> FloatArray:
        """In double precision, so that words have the same code on every machine and in an exported page."""
        return hasher.functions[question.source].margins(rows.astype(np.float64))

    partners, s = _partners(data, split, question)
    t = min(1.0, count_tokens(question.features)[0] / count_tokens(X)[split.train].mean()) ** 2
    if t == 1 or not len(partners):
        return pack(m(question.features) > 0)
    return pack(t * m(question.features) + (1 - t) * (s**2 @ m(X[partners])) / (s**2).sum() > 0)


def count_tokens(X: Matrix) -> IntArray:
    """How many different tokens each row has."""
    lengths: IntArray = (X > 0).sum(axis=1)
    return lengths


def _counts(distances: IntArray, relevant: BoolArray | None, bits: int) -> DistanceCounts:
    items = np.bincount(distances, minlength=bits + 1)
    hits = np.zeros_like(items) if relevant is None else np.bincount(distances[relevant], minlength=bits + 1)
    return DistanceCounts(items[None, :], hits[None, :])


def likeness(
    data: MultimodalDataset, split: Split, question: Question, target: str, rows: IntArray
) -> FloatArray:
    """z_i · Σ_j s_j (z_j − z̄): z are unit rows of √x in the target modality, z̄ their mean in training,
    and j the training items whose source features are most like the question's, by cosine s_j.

    In double precision and rounded, so that equal items are equal in whatever order sums are taken.
    Training pairs tell what such words come with; nothing but its target features is seen of an answer.
    Measured with SMFH+ on validation parts of Emoji's training rows: the share of the first 12 that are of
    the query's own subgroup, of which the labels know nothing, rises from .147 to .400 (text → image) and
    from .123 to .281 (image → text).
    """
    partners, s = _partners(data, split, question)
    X = data.modalities[target]
    wanted = s @ (_dense(_unit_roots(X[partners])) - usual_target(data, split, target))
    alike: FloatArray = np.round(_unit_roots(X[rows]) @ wanted, DECIMALS)
    return alike


def usual_target(data: MultimodalDataset, split: Split, target: str) -> FloatArray:
    """z̄, over a sample of the training items."""
    sample = data.modalities[target][split.train[:: -(-len(split.train) // MEAN_SAMPLE)]]
    usual: FloatArray = _unit_roots(sample).mean(axis=0)
    return usual


def _unit_roots(X: Matrix) -> Matrix:
    """√x / ‖√x‖, row by row."""
    exact = X.astype(np.float64)
    return UNIT_ROWS(exact.sqrt() if isinstance(exact, sparse.csr_array) else np.sqrt(exact))


def _partners(data: MultimodalDataset, split: Split, question: Question) -> tuple[IntArray, FloatArray]:
    """The training items that are most like the question in its own modality, and how much."""
    X, q = data.modalities[question.source], _dense(question.features)[0].astype(np.float64)
    # all rows, not the training rows: to pick them out would copy the whole matrix
    cosine = (X @ q / np.maximum(row_norms(X) * np.linalg.norm(q), EPS))[split.train].round(DECIMALS)
    first = np.argsort(-cosine, kind="stable")[:PARTNERS]
    first = first[cosine[first] > 0]
    return split.train[first], cosine[first]


def _dense(X: Matrix) -> FloatArray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)

"""What the bits of codes do, and what each stands for: words, pictures and classes that switch it on.

Words are told by the hash function, not by the basis U. U says what a bit helps to redraw, which has almost
no influence on the codes of SMFH+, and with RBF anchors its rows are anchors, not words. A query is encoded
by the hash function: so each word of the vocabulary is asked for alone, and what counts is by how much it
lifts the margin of the bit above that of a middling word. So it is for every method and feature map.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.evaluation import database_codes
from smfh.features.text import PIECE, TextEncoder
from smfh.hamming import unpack
from smfh.hashing import FittedHasher
from smfh.types import BoolArray, FloatArray, InputError, IntArray, Matrix, MultimodalDataset, Split

WORDS, ITEMS, RELATIVES = 10, 12, 5  # that are kept of each bit
SUMMARY = 3  # words or classes
SAMPLE = 20_000  # items looked through for the strongest, and pairs for the agreement
MOST_CLASSES = 40  # that a matrix of classes shows
BLOCK = 1 << 15  # items turned into floats at once; their counts are exact in single precision
Named = tuple[tuple[str, float], ...]


def bit_kinds(codes: BoolArray) -> NDArray[np.str_]:
    """`dead` for a bit that is the same in all items, `twin` for one that equals or mirrors an earlier
    one, `live` for the rest; (bits,)."""
    check_items(codes=codes)
    kinds, seen = [], set()
    for bit in codes.T:
        if len(bit) == 0 or bit.all() or not bit.any():
            kinds.append("dead")
            continue
        content = np.packbits(bit ^ bit[0]).tobytes()  # the same for a bit and its mirror image
        kinds.append("twin" if content in seen else "live")
        seen.add(content)
    return np.array(kinds, dtype=np.str_)


def correlate(codes: BoolArray) -> FloatArray:
    """ρ_jk = (n_jk/N − p_j p_k) / √(p_j (1 − p_j) p_k (1 − p_k)); not a number for a dead bit."""
    N = max(len(codes), 1)
    p = codes.sum(axis=0) / N
    deviation = np.sqrt(p * (1 - p))
    scale = np.outer(deviation, deviation)
    covariance = cross_counts(codes, codes) / N - np.outer(p, p)
    correlation: FloatArray = np.divide(covariance, scale, where=scale > 0, out=np.full(scale.shape, np.nan))
    return correlation


def class_shares(codes: BoolArray, labels: BoolArray) -> FloatArray:
    """P(on | class) of each class and bit, (classes, bits); 0 for a class of none."""
    check_items(codes=codes, labels=labels)
    shares: FloatArray = cross_counts(labels, codes) / np.maximum(labels.sum(axis=0), 1)[:, None]
    return shares


def class_contrast(codes: BoolArray, labels: BoolArray) -> FloatArray:
    """P(on | class) − P(on | others) of each class and bit, (classes, bits); 0 for a class of none or all."""
    sizes = labels.sum(axis=0)[:, None]
    others = len(labels) - sizes
    on = cross_counts(labels, codes)
    contrast: FloatArray = on / np.maximum(sizes, 1) - (codes.sum(axis=0) - on) / np.maximum(others, 1)
    return np.where((sizes > 0) & (others > 0), contrast, 0)


def largest_classes(labels: BoolArray, most: int = MOST_CLASSES) -> IntArray:
    """The columns of the classes with the most items, the largest first; none without any item."""
    sizes: IntArray = labels.sum(axis=0)
    order: IntArray = np.argsort(-sizes, kind="stable")[:most]  # stable: equal classes keep their order
    return order[sizes[order] > 0]


def confusion_shares(rows: IntArray, asked: BoolArray, labels: BoolArray, top: int = 100) -> FloatArray:
    """For the queries of each class, the share of their first `top` answers that carry each class.

    `asked` are the classes of the queries, the answers are `rows` (queries, depth) of `labels`, nearest
    first; (classes, classes).
    """
    first = rows[:, :top]
    answered = np.zeros(asked.shape)
    for column in first.T:  # answer by answer: queries × answers × classes would be large
        answered += labels[column]
    answers = asked.sum(axis=0)[:, None] * first.shape[1]
    shares: FloatArray = asked.T.astype(np.float64) @ answered / np.maximum(answers, 1)
    return shares


def cross_counts(A: BoolArray, B: BoolArray) -> FloatArray:
    """AᵀB: how many items have both feature j of A and feature k of B."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, len(A), BLOCK):
        part = slice(start, start + BLOCK)
        total += A[part].T.astype(np.float32) @ B[part].astype(np.float32)
    return total


def check_items(**matrices: BoolArray) -> None:
    """Refuse what is no boolean matrix, and matrices of different numbers of items."""
    problems = [
        f"The {name} must be a boolean items × columns matrix; got {matrix.dtype} of shape {matrix.shape}."
        for name, matrix in matrices.items()
        if matrix.ndim != 2 or matrix.dtype != np.bool_
    ]
    if not problems and len({len(matrix) for matrix in matrices.values()}) > 1:
        told = " and ".join(f"{len(matrix)} rows of {name}" for name, matrix in matrices.items())
        problems.append(f"Each item has one row everywhere; got {told}.")
    if problems:
        raise InputError(problems)


@dataclass(frozen=True)
class BitTopic:
    """One bit by the model's own number, from 0, and what it is on for; the strongest come first."""

    number: int
    balance: float  # share of the database with the bit on
    kind: str  # "live", "dead" or "twin"
    classes: Named  # P(on | class) − P(on | others)
    words: Mapping[str, Named]  # by modality with a vocabulary
    rows: tuple[int, ...]  # training items, rows of the data set
    agreement: float  # share of held-out pairs whose modalities agree on the bit
    relatives: tuple[tuple[int, float], ...]  # other bits and their correlation

    @property
    def summary(self) -> str:
        """A few words for what the bit stands for when it is on."""
        told = next((words for words in self.words.values() if words), ())
        named = told or tuple((name, contrast) for name, contrast in self.classes if contrast > 0)
        if self.kind == "dead" or not named:
            return f"bit {self.number}"
        return ", ".join(name for name, _ in named[:SUMMARY])


def describe_bits(hasher: FittedHasher, data: MultimodalDataset, split: Split) -> tuple[BitTopic, ...]:
    """What each bit stands for, in the order of the bits."""
    codes, shown = database_bits(hasher, data, split), shown_modality(hasher)
    contrast = class_contrast(codes, data.labels[split.train])
    order = np.argsort(-contrast, axis=0, kind="stable")
    words = {
        name: strongest_words(hasher, data, split, name, encoder)
        for name in hasher.modalities
        if isinstance(encoder := data.encoders.get(name), TextEncoder)
    }
    items = sample(split.train)
    margins = hasher.functions[shown].margins(data.modalities[shown][items])
    rows = items[top_rows(margins, ITEMS)]
    agreement = pair_agreement(hasher, data, sample(split.queries))
    relatives = list(_relatives(correlate(codes[sample(np.arange(len(codes)))])))
    balance, kinds = codes.mean(axis=0), bit_kinds(codes)
    return tuple(
        BitTopic(
            number=k,
            balance=float(balance[k]),
            kind=str(kinds[k]),
            classes=tuple((data.class_names[j], float(contrast[j, k])) for j in order[:, k]),
            words={name: strongest[k] for name, strongest in words.items()},
            rows=tuple(rows[:, k].tolist()),
            agreement=float(agreement[k]),
            relatives=relatives[k],
        )
        for k in range(hasher.bits)
    )


def shown_modality(hasher: FittedHasher) -> str:
    """The pictures where there are some: what a person looks at."""
    return "image" if "image" in hasher.functions else hasher.modalities[0]


def database_bits(hasher: FittedHasher, data: MultimodalDataset, split: Split) -> BoolArray:
    """The bits of the training items by which pictures are found; (items, bits)."""
    codes, _ = database_codes(hasher, data, split, shown_modality(hasher), "training")
    return unpack(codes, hasher.bits)


def strongest_words(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, modality: str, encoder: TextEncoder
) -> list[Named]:
    """(margin of the word alone − median margin of all words) · ln(1 + min(n, N − n)), of each bit.

    n of the N training items have the word. A word of two items may have any margin, and one that nearly all
    have tells nothing: the logarithm keeps both back.
    """
    tokens = np.array(encoder.vocabulary.tokens, dtype=np.str_)
    is_word = ~np.strings.startswith(tokens, PIECE)
    if not is_word.any():
        return [()] * hasher.bits
    names = tokens[is_word].tolist()
    margins = hasher.functions[modality].margins(encoder.encode(names))
    strength = margins - np.median(margins, axis=0)
    if (X := data.modalities[modality]).shape[1] == len(tokens):
        having = item_counts(X, split.train)[is_word]
        strength *= np.log1p(np.minimum(having, len(split.train) - having))[:, None]
    best = top_rows(strength, WORDS)
    return [
        tuple((names[i], float(strength[i, k])) for i in best[:, k] if strength[i, k] > 0)
        for k in range(hasher.bits)
    ]


def item_counts(X: Matrix, rows: IntArray) -> IntArray:
    """In how many items each column is not zero."""
    chosen = X[rows]
    if isinstance(chosen, sparse.csr_array):
        return np.bincount(chosen.indices[chosen.data > 0], minlength=X.shape[1])
    counts: IntArray = np.count_nonzero(chosen, axis=0)
    return counts


def pair_agreement(hasher: FittedHasher, data: MultimodalDataset, rows: IntArray) -> FloatArray:
    """How often two modalities of an item give the same bit: the mean over all pairs of modalities."""
    bits = {name: f.margins(data.modalities[name][rows]) > 0 for name, f in hasher.functions.items()}
    same = [np.mean(a == b, axis=0) for a, b in combinations(bits.values(), 2)]
    agreement: FloatArray = np.mean(same, axis=0)
    return agreement


def sample(rows: IntArray, most: int = SAMPLE) -> IntArray:
    """Every row, or so many evenly spread ones."""
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def top_rows(values: FloatArray, most: int) -> IntArray:
    """The row numbers of the largest values of each column, the largest first; (most, columns)."""
    most = min(most, len(values))
    chosen = np.argpartition(-values, most - 1, axis=0)[:most]
    order = np.argsort(-np.take_along_axis(values, chosen, axis=0), axis=0, kind="stable")
    return np.take_along_axis(chosen, order, axis=0)


def _relatives(correlation: FloatArray) -> Iterator[tuple[tuple[int, float], ...]]:
    """The other bits of largest |ρ|; a dead bit has none."""
    size = np.nan_to_num(np.abs(correlation))
    np.fill_diagonal(size, 0)
    for k, order in enumerate(np.argsort(-size, axis=1, kind="stable")[:, :RELATIVES]):
        yield tuple((int(j), float(correlation[k, j])) for j in order if size[k, j] > 0)

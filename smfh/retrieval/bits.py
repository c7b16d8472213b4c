"""Analyse the bits of a model: balance, correlation, groups of redundant bits, and meaning.

The words that describe a bit are found with the hash function, not with the basis U. The reconstruction by
U has almost no influence on the codes of SMFH+, and with RBF anchors the rows of U are anchors, not words.
The hash function encodes queries. So each word of the vocabulary is encoded alone, and its strength is the
margin of the bit (the value before thresholding) for this word minus the median over all words. This works
for every method and feature map.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from smfh.features.text import PIECE, TextEncoder
from smfh.hamming import unpack
from smfh.hashing import FittedHasher
from smfh.retrieval.evaluation import database_codes
from smfh.types import BoolArray, FloatArray, IntArray, Matrix, MultimodalDataset, Split

MAX_CLASSES = 40  # most rows in a matrix of classes
BLOCK_ITEMS = 1 << 15  # converted to floats at once; counts up to this number are exact in single precision
GROUP_CORRELATION = 0.9  # smallest |ρ| between any two bits of a group
MAX_WORDS, MAX_ITEMS, MAX_RELATIVES = 10, 12, 5  # limits for each bit
SUMMARY_NAMES = 3  # words or classes in a summary
FOLLOWS_DIFFERENCE = 0.25  # a bit follows a class if P(on | class) − P(on | others) is at least this
AGREEMENT_KAPPA = 0.4  # modalities agree on a bit if κ is at least this: 0 is chance, 1 is always
SAMPLE_ITEMS = 20_000  # most items searched for the strongest ones, and most pairs for the agreement
NO_NAME = "no clear meaning"
NamedValues = tuple[tuple[str, float], ...]
BitGroup = tuple[tuple[int, int], ...]  # (bit, sign); sign 1: equal to the group's first bit, −1: opposite


def bit_kinds(codes: BoolArray) -> NDArray[np.str_]:
    """Return each bit's kind: dead (always 0 or always 1), twin (equal or opposite to an earlier bit) or live."""
    kinds, seen = [], set()
    for bit in codes.T:
        if len(bit) == 0 or bit.all() or not bit.any():
            kinds.append("dead")
            continue
        content = np.packbits(bit ^ bit[0]).tobytes()  # the same for a bit and its negation
        kinds.append("twin" if content in seen else "live")
        seen.add(content)
    return np.array(kinds, dtype=np.str_)


def correlate(codes: BoolArray) -> FloatArray:
    """Return the correlations of bits j and k, ρ_jk = (n_jk/N − p_j p_k) / √(p_j (1 − p_j) p_k (1 − p_k)).

    n_jk of the N items have both bits on; p_j is the share of items with bit j on. NaN for a dead bit.
    """
    N = max(len(codes), 1)
    p = codes.sum(axis=0) / N
    deviation = np.sqrt(p * (1 - p))
    scale = np.outer(deviation, deviation)
    covariance = cross_counts(codes, codes) / N - np.outer(p, p)
    correlation: FloatArray = np.divide(covariance, scale, where=scale > 0, out=np.full(scale.shape, np.nan))
    return correlation


def group_bits(correlation: FloatArray, threshold: float = GROUP_CORRELATION) -> tuple[BitGroup, ...]:
    """Return groups of bits in which any two have |ρ| ≥ threshold; largest first, without dead bits.

    Groups are found by complete linkage: a chain of bits, each similar to the next, is not a group if its two
    ends differ.
    """
    live = np.flatnonzero(~np.isnan(np.diagonal(correlation)))
    which: IntArray = np.arange(len(live))
    if len(live) > 1:
        apart = np.clip(1 - np.abs(correlation[np.ix_(live, live)]), 0, None)
        tree = linkage(squareform(apart, checks=False), "complete")
        which = fcluster(tree, 1 - threshold, "distance").astype(np.int64)
    members = [live[which == k] for k in np.unique(which)]
    groups = [tuple((int(bit), 1 if correlation[bits[0], bit] > 0 else -1) for bit in bits) for bits in members]
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))


def class_shares(codes: BoolArray, labels: BoolArray) -> FloatArray:
    """Return P(on | class) for each class and bit, (classes, bits); 0 for an empty class."""
    shares: FloatArray = cross_counts(labels, codes) / np.maximum(labels.sum(axis=0), 1)[:, None]
    return shares


def class_contrast(codes: BoolArray, labels: BoolArray | Matrix) -> FloatArray:
    """Return P(on | class) − P(on | not class), (classes, bits); 0 for a class with no or all items.

    The columns of `labels` can be any yes/no features of the items, also in a sparse matrix.
    """
    both = cross_counts(labels, codes)
    n: IntArray = np.asarray(labels.sum(axis=0), dtype=np.int64)[:, None]
    others = len(codes) - n
    difference = both / np.maximum(n, 1) - (codes.sum(axis=0) - both) / np.maximum(others, 1)
    return np.where((n > 0) & (others > 0), difference, 0)


def largest_classes(labels: BoolArray, limit: int = MAX_CLASSES) -> IntArray:
    """Return the columns of the largest classes, largest first; empty classes are left out."""
    sizes: IntArray = labels.sum(axis=0)
    order: IntArray = np.argsort(-sizes, kind="stable")[:limit]
    return order[sizes[order] > 0]


def confusion_shares(rows: IntArray, query_labels: BoolArray, labels: BoolArray, top: int = 100) -> FloatArray:
    """Return the share of results of class k for queries of class j, as a matrix (classes, classes).

    The results are the first `top` of `rows` (queries, depth), which index `labels`, nearest first.
    """
    first = rows[:, :top]
    carried = np.zeros(query_labels.shape)
    for column in first.T:  # rank by rank: an array (queries, results, classes) would be large
        carried += labels[column]
    results = query_labels.sum(axis=0)[:, None] * first.shape[1]
    shares: FloatArray = query_labels.T.astype(np.float64) @ carried / np.maximum(results, 1)
    return shares


def cross_counts(A: BoolArray | Matrix, B: BoolArray) -> FloatArray:
    """Return AᵀB; entry (j, k) is the number of items that have both feature j of A and feature k of B."""
    total = np.zeros((A.shape[1], B.shape[1]))
    for start in range(0, len(B), BLOCK_ITEMS):
        part = slice(start, start + BLOCK_ITEMS)
        total += A[part].T.astype(np.float32) @ B[part].astype(np.float32)
    return total


@dataclass(frozen=True)
class BitTopic:
    """The description of a bit: classes, words and items for which it is on, strongest first."""

    number: int  # index of the bit in the code, from 0
    balance: float  # share of the database with the bit on
    kind: str  # "live", "dead" or "twin"
    classes: NamedValues  # P(on | class) − P(on | others)
    words: Mapping[str, NamedValues]  # by text modality; only words whose items tend to have the bit on
    rows: tuple[int, ...]  # training items, as rows of the data set, with the bit on in every modality
    agreement: float  # share of held-out pairs whose modalities agree on the bit
    chance: float  # the same share if the modalities were independent
    fidelity: Mapping[str, float]  # by modality: share of training items whose hashed bit equals the learnt bit
    group: BitGroup  # correlated bits, including this one; empty for a dead bit
    relatives: tuple[tuple[int, float], ...]  # the most correlated other bits, and their ρ

    @property
    def kappa(self) -> float:
        """Cohen's κ, the agreement beyond chance: (agreement − chance) / (1 − chance); 0 if chance is 1."""
        return (self.agreement - self.chance) / (1 - self.chance) if self.chance < 1 else 0.0

    @property
    def agrees(self) -> bool:
        """Whether the modalities agree on the bit, so that words and pictures can describe it."""
        return self.kappa >= AGREEMENT_KAPPA

    @property
    def repeats(self) -> tuple[int, int] | None:
        """The first bit of the group, and 1 if this bit equals it or −1 if it is its opposite; None if it is first."""
        first = self.group[0][0] if self.group else self.number
        return None if first == self.number else (first, dict(self.group)[self.number])

    @property
    def group_others(self) -> BitGroup:
        """The other bits of the group, with signs relative to this bit."""
        return tuple((k, sign * dict(self.group)[self.number]) for k, sign in self.group if k != self.number)

    @property
    def follows(self) -> tuple[str, ...]:
        """The classes for whose items the bit is on much more often than for other items."""
        return tuple(name for name, difference in self.classes if difference >= FOLLOWS_DIFFERENCE)

    @property
    def summary(self) -> str:
        """A short description: the strongest words if the modalities agree on the bit, else classes."""
        if self.kind == "dead":
            return NO_NAME
        words = next((words for words in self.words.values() if words), ()) if self.agrees else ()
        names = tuple(word for word, _ in words) or self.follows
        return ", ".join(names[:SUMMARY_NAMES]) or NO_NAME


def describe_bits(hasher: FittedHasher, data: MultimodalDataset, split: Split) -> tuple[BitTopic, ...]:
    """Describe every bit of a model by its classes, words and items, balance and correlation."""
    codes, shown = database_bits(hasher, data, split), display_modality(hasher)
    by_class = class_contrast(codes, data.labels[split.train])
    order = np.argsort(-by_class, axis=0, kind="stable")
    places = sample_evenly(np.arange(len(codes)))
    items, learned = split.train[places], codes[places]
    margins = {name: f.margins(data.modalities[name][items]) for name, f in hasher.functions.items()}
    on = {name: of_modality > 0 for name, of_modality in margins.items()}
    words = {
        name: strongest_words(hasher, name, encoder, data.modalities[name][items], on[shown])
        for name in hasher.modalities
        if isinstance(encoder := data.encoders.get(name), TextEncoder)
    }
    everywhere = np.where(np.all(list(on.values()), axis=0), margins[shown], -np.inf)
    largest = top_rows(everywhere, MAX_ITEMS).T  # (bits, items)
    rows = [items[i[everywhere[i, k] > -np.inf]].tolist() for k, i in enumerate(largest)]
    fidelity = {name: np.mean(bits == learned, axis=0) for name, bits in on.items()}
    agreement, chance = pair_agreement(hasher, data, sample_evenly(split.queries))
    correlation = correlate(learned)
    groups = {bit: group for group in group_bits(correlation) for bit, _ in group}
    size = np.nan_to_num(np.abs(correlation))
    np.fill_diagonal(size, 0)
    similar = np.argsort(-size, axis=1, kind="stable")[:, :MAX_RELATIVES]
    balance, kinds = codes.mean(axis=0), bit_kinds(codes)
    return tuple(
        BitTopic(
            number=k,
            balance=float(balance[k]),
            kind=str(kinds[k]),
            classes=tuple((data.class_names[j], float(by_class[j, k])) for j in order[:, k]),
            words={name: strongest[k] for name, strongest in words.items()},
            rows=tuple(rows[k]),
            agreement=float(agreement[k]),
            chance=float(chance[k]),
            fidelity={name: float(share[k]) for name, share in fidelity.items()},
            group=groups.get(k, ()),
            relatives=tuple((int(j), float(correlation[k, j])) for j in similar[k] if size[k, j] > 0),
        )
        for k in range(hasher.bits)
    )


def display_modality(hasher: FittedHasher) -> str:
    """Return the modality that pages display: images if the model has them, else the first."""
    return "image" if "image" in hasher.functions else hasher.modalities[0]


def database_bits(hasher: FittedHasher, data: MultimodalDataset, split: Split) -> BoolArray:
    """Return the learnt codes of the training items in the displayed modality as bits, (items, bits)."""
    codes, _ = database_codes(hasher, data, split, display_modality(hasher), "training")
    return unpack(codes, hasher.bits)


def strongest_words(
    hasher: FittedHasher, modality: str, encoder: TextEncoder, X: Matrix, on: BoolArray
) -> list[NamedValues]:
    """Return the strongest words of each bit, with their strengths, strongest first.

    Strength = (margin of the word alone − median margin of all words) · ln(1 + min(n, N − n)), where n of the
    N items X contain the word. The logarithm weakens rare words, whose margins vary by chance, and words in
    nearly all items, which carry no information. A word is left out for a bit if the items with this word
    have the bit `on` (items, bits) hardly more often than the other items.
    """
    tokens = np.array(encoder.vocabulary.tokens, dtype=np.str_)
    is_word = ~np.strings.startswith(tokens, PIECE)
    if not is_word.any():
        return [()] * hasher.bits
    names = tokens[is_word].tolist()
    margins = hasher.functions[modality].margins(encoder.encode(names))
    strength = margins - np.median(margins, axis=0)
    if X.shape[1] == len(tokens):
        has: Matrix = (X[:, is_word] > 0).astype(np.float32)
        n: IntArray = np.asarray(has.sum(axis=0), dtype=np.int64)
        strength *= np.log1p(np.minimum(n, len(on) - n))[:, None]
        strength[class_contrast(on, has) < FOLLOWS_DIFFERENCE] = 0
    best = top_rows(strength, MAX_WORDS)
    return [
        tuple((names[i], float(strength[i, k])) for i in best[:, k] if strength[i, k] > 0) for k in range(hasher.bits)
    ]


def pair_agreement(hasher: FittedHasher, data: MultimodalDataset, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the share of items whose modalities agree on each bit, and the share expected by chance.

    The latter is p q + (1 − p)(1 − q), where p and q are the shares of items with the bit on in two
    modalities. Both results are means over all pairs of modalities.
    """
    bits = {name: f.margins(data.modalities[name][rows]) > 0 for name, f in hasher.functions.items()}
    pairs = list(combinations(bits.values(), 2))
    agreement: FloatArray = np.mean([np.mean(a == b, axis=0) for a, b in pairs], axis=0)
    shares = [(a.mean(axis=0), b.mean(axis=0)) for a, b in pairs]
    chance: FloatArray = np.mean([p * q + (1 - p) * (1 - q) for p, q in shares], axis=0)
    return agreement, chance


def sample_evenly(rows: IntArray, limit: int = SAMPLE_ITEMS) -> IntArray:
    """Return all rows, or `limit` evenly spaced ones if there are more."""
    return rows if len(rows) <= limit else rows[np.linspace(0, len(rows) - 1, limit).astype(np.int64)]


def top_rows(values: FloatArray, limit: int) -> IntArray:
    """Return the row numbers of the largest values in each column, largest first; (limit, columns)."""
    limit = min(limit, len(values))
    chosen = np.argpartition(-values, limit - 1, axis=0)[:limit]
    order = np.argsort(-np.take_along_axis(values, chosen, axis=0), axis=0, kind="stable")
    return np.take_along_axis(chosen, order, axis=0)

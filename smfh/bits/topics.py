"""What each bit stands for: words, pictures and classes that switch it on, told only where they agree.

Words are told by the hash function, not by the basis U. U says what a bit helps to redraw, which has almost
no influence on the codes of SMFH+, and with RBF anchors its rows are anchors, not words. A query is encoded
by the hash function: so each word of the vocabulary is asked for alone, and what counts is by how much it
lifts the margin of the bit above that of a middling word. So it is for every method and feature map.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from smfh.bits.counts import bit_kinds, class_contrast, contrast, correlate
from smfh.bits.votes import Group, group_votes
from smfh.evaluation import database_codes
from smfh.features.text import PIECE, TextEncoder
from smfh.hamming import unpack
from smfh.hashing import FittedHasher
from smfh.types import BoolArray, FloatArray, IntArray, Matrix, MultimodalDataset, Split

WORDS, ITEMS, RELATIVES = 10, 12, 5  # that are kept of each bit
SUMMARY = 3  # words or classes
FOLLOWS = 0.25  # a bit follows a class, or a word, that it is on for so much more often than for the others
AGREES = 0.4  # modalities agree on a bit from this κ on: 0 is chance, 1 is always
SAMPLE = 20_000  # items looked through for the strongest, and pairs for the agreement
NAMELESS = "nothing that has a name"
Named = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class BitTopic:
    """One bit by the model's own number, from 0, and what it is on for; the strongest come first."""

    number: int
    balance: float  # share of the database with the bit on
    kind: str  # "live", "dead" or "twin"
    classes: Named  # P(on | class) − P(on | others)
    words: Mapping[str, Named]  # by modality with a vocabulary; those whose pictures have the bit on too
    rows: tuple[int, ...]  # training items, rows of the data set, that have it on in every modality
    agreement: float  # share of held-out pairs whose modalities agree on the bit
    chance: float  # what that share would be if they knew nothing of each other
    fidelity: Mapping[str, float]  # share of training items whose modality gives the bit of the database
    group: Group  # the bits that vote together, this one among them; none for a dead bit
    relatives: tuple[tuple[int, float], ...]  # other bits and their correlation

    @property
    def kappa(self) -> float:
        """κ = (agreement − chance) / (1 − chance); 0 where there is nothing to agree on."""
        return (self.agreement - self.chance) / (1 - self.chance) if self.chance < 1 else 0.0

    @property
    def agrees(self) -> bool:
        """Whether the modalities agree on the bit, so that words and pictures may speak for it."""
        return self.kappa >= AGREES

    @property
    def echoes(self) -> tuple[int, int] | None:
        """The earlier bit that it votes with, and 1, or −1 for against; none for the first of its group."""
        first = self.group[0][0] if self.group else self.number
        return None if first == self.number else (first, dict(self.group)[self.number])

    @property
    def follows(self) -> tuple[str, ...]:
        """The classes that it is on for much more often than for the others."""
        return tuple(name for name, difference in self.classes if difference >= FOLLOWS)

    @property
    def summary(self) -> str:
        """A few words for what the bit is on for: words where modalities agree, else classes, if any."""
        if self.kind == "dead":
            return NAMELESS
        told = next((words for words in self.words.values() if words), ()) if self.agrees else ()
        names = tuple(word for word, _ in told) or self.follows
        return ", ".join(names[:SUMMARY]) or NAMELESS


def describe_bits(hasher: FittedHasher, data: MultimodalDataset, split: Split) -> tuple[BitTopic, ...]:
    """What each bit stands for, in the order of the bits."""
    codes, shown = database_bits(hasher, data, split), shown_modality(hasher)
    by_class = class_contrast(codes, data.labels[split.train])
    order = np.argsort(-by_class, axis=0, kind="stable")
    places = sample(np.arange(len(codes)))
    items, learned = split.train[places], codes[places]
    margins = {name: f.margins(data.modalities[name][items]) for name, f in hasher.functions.items()}
    on = {name: of_modality > 0 for name, of_modality in margins.items()}
    words = {
        name: strongest_words(hasher, name, encoder, data.modalities[name][items], on[shown])
        for name in hasher.modalities
        if isinstance(encoder := data.encoders.get(name), TextEncoder)
    }
    rows = strongest_items(margins[shown], np.all(list(on.values()), axis=0), items)
    fidelity = {name: np.mean(bits == learned, axis=0) for name, bits in on.items()}
    agreement, chance = pair_agreement(hasher, data, sample(split.queries))
    correlation = correlate(learned)
    groups = {bit: group for group in group_votes(correlation) for bit, _ in group}
    relatives = list(_relatives(correlation))
    balance, kinds = codes.mean(axis=0), bit_kinds(codes)
    return tuple(
        BitTopic(
            number=k,
            balance=float(balance[k]),
            kind=str(kinds[k]),
            classes=tuple((data.class_names[j], float(by_class[j, k])) for j in order[:, k]),
            words={name: strongest[k] for name, strongest in words.items()},
            rows=rows[k],
            agreement=float(agreement[k]),
            chance=float(chance[k]),
            fidelity={name: float(share[k]) for name, share in fidelity.items()},
            group=groups.get(k, ()),
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
    hasher: FittedHasher, modality: str, encoder: TextEncoder, X: Matrix, on: BoolArray
) -> list[Named]:
    """(margin of the word alone − median margin of all words) · ln(1 + min(n, N − n)), of each bit.

    n of the N items X have the word. A word of two items may have any margin, and one that nearly all have
    tells nothing: the logarithm keeps both back. A word is left out where the pictures of its items do not
    agree: where they have the bit `on` (items, bits) hardly more often than the pictures of the others.
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
        both: FloatArray = has.T @ on.astype(np.float32)
        strength *= np.log1p(np.minimum(n, len(on) - n))[:, None]
        strength[contrast(both, n, on) < FOLLOWS] = 0
    best = top_rows(strength, WORDS)
    return [
        tuple((names[i], float(strength[i, k])) for i in best[:, k] if strength[i, k] > 0)
        for k in range(hasher.bits)
    ]


def strongest_items(margins: FloatArray, on: BoolArray, rows: IntArray) -> list[tuple[int, ...]]:
    """The rows of largest margin among those that are on, for each bit; margins and on are (items, bits)."""
    allowed = np.where(on, margins, -np.inf)
    best = top_rows(allowed, ITEMS)
    return [tuple(rows[i[allowed[i, k] > -np.inf]].tolist()) for k, i in enumerate(best.T)]


def pair_agreement(
    hasher: FittedHasher, data: MultimodalDataset, rows: IntArray
) -> tuple[FloatArray, FloatArray]:
    """How often two modalities of an item give the same bit, and p q + (1 − p)(1 − q), how often they would
    by chance if they have it on with shares p and q: the means over all pairs of modalities."""
    bits = {name: f.margins(data.modalities[name][rows]) > 0 for name, f in hasher.functions.items()}
    pairs = list(combinations(bits.values(), 2))
    agreement: FloatArray = np.mean([np.mean(a == b, axis=0) for a, b in pairs], axis=0)
    shares = [(a.mean(axis=0), b.mean(axis=0)) for a, b in pairs]
    chance: FloatArray = np.mean([p * q + (1 - p) * (1 - q) for p, q in shares], axis=0)
    return agreement, chance


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

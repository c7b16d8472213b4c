"""Search with a single query: typed words, a picture or an item of the data.

The query becomes features of its modality, the features become a code, and the database is ordered by its
distance from this code: asymmetric, or Hamming. The codes of short texts also depend on similar training
texts. With short codes, many items are at the same distance: ties are ordered by similarity, or stay in
database order as in every score.
"""

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from smfh.features.embedding import EmbeddedPictures, EmbeddedTexts
from smfh.features.image import ImageEncoder, measure, network_directions
from smfh.features.maps import FeatureMap, row_norms
from smfh.features.text import TextEncoder, split_words
from smfh.hamming import as_queries, distances_in_bits, pack, rank, unpack
from smfh.hamming import distances as hamming_distances
from smfh.hashing import FittedHasher
from smfh.metrics import AP_DEFINITIONS, average_precision
from smfh.retrieval.evaluation import PROTOCOLS, database_codes
from smfh.retrieval.typed_words import Meaning, contains, content_words, has_name, spell_out, split_excluded, understand
from smfh.types import (
    EPS,
    BoolArray,
    DistanceCounts,
    Distances,
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
    "likeness": "Items at the same distance are ordered by similarity to the query.",
    "database": "Items at the same distance are in database order, as in every score.",
}
DATABASES: dict[str, str] = {
    "all": "The database is all items: the training items with their learnt codes, and the held-out items, "
    "encoded by the hash function of their modality.",
    **PROTOCOLS,
}
MAX_CHARACTERS = 500
MAX_PICTURE_BYTES = 10 * 2**20
MAX_RESULTS = 100
MAX_QUERY_WORDS = 8  # words of a query of which items can contain all
MAX_CONTAINING = 12  # items with all words of the query come first if there are at most so many
MAX_TIED = 20_000  # most tied items that are ordered by similarity
EXPLAINED_ITEMS = 3  # similar training items that an explanation names
NEIGHBOURS = 20  # similar training items used for a query's code and for the order of ties
MEAN_SAMPLE = 2_000  # training items used for the mean of the target features
UNIT_ROWS, UNIT_ROOTS = FeatureMap(unit_rows=True), FeatureMap(power=0.5, unit_rows=True)
DECIMALS = 12  # rounding that makes sums independent of their order
SINGLE_ERROR = 1e-4  # bound on the error of a cosine in single precision
UNLIKE_SHARE, UNLIKE_SAMPLE = 0.01, 500  # see `is_unlike_all`
SCORE = AP_DEFINITIONS["found"]
TEXT_ENCODERS, PICTURE_ENCODERS = (TextEncoder, EmbeddedTexts), (ImageEncoder, EmbeddedPictures)

Neighbours = tuple[IntArray, FloatArray]  # rows of the data set, and their cosine with the query


@dataclass(frozen=True, eq=False)
class Query:
    """A query: its features in one modality, and the classes of relevant items."""

    source: str
    features: Matrix  # (1, dimensions)
    classes: BoolArray | None  # (classes,); None if the query has no known class
    row: int | None = None  # row of the data set, if the query is an item
    words: str = ""  # the typed words, if any, except excluded ones
    picture: str = ""  # SHA-256 of the picture file, if any
    tokens: int = 0  # number of known words
    wanted: tuple[str, ...] = ()  # interpreted words without stop words; items with all of them come first
    excluded: tuple[str, ...] = ()  # words that no result may have
    label: int | None = None  # the class that every result must have, if any
    is_interpreted: bool = False  # words are related to known ones, and items with the words come first
    interpreted_as: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # see `Meaning.interpreted`
    is_guess: bool = False  # the words are not close to any known word
    others: tuple["Query", ...] = ()  # further queries that this one is combined with

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """A key that is the same for equal queries; only for comparing queries on the same data."""
        others = tuple(other.identity for other in self.others)
        words = (self.words, self.excluded, self.is_interpreted)
        return self.source, self.row, words, self.picture, self.label, others

    @property
    def pictures(self) -> list["Query"]:
        """The parts of this query that are pictures."""
        return [part for part in (self, *self.others) if part.picture]

    @property
    def notes(self) -> list[str]:
        """Messages that explain how the typed words were interpreted."""
        lines = [
            f"{word}: also searched as {', '.join(known[1:])}"
            if known[0] == word
            else f"{word}: interpreted as {', '.join(known)}"
            for word, known in self.interpreted_as.items()
        ]
        lines += [f"Excluded: items with {' or '.join(self.excluded)}"] if self.excluded else []
        return [*lines, "No close match; these are guesses."] if self.is_guess else lines


@dataclass(frozen=True, eq=False)
class SearchResults:
    """The nearest items, nearest first, and how many items lie at each distance."""

    query: Query
    target: str
    code: BoolArray  # (bits,) of the query
    rows: IntArray  # (results,) of the data set
    distances: Distances  # (results,), in bits
    tied: IntArray  # (results,), number of items of the database at the same distance
    codes: BoolArray  # (results, bits)
    relevance: BoolArray | None  # (results,); None if the query has no known class
    counts: DistanceCounts  # of all items by Hamming distance; none relevant if no class is known
    average_precision: float | None  # with ties in database order
    similar: IntArray  # rows of the training items most similar to the query, which can order the ties
    ties: str = "likeness"  # how items at the same distance are ordered: a key of TIES
    names: int = 0  # number of first results, listed there because their name is the query
    containing: int = 0  # number of results after these, listed there because they contain all words
    weights: FloatArray | None = None  # (bits,), for an asymmetric distance; their sum is the number of bits
    is_unlike_all: bool = False  # the query is a picture unlike anything in the data set

    @property
    def distance(self) -> str:
        """What the items are ranked by: a key of DISTANCES."""
        return "hamming" if self.weights is None else "asymmetric"

    def count_within(self, radius: int) -> int:
        """Return how many items of the database are at most `radius` bits away."""
        return int(self.counts.items[0, : radius + 1].sum())


def text_modalities(data: MultimodalDataset) -> list[str]:
    """Return the modalities in which typed words can be a query."""
    return [name for name in data.modalities if isinstance(data.encoders.get(name), TEXT_ENCODERS)]


def picture_modalities(data: MultimodalDataset) -> list[str]:
    """Return the modalities in which a picture file can be a query."""
    return [name for name in data.modalities if isinstance(data.encoders.get(name), PICTURE_ENCODERS)]


def text_encoder(data: MultimodalDataset, source: str) -> TextEncoder:
    """Return the text encoder of a modality; raise InputError if it has none."""
    if not isinstance(encoder := data.encoders.get(source), TextEncoder):
        raise _no_encoder("Words", source, text_modalities(data))
    return encoder


def query_from_words(
    data: MultimodalDataset, source: str, sentence: str, interpret: bool = True, without: str = ""
) -> Query:
    """Return a query made of typed words; items of a class that the words name are relevant.

    Parameters
    ----------
    data, source
        The data to search, and the modality of the words.
    sentence
        Words; those that begin with a minus sign, as in "cat -cartoon", are excluded from the results.
    interpret
        Leave out stop words, correct spelling, relate unknown and rare words to known ones, and list items of
        this name first, then items that contain all of the words if they are few.
    without
        Further words to exclude.
    """
    encoder = data.encoders.get(source)
    if not isinstance(encoder, TEXT_ENCODERS):
        raise _no_encoder("Words", source, text_modalities(data))
    if (length := len(sentence) + len(without)) > MAX_CHARACTERS:
        raise InputError(f"A query has at most {MAX_CHARACTERS} characters; got {length:,}. Use fewer words.")
    wanted, excluded = split_excluded(sentence)
    if not (words := split_words(spelled := spell_out(wanted))):
        raise InputError("The query has no words. Type at least one word of letters or digits.")
    if isinstance(encoder, EmbeddedTexts):  # it understands whole sentences
        embedded = encoder.encode([spelled])
        meaning = Meaning(embedded, embedded.shape[1], tuple(content_words(words)) if interpret else ())
    elif interpret:
        meaning = understand(encoder, data.modalities[source], words, data.captions or ())
    else:
        features = encoder.encode([spelled])
        meaning = Meaning(features, int(count_tokens(features)[0]))
    if not np.any(_dense(meaning.features)):
        raise InputError("None of these words occurs in the training data. Try other or simpler words.")
    query = Query(
        source,
        meaning.features,
        named_classes(spelled, data.class_names) if data.has_labels else None,
        words=wanted,
        tokens=meaning.tokens,
        wanted=meaning.words,
        is_interpreted=interpret,
        interpreted_as=meaning.interpreted,
        is_guess=meaning.is_guess,
    )
    return exclude(query, " ".join([*excluded, without]))


def exclude(query: Query, words: str) -> Query:
    """Return the query without results that have one of these words in their text or caption."""
    return replace(query, excluded=tuple(dict.fromkeys([*query.excluded, *split_words(words)])))


def query_from_picture(
    data: MultimodalDataset,
    source: str,
    file: bytes,
    name: str = "picture",
    call: Callable[..., Any] = lambda work, *arguments: work(*arguments),
) -> Query:
    """Return a query made of a picture file, whose classes are not known.

    `call(function, *arguments)` calls the function that decodes the picture: by default in this process, or in
    a worker process.
    """
    encoder = data.encoders.get(source)
    if not isinstance(encoder, PICTURE_ENCODERS):
        raise _no_encoder("Pictures", source, picture_modalities(data))
    if len(file) > MAX_PICTURE_BYTES:
        size, limit = len(file) / 2**20, MAX_PICTURE_BYTES // 2**20
        raise InputError(f"{name} is {size:,.1f} MB; the limit is {limit} MB. Use a smaller picture.")
    if isinstance(encoder, ImageEncoder):
        features = encoder.features(call(measure, [file]))
    else:
        features = call(encoder.encode, [file])
    return Query(source, features, None, picture=hashlib.sha256(file).hexdigest())


def query_from_item(data: MultimodalDataset, source: str, row: int) -> Query:
    """Return a query made of an item of the data; items that share a label with it are relevant."""
    if source not in data.modalities:
        raise unknown("modality", source, data.modalities)
    if not 0 <= row < len(data):
        raise InputError(f"There are {len(data):,} items, numbered 0 to {len(data) - 1:,}; got {row}.")
    classes = data.labels[row] if data.labels[row].any() else None
    return Query(source, data.modalities[source][[row]], classes, row)


def combine(queries: Sequence[Query]) -> Query:
    """Combine several queries, for example a picture and words, into one; all have the same weight."""
    return replace(queries[0], others=tuple(queries[1:]))


def _no_encoder(what: str, source: str, modalities: list[str]) -> InputError:
    instead = f"Choose {' or '.join(modalities)}" if modalities else "Search with an item of the data instead"
    return InputError(
        f"{what} cannot be a query in {source!r}: the data set contains only precomputed features. {instead}."
    )


def unknown_words(data: MultimodalDataset, source: str, sentence: str) -> list[str]:
    """Return the words of a sentence that do not occur in the training data, leaving out excluded words."""
    encoder = data.encoders.get(source)
    if not isinstance(encoder, TextEncoder) or len(sentence) > MAX_CHARACTERS:
        return []
    return encoder.unknown_words(spell_out(split_excluded(sentence)[0]))


def find_language(data: MultimodalDataset, source: str, sentence: str) -> str:
    """Return the text modality with the fewest unknown words; in a tie, `source`."""
    names = sorted(text_modalities(data), key=lambda name: name != source)
    return min(names, key=lambda name: len(unknown_words(data, name, sentence)), default=source)


def suggest_words(data: MultimodalDataset, source: str, word: str) -> list[str]:
    """Return words of the training data that are spelled similarly to `word`."""
    encoder = data.encoders.get(source)
    similar = encoder.near_spellings(word) if isinstance(encoder, TextEncoder) else []
    return [known for known in similar if known != word]


def replace_word(sentence: str, word: str, by: str) -> str:
    """Return the tokenised sentence with `word` replaced by another word."""
    return " ".join(by if other == word else other for other in split_words(spell_out(sentence)))


def named_classes(sentence: str, class_names: tuple[str, ...]) -> BoolArray | None:
    """Return which classes a sentence names, in singular or plural, as a mask; None if it names none."""

    def singular(text: str) -> set[str]:
        return {word.removesuffix("s") if len(word) > 3 else word for word in split_words(text)}

    named = np.array([bool(singular(sentence) & singular(name)) for name in class_names])
    return named if named.any() else None


def search(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    query: Query,
    target: str,
    protocol: str = "training",
    ties: str = "likeness",
    flips: Sequence[int] = (),
    limit: int = MAX_RESULTS,
    distance: str = "asymmetric",
) -> SearchResults:
    """Return the items of one modality that are nearest to a query.

    Parameters
    ----------
    hasher, data, split
        A trained model, and the data and split that it was trained on.
    query
        Made by `query_from_words`, `query_from_picture` or `query_from_item`.
    target
        The modality to search.
    protocol
        Which items form the database: a key of `DATABASES`. In "all", an item does not find itself.
    ties
        How items at the same distance are ordered: a key of `TIES`.
    flips
        Bits of the query's code to flip before searching.
    limit
        Number of results.
    distance
        What the items are ranked by: a key of `DISTANCES`.
    """
    if ties not in TIES:
        raise unknown("order of ties", ties, TIES)
    by_similarity = ties == "likeness"
    found = [find_neighbours(data, split, part) for part in (query, *query.others)]
    neighbours = join_neighbours(found)
    turned = np.zeros((1, hasher.bits), dtype=np.bool_)
    turned[0, list(flips)] = True
    codes, weights = as_queries(query_margins(hasher, data, split, query, found), distance)
    code = codes ^ pack(turned)
    database, rows = searched_codes(hasher, data, split, query, target, protocol)
    order, distances = (ranked[0] for ranked in rank(code, database, weights=weights))
    differing = hamming_distances(code, database)[0][order]
    items = np.bincount(differing, minlength=hasher.bits + 1)
    relevant, score, hits = None, None, np.zeros_like(items)
    if query.classes is not None:
        relevant = (data.labels[rows] @ query.classes)[order]
        hits = np.bincount(differing[relevant], minlength=hasher.bits + 1)
        score = float(average_precision(relevant[None, : SCORE.top], hits.sum(keepdims=True), SCORE)[0])
    first: IntArray = np.arange(min(limit, len(order)))
    if by_similarity:
        tied = min(int(np.searchsorted(distances, distances[first[-1]], side="right")), MAX_TIED)
        alike = similarity(data, split, neighbours, target, rows[order[:tied]])
        first = np.lexsort((-alike, distances[:tied]))[:limit]
    named, containing = find_exact_matches(data, query, rows, order)
    earlier = np.concatenate([named, containing])
    first = np.concatenate([earlier, first[~np.isin(first, earlier)]])[:limit]
    near = distances[first]
    return SearchResults(
        query=query,
        target=target,
        code=unpack(code, hasher.bits)[0],
        rows=rows[order[first]],
        distances=near,
        tied=np.searchsorted(distances, near, side="right") - np.searchsorted(distances, near),
        codes=unpack(database[order[first]], hasher.bits),
        relevance=None if relevant is None else relevant[first],
        counts=DistanceCounts(items[None, :], hits[None, :]),
        average_precision=score,
        similar=neighbours[0],
        ties=ties,
        names=min(len(named), limit),
        containing=min(len(earlier), limit) - min(len(named), limit),
        weights=None if weights is None else distances_in_bits(weights[0], hasher.bits),
        is_unlike_all=any(is_unlike_all(data, split, picture) for picture in query.pictures),
    )


def find_exact_matches(
    data: MultimodalDataset, query: Query, rows: IntArray, order: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the ranks of the items whose name is the query, and of other items that contain all its words.

    Items that contain all words are sorted by how many of the related words they contain. They are only returned
    if there are at most MAX_CONTAINING: a hash function learns frequent words, but has few examples of rare ones.
    Only items with this name are returned if the query is long, guessed or combined with another, or if the words
    of its language are compared by letter n-grams. `rows` are the items searched, `order` their ranking. Scores do
    not use this.
    """
    none: IntArray = np.empty(0, dtype=np.int64)
    if not query.is_interpreted or not query.wanted:
        return none, none
    named = has_name(data, rows, query.wanted)
    encoder, having = data.encoders.get(query.source), np.zeros_like(named)
    has_letters = isinstance(encoder, TextEncoder) and encoder.vocabulary.letters > 0
    if not (query.others or query.is_guess or has_letters or len(query.wanted) > MAX_QUERY_WORDS):
        having = np.logical_and.reduce([contains(data, query.source, rows, word) for word in query.wanted]) & ~named
    few = np.flatnonzero(having[order]) if np.count_nonzero(having) <= MAX_CONTAINING else none
    texts = data.modalities[query.source][rows[order[few]]]
    alike = ((_dense(texts) > 0) @ _dense(query.features)[0].astype(np.float64)).round(DECIMALS // 2)
    return np.flatnonzero(named[order]), few[np.argsort(-alike, kind="stable")]


def explain(data: MultimodalDataset, results: SearchResults, rank: int) -> list[str]:
    """Return sentences that explain why the result at `rank` was found.

    They compare its name and classes with those of the query, and name the training items most similar to the
    query. If the query is not an item, its classes are the labels of at least half of these items.
    """
    query, similar = results.query, results.similar[:EXPLAINED_ITEMS]
    own = data.labels[results.rows[rank]]
    usual = data.labels[similar].mean(axis=0) >= 0.5 if len(similar) else np.zeros_like(own)
    expected = usual if query.row is None else data.labels[query.row]

    def names(classes: BoolArray) -> str:
        return ", ".join(np.array(data.class_names, dtype=object)[classes])

    lines = ["Its name is your query."] if rank < results.names else []
    lines += ["It contains the words."] if results.names <= rank < results.names + results.containing else []
    if (own & expected).any():
        lines.append(f"Same group: {names(own & expected)}.")
    elif expected.any():
        lines.append(f"Another group: {names(own) or 'none'}; expected {names(expected)}.")
    captions = data.captions or [f"item {row}" for row in range(len(data))]
    names_of_similar = ", ".join(captions[row] for row in similar)
    if len(similar) and results.tied[rank] > 1 and results.ties == "likeness":
        lines.append(f"Ordered by similarity to: {names_of_similar}.")
    elif len(similar):
        lines.append(f"Most similar training {'texts' if query.words else 'items'}: {names_of_similar}.")
    return lines


def explain_bits(results: SearchResults, rank: int) -> str:
    """Return how many bits of the result at `rank` differ from the query's, and how many items are as far away."""
    differ, tied = int(np.count_nonzero(results.code != results.codes[rank])), int(results.tied[rank])
    other = f"differs from the query's code in {differ} of {len(results.code)} bits"
    order = "" if results.ties == "likeness" else " They are in database order."
    items = f" {tied:,} items are at this distance.{order}" if tied > 1 else ""
    return f"Its code {other if differ else 'equals that of the query'}.{items}"


def searched_codes(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, query: Query, target: str, database: str
) -> tuple[Words, IntArray]:
    """Return the codes and rows of the database that a query searches, without excluded items."""
    if database not in DATABASES:
        raise unknown("database", database, DATABASES)
    codes, rows = database_codes(hasher, data, split, target, "training" if database == "all" else database)
    if database == "all":
        held_out = np.concatenate([split.queries, split.validation])
        encoded = hasher.functions[target].encode(data.modalities[target][held_out])
        codes, rows = np.concatenate([codes, encoded]), np.concatenate([rows, held_out])
        kept = ~np.isin(rows, [part.row for part in (query, *query.others) if part.row is not None])
    else:
        kept = np.ones(len(rows), dtype=np.bool_)
    if query.excluded:
        texts = text_modalities(data)
        source = query.source if query.source in texts or not texts else texts[0]
        kept &= ~np.logical_or.reduce([contains(data, source, rows, word) for word in query.excluded])
    if query.label is not None:
        kept &= data.labels[rows, query.label]
    if not kept.any():
        reasons = [f"an excluded word ({', '.join(query.excluded)})"] if query.excluded else []
        reasons += [] if query.label is None else [f"no label “{data.class_names[query.label]}”"]
        raise InputError(f"No items are left: every item has {' or '.join(reasons)}. Remove a filter.")
    return (codes, rows) if kept.all() else (codes[kept], rows[kept])


def is_unlike_all(data: MultimodalDataset, split: Split, query: Query) -> bool:
    """Whether a picture is unlike all training items, for example a photograph if they are drawings.

    Similarity is the cosine of the network's features, or of those of an encoder from MODELS. For the picture
    and for some training items, the highest similarity to other items of a sample is computed. The picture is
    unlike all items if its value is lower than those of 99 % of the items. On Emoji this holds for all 170
    crops of seventeen photographs and for 2.9 % of the held-out drawings (10 of 349).
    """
    X, encoder = data.modalities[query.source], data.encoders.get(query.source)
    if not isinstance(encoder, PICTURE_ENCODERS):
        return False
    directions: Callable[[FloatArray], Any] = network_directions if isinstance(encoder, ImageEncoder) else UNIT_ROWS
    items: FloatArray = directions(_dense(X[split.train[:: -(-len(split.train) // MEAN_SAMPLE)]]))
    own = items[:UNLIKE_SAMPLE] @ items.T
    np.fill_diagonal(own, -1)
    highest = np.max(directions(_dense(query.features)) @ items.T)
    return bool(highest < np.quantile(own.max(axis=1), UNLIKE_SHARE))


def find_fewest_flips(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, query: Query, target: str, protocol: str = "training"
) -> IntArray | None:
    """Return the fewest bits of a query's code to flip so that a relevant item is nearer than all others.

    None if no flips achieve this, or if the query has no known class.
    """
    if query.classes is None:
        return None
    code = unpack(encode_query(hasher, data, split, query), hasher.bits)[0]
    database, rows = searched_codes(hasher, data, split, query, target, protocol)
    is_relevant = data.labels[rows] @ query.classes
    relevant, others = (np.unique(database[which], axis=0) for which in (is_relevant, ~is_relevant))
    return fewest_flips(code, unpack(relevant, hasher.bits), unpack(others, hasher.bits))


def fewest_flips(code: BoolArray, relevant: BoolArray, others: BoolArray) -> IntArray | None:
    """Return the fewest bits to flip in `code` so that a `relevant` code is nearer than all `others`.

    `code` q is (bits,), `relevant` codes r and `others` w are (n, bits), d is the Hamming distance. A flip in
    q changes d(q, r) − d(q, w) in favour of r, by 2, only at a bit in which r differs from q and w does
    not. So for each r the fewest flips F among the bits D in which r differs from q are

        min |F|,  F ⊆ D,  2 |{b ∈ F : w_b = q_b}| > d(q, r) − d(q, w) for every w.

    This covering problem is solved exactly. Flipping all of D turns q into r, so there is a solution unless
    some w equals r. The result is None if every relevant code is also among the others.
    """
    constraints = []  # by relevant code: the flips that help against each other code, and how many it needs
    for r in relevant:
        lead = np.count_nonzero(code != r) - np.count_nonzero(others != code, axis=1)  # d(q, r) − d(q, w)
        helps, same = np.unique((others == code)[lead >= 0][:, code != r], axis=0, return_inverse=True)
        need: IntArray = np.zeros(len(helps), dtype=np.int64)
        np.maximum.at(need, same.ravel(), (lead // 2 + 1)[lead >= 0])
        constraints.append((helps, need))
    best: IntArray | None = None
    for k in sorted(range(len(relevant)), key=lambda k: constraints[k][1].max(initial=0)):
        helps, need = constraints[k]
        if best is not None and need.max(initial=0) >= len(best):
            break
        if (helps.sum(axis=1) < need).any():  # one of the others has the same code
            continue
        flips: IntArray = np.zeros(0, dtype=np.int64)
        if len(need):
            ones = np.ones(helps.shape[1], dtype=np.int64)
            enough = LinearConstraint(helps.astype(np.float64), lb=need)
            solved = milp(ones, constraints=enough, integrality=ones, bounds=Bounds(0, 1))
            flips = np.flatnonzero(code != relevant[k])[np.asarray(solved.x) > 0.5]
        best = flips if best is None or len(flips) < len(best) else best
    return best


def encode_query(hasher: FittedHasher, data: MultimodalDataset, split: Split, query: Query) -> Words:
    """Return the packed code of a query: 1 where its margin is positive."""
    return pack(query_margins(hasher, data, split, query) > 0)


def query_margins(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, query: Query, found: Sequence[Neighbours] | None = None
) -> FloatArray:
    """Return the margins of a query's bits, (1, bits); for combined queries, Σ_q m_q / ‖m_q‖.

    `found` has the neighbours of every combined query, if they are already known.
    """
    parts = (query, *query.others)
    known = found if found is not None else [None] * len(parts)
    m = np.concatenate([part_margins(hasher, data, split, *one) for one in zip(parts, known, strict=True)])
    if not query.others:
        return m
    total: FloatArray = (m / np.maximum(row_norms(m)[:, None], EPS)).sum(axis=0, keepdims=True)
    return total


def part_margins(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, query: Query, neighbours: Neighbours | None = None
) -> FloatArray:
    """Return the margins of a single query: m(x) from its features x, except for typed words.

    For typed words, similar training texts contribute, and the margins are

        t m(x) + (1 − t) Σ_j s_j² m(x_j) / Σ_j s_j²,  t = min(1, n/n̄)²,

    with x_j the training texts most similar to the query, s_j their cosine similarity to it, n the number of
    known words in the query, and n̄ the mean number in a training text.

    A query of few words is far from every training text, so all its RBF features are small, and this decides
    the bits instead of the words. Items and pictures are encoded as in every score. mAP@100 of m(x) → of the
    equation, with SMFH+ on validation folds of the training rows, for queries of 1, 2 and 3 words of a text:
    Emoji .620, .726, .752 → .727, .777, .779; names in German .450, .557, .582 → .490, .569, .590; PASCAL's
    sentences .268, .347, .444 → .321, .397, .459. Whole texts: .875 → .873, .600 → .606, .742 → .724.
    """
    if not query.words:
        return hasher.functions[query.source].margins(query.features)
    X = data.modalities[query.source]

    def m(rows: Matrix) -> FloatArray:
        """Return margins in double precision, so that codes agree between machines and exported pages."""
        return hasher.functions[query.source].margins(rows.astype(np.float64))

    rows, s = neighbours or find_neighbours(data, split, query)
    t = min(1.0, query.tokens / count_tokens(X)[split.train].mean()) ** 2
    if t == 1 or not len(rows):
        return m(query.features)
    margins: FloatArray = t * m(query.features) + (1 - t) * (s**2 @ m(X[rows])) / (s**2).sum()
    return margins


def count_tokens(X: Matrix) -> IntArray:
    """Return how many different tokens each row has."""
    lengths: IntArray = (X > 0).sum(axis=1)
    return lengths


def similarity(
    data: MultimodalDataset, split: Split, neighbours: Neighbours, target: str, rows: IntArray
) -> FloatArray:
    """Return the similarity of each of `rows` to a query: for row i, z_i · Σ_j s_j² (z_j − z̄).

    z are unit rows of √x in the target modality, z̄ is their mean over the training items, and j are the
    training items most similar to the query in its own modality, with cosine s_j. Training pairs show which
    target features belong to the query; for a result, only its target features are used. Values are rounded
    from double precision, so that identical items get the same value in any order of summation.
    Measured with SMFH+ on validation folds of Emoji's training rows: the share of the first 12 results in the
    query's own subgroup, which the labels do not contain, rises from .152 to .486 (text → image); .475 with
    weights s_j, .449 without the network's features, .469 with these features alone.
    """
    nearest, s = neighbours
    X = data.modalities[target]
    direction = s**2 @ (_dense(_unit_roots(X[nearest])) - mean_target(data, split, target))
    alike: FloatArray = np.round(_unit_roots(X[rows]) @ direction, DECIMALS)
    return alike


def mean_target(data: MultimodalDataset, split: Split, target: str) -> FloatArray:
    """Return the mean of √x / ‖√x‖ in the target modality over a sample of the training items."""
    sample = data.modalities[target][split.train[:: -(-len(split.train) // MEAN_SAMPLE)]]
    mean: FloatArray = _unit_roots(sample).mean(axis=0)
    return mean


def find_neighbours(data: MultimodalDataset, split: Split, query: Query) -> Neighbours:
    """Return the training items most similar to a query in its own modality, and their cosines.

    All items are compared in single precision first, since a product with a double-precision vector would
    copy the whole matrix. Items that may be among the nearest are then compared in double precision.
    """
    X, q = data.modalities[query.source], _dense(query.features)[0].astype(np.float64)
    norms, length = row_norms(X), np.linalg.norm(q)
    rough = X @ q.astype(X.dtype) / np.maximum(norms * float(length), EPS)
    rough = rough[split.train]  # selecting the rows earlier would also copy the matrix
    last = float(np.partition(rough, -NEIGHBOURS)[-NEIGHBOURS]) if len(rough) > NEIGHBOURS else 0.0
    rows = split.train[rough > max(last - SINGLE_ERROR, 0.0)]
    cosine = X[rows].astype(np.float64) @ q / np.maximum(norms[rows] * length, EPS)
    cosine = cosine.round(DECIMALS)
    first = np.argsort(-cosine, kind="stable")[:NEIGHBOURS]
    first = first[cosine[first] > 0]
    return rows[first], cosine[first]


def join_neighbours(found: Sequence[Neighbours]) -> Neighbours:
    """Return the training items most similar to all combined queries, by their mean cosine."""
    if len(found) == 1:
        return found[0]
    rows, place = np.unique(np.concatenate([rows for rows, _ in found]), return_inverse=True)
    cosine = np.bincount(place, np.concatenate([s for _, s in found])) / len(found)
    first = np.argsort(-cosine, kind="stable")[:NEIGHBOURS]
    return rows[first], cosine[first]


def _unit_roots(X: Matrix) -> Matrix:
    """Scale the square roots of each row x to length 1: √x / ‖√x‖."""
    return UNIT_ROOTS(X.astype(np.float64))


def _dense(X: Matrix) -> FloatArray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)

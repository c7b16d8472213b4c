"""Search with all held-out queries of a split, and return scores or ranked results."""

from collections.abc import Mapping

import numpy as np

from smfh.hamming import Queries, count_codes, judge, own_ranks, pack, rank, tally, tally_weighted
from smfh.hashing import FittedHasher
from smfh.metrics import AP_DEFINITIONS, APDefinition, RankedQueries, Scores, measure_ties, ndcg, ranked_gains, score
from smfh.types import (
    BoolArray,
    DistanceCounts,
    FloatArray,
    InputError,
    IntArray,
    MultimodalDataset,
    Results,
    Split,
    Words,
    unknown,
)

PROTOCOLS = {
    "training": "The database is the training set with its learnt codes, as in the paper; "
    "these codes were learnt with the labels.",
    "unseen": "The database is the held-out items, encoded by the hash function of their own modality; "
    "none of them was used in training. The query's own item is among them.",
}
DEPTH = 1000  # results of each query in precision and recall curves


def evaluate(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    source: str,
    target: str,
    protocol: str = "training",
    distance: str = "hamming",
    definitions: Mapping[str, APDefinition] = AP_DEFINITIONS,
    label_gains: FloatArray | None = None,
) -> Scores:
    """Search one modality with every held-out query of another one, and score the rankings.

    Parameters
    ----------
    hasher
        A trained model.
    data, split
        The data and split that the model was trained on; `split.queries` are the queries.
    source, target
        The modality of the queries, and the modality to search. An item is relevant if it shares a label
        with the query.
    protocol
        Which items form the database: "training", as in the paper, or "unseen", the held-out items.
    distance
        What the items are ranked by: "hamming", as in the paper, or "asymmetric".
    definitions
        The definitions of average precision to compute, by name.
    label_gains
        For NDCG, the gain of each label that a query and an item share, (classes,); default: 1.

    Returns
    -------
    Scores
        Mean average precision by each definition, NDCG, precision and recall curves, look-up by radius and,
        for unseen items, the rank of each query's partner: the same item in the target modality.

    Raises
    ------
    InputError
        If a modality, the protocol or the distance is unknown, or if the model was trained on another split.

    Examples
    --------
    >>> from smfh import DATASETS, SMFHPlus, evaluate
    >>> data, split = DATASETS["planted"]().load()
    >>> hasher = SMFHPlus(bits=16).fit(data.take(split.train))
    >>> scores = evaluate(hasher, data, split, "text", "image")
    >>> scores.mean_average_precision > 0.9
    True
    """
    queries = encode_queries(hasher, data, split, source, distance)
    database, rows = database_codes(hasher, data, split, target, protocol)
    labels = data.labels[split.queries], data.labels[rows]
    search = (source, target, protocol, distance)
    return score_codes(queries, database, *labels, hasher.bits, search, definitions, label_gains)


def score_codes(
    queries: Queries,
    database: Words,
    query_labels: BoolArray,
    database_labels: BoolArray,
    bits: int,
    search: tuple[str, str, str, str] = ("", "", "", ""),
    definitions: Mapping[str, APDefinition] = AP_DEFINITIONS,
    label_gains: FloatArray | None = None,
) -> Scores:
    """Rank the database by its distance from every query, and return the scores.

    `search` consists of source, target, protocol and distance. If the protocol is "unseen", item i of the
    database must be the partner of query i: the same item in the target modality.
    """
    packed = pack(database_labels)
    ranked = rank_queries(queries, database, query_labels, packed, bits, definitions, label_gains)
    partner_ranks = own_ranks(queries.codes, database, queries.weights) if search[2] == "unseen" else None
    return score(search, ranked, partner_ranks, definitions, count_codes(database))


def rank_queries(
    queries: Queries,
    database: Words,
    query_labels: BoolArray,
    database_labels: Words,
    bits: int,
    definitions: Mapping[str, APDefinition] = AP_DEFINITIONS,
    label_gains: FloatArray | None = None,
) -> RankedQueries:
    """Rank the database by its distance from every query; return the parts that `score` needs."""
    codes, weights = queries
    labels = pack(query_labels), database_labels
    order, _ = rank(codes, database, DEPTH, weights)
    by_radius = tally(codes, database, *labels, bits)
    tallies = [by_radius] if weights is None else tally_weighted(codes, database, *labels, weights)
    counts = ((DistanceCounts(one.items_at, one.relevant_at), one.precision_sums) for one in tallies)
    precision_sums, tied = measure_ties(counts, definitions)
    return RankedQueries(
        relevance=judge(order, *labels),
        within=np.stack([by_radius.items_at, by_radius.relevant_at], axis=1),
        precision_sums=precision_sums,
        tied=tied,
        ndcg=ndcg(*ranked_gains(order, query_labels, database_labels, label_gains)),
    )


def find_results(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    source: str,
    target: str,
    protocol: str = "training",
    distance: str = "hamming",
    depth: int = DEPTH,
) -> Results:
    """Return the `depth` nearest items of every held-out query; for scores, use `evaluate`."""
    queries = encode_queries(hasher, data, split, source, distance)
    database, rows = database_codes(hasher, data, split, target, protocol)
    labels = pack(data.labels)
    order, distances = rank(queries.codes, database, depth, queries.weights)
    relevance = judge(order, labels[split.queries], labels[rows])
    return Results(rows.astype(np.int32)[order], distances, relevance)


def encode_queries(hasher: FittedHasher, data: MultimodalDataset, split: Split, source: str, distance: str) -> Queries:
    """Return the codes of the held-out queries, with the weights of their bits if the distance needs them."""
    if source not in hasher.functions:
        raise unknown("modality", source, hasher.functions)
    return hasher.functions[source].encode_queries(data.modalities[source][split.queries], distance)


def database_codes(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, target: str, protocol: str
) -> tuple[Words, IntArray]:
    """Return the codes of the database, and the rows of the data set that they encode."""
    if target not in hasher.functions:
        raise unknown("modality", target, hasher.functions)
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    if protocol == "unseen":
        return hasher.functions[target].encode(data.modalities[target][split.queries]), split.queries
    codes = hasher.database_codes[target]
    if len(codes) != len(split.train):
        raise InputError(
            f"The model has codes of {len(codes)} training items, but the split has {len(split.train)}: "
            "evaluate on the split that the model was trained on."
        )
    return codes, split.train

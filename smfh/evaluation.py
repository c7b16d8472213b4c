"""A fitted hasher and the queries of a split → Scores over all of them, or Answers, by two protocols."""

from collections.abc import Mapping

import numpy as np

from smfh.hamming import judge, pack, rank, tally
from smfh.hashing import FittedHasher
from smfh.metrics import AP_DEFINITIONS, APDefinition, Scores, score
from smfh.types import (
    Answers,
    BoolArray,
    DistanceCounts,
    InputError,
    IntArray,
    MultimodalDataset,
    Split,
    Words,
    unknown,
)

PROTOCOLS = {
    "training": "The database is the training set with its learnt codes, as in the paper; "
    "those codes have seen the labels.",
    "unseen": "The database is the held-out items, encoded by the hash function of their own modality; "
    "nothing of it was trained on. A query's own pair is among them.",
}
DEPTH = 1000  # answers that precision and recall are told for


def evaluate(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    source: str,
    target: str,
    protocol: str = "training",
    definitions: Mapping[str, APDefinition] = AP_DEFINITIONS,
) -> Scores:
    """Search the `target` modality with every query of the `source` modality; relevant = shares a label."""
    queries, database, rows = encode_search(hasher, data, split, source, target, protocol)
    labels = data.labels[split.queries], data.labels[rows]
    search = (source, target, protocol)
    return score_codes(queries, database, *labels, hasher.bits, search, definitions)


def score_codes(
    queries: Words,
    database: Words,
    query_labels: BoolArray,
    database_labels: BoolArray,
    bits: int,
    search: tuple[str, str, str] = ("", "", ""),
    definitions: Mapping[str, APDefinition] = AP_DEFINITIONS,
) -> Scores:
    """Rank the database for every query, and score the rankings."""
    labels = pack(query_labels), pack(database_labels)
    order, _ = rank(queries, database, DEPTH)
    counted = tally(queries, database, *labels, bits)
    counts = DistanceCounts(counted.items_at, counted.relevant_at)
    relevance = judge(order, *labels)
    return score(*search, relevance, counts, counted.precision_sums, definitions)


def find_answers(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    source: str,
    target: str,
    protocol: str = "training",
    depth: int = DEPTH,
) -> Answers:
    """The `depth` nearest items of every query, to be looked at; `evaluate` tells what they are worth."""
    queries, database, rows = encode_search(hasher, data, split, source, target, protocol)
    labels = pack(data.labels)
    order, distances = rank(queries, database, depth)
    relevance = judge(order, labels[split.queries], labels[rows])
    return Answers(rows.astype(np.int32)[order], distances, relevance)


def encode_search(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, source: str, target: str, protocol: str
) -> tuple[Words, Words, IntArray]:
    """The codes of all queries, those of the database, and the rows of the data set that these stand for."""
    if source not in hasher.functions:
        raise unknown("modality", source, hasher.functions)
    queries = hasher.functions[source].encode(data.modalities[source][split.queries])
    return queries, *database_codes(hasher, data, split, target, protocol)


def database_codes(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, target: str, protocol: str
) -> tuple[Words, IntArray]:
    """The codes of the database and the rows of the data set that they stand for."""
    if target not in hasher.functions:
        raise unknown("modality", target, hasher.functions)
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    if protocol == "unseen":
        return hasher.functions[target].encode(data.modalities[target][split.queries]), split.queries
    codes = hasher.database_codes[target]
    if len(codes) != len(split.train):
        raise InputError(
            f"The model holds codes of {len(codes)} training items, the split has {len(split.train)}: "
            "evaluate on the split that the model was trained on."
        )
    return codes, split.train

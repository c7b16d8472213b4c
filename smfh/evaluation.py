"""A fitted hasher and queries → a RetrievalResult, by either protocol."""

import numpy as np

from smfh.hamming import judge, pack, rank, tally
from smfh.hashing import FittedHasher
from smfh.metrics import (
    AP_DEFINITIONS,
    APDefinition,
    average_precision,
    chance,
    chance_average_precision,
    precision_at,
    precision_curve,
    recall_curve,
    tied_average_precision,
)
from smfh.types import (
    BoolArray,
    DistanceCounts,
    FloatArray,
    InputError,
    IntArray,
    MultimodalDataset,
    Ranking,
    RetrievalResult,
    Scores,
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
DEPTH = 1000  # answers kept for curves and galleries


def evaluate(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    source: str,
    target: str,
    protocol: str = "training",
    definition: APDefinition = AP_DEFINITIONS["found"],
) -> RetrievalResult:
    """Search the `target` modality with every query of the `source` modality; relevant = shares a label."""
    for modality in (source, target):
        if modality not in hasher.functions:
            raise unknown("modality", modality, hasher.functions)
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, PROTOCOLS)
    queries = hasher.functions[source].encode(data.modalities[source][split.queries])
    database, rows = searched(hasher, data, split, target, protocol)
    ranking = search(queries, database, data.labels[split.queries], data.labels[rows], hasher.bits, rows)
    scores, per_query = score(ranking, definition)
    return RetrievalResult(
        source=source,
        target=target,
        protocol=protocol,
        bits=hasher.bits,
        ranking=ranking,
        average_precision=per_query,
        precision_curve=precision_curve(ranking.relevance),
        recall_curve=recall_curve(ranking.relevance, ranking.counts.total_relevant),
        scores=scores,
    )


def searched(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, target: str, protocol: str
) -> tuple[Words, IntArray]:
    """The codes of the database and the rows of the data set that they stand for."""
    if protocol == "unseen":
        return hasher.functions[target].encode(data.modalities[target][split.queries]), split.queries
    codes = hasher.database_codes[target]
    if len(codes) != len(split.train):
        raise InputError(
            f"The model holds codes of {len(codes)} training items, the split has {len(split.train)}: "
            "evaluate on the split that the model was trained on."
        )
    return codes, split.train


def search(
    queries: Words,
    database: Words,
    query_labels: BoolArray,
    database_labels: BoolArray,
    bits: int,
    rows: IntArray,
) -> Ranking:
    """Rank all items for every query; keep the nearest and the counts by distance."""
    labels = pack(query_labels), pack(database_labels)
    order, distances = rank(queries, database, DEPTH)
    counted = tally(queries, database, *labels, bits)
    return Ranking(
        indices=rows.astype(np.int32)[order],
        distances=distances,
        relevance=judge(order, *labels),
        counts=DistanceCounts(counted.items_at, counted.relevant_at),
        sum_precisions=lambda: counted.precision_sums,
    )


def score(ranking: Ranking, definition: APDefinition) -> tuple[Scores, FloatArray]:
    """Means over all queries, and the AP of each, by any definition; nothing is ranked anew."""
    relevance, counts = ranking.relevance, ranking.counts
    if definition.top is None:
        per_query = ranking.full_average_precision
    else:
        per_query = average_precision(relevance, counts.total_relevant, definition)
    tied = tied_average_precision(counts, definition)
    random = chance(counts)
    scores = Scores(
        label=definition.label,
        definition=definition.words,
        formula=definition.formula,
        mean_average_precision=float(per_query.mean()),
        tie_aware=float(tied.expected.mean()),
        best=float(tied.best.mean()),
        worst=float(tied.worst.mean()),
        chance=float(chance_average_precision(counts, definition).mean()),
        precision_at_100=float(precision_at(relevance, min(100, relevance.shape[1])).mean()),
        chance_precision=float(np.mean(random.relevant / np.maximum(random.items, 1))),
        queries=len(per_query),
        queries_without_relevant=counts.queries_without_relevant,
    )
    return scores, per_query

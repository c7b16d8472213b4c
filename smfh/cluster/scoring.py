"""Search and evaluation over shards: each part ranks and counts its own, and what they find is merged."""

from functools import reduce
from typing import Any

import numpy as np

from smfh.cluster import tasks
from smfh.cluster.fitting import ShardedFit
from smfh.cluster.manifest import read_rows
from smfh.cluster.sharded import CODES
from smfh.cluster.tasks import Nearest
from smfh.cluster.workers import Workers
from smfh.evaluation import DEPTH, PROTOCOLS, score_codes
from smfh.hamming import pack
from smfh.metrics import Scores, score
from smfh.types import DistanceCounts, IntArray, MultimodalDataset, unknown

AT_ONCE = 512  # queries: what a task returns of them, and what is merged, stays small


def query_data(fit: ShardedFit) -> MultimodalDataset:
    """The items that ask, in memory."""
    manifest = fit.manifest
    X, labels = read_rows(fit.place.shards, manifest, manifest.queries)
    return MultimodalDataset(manifest.name, X, labels, manifest.class_names)


def score_shards(fit: ShardedFit, workers: Workers) -> dict[tuple[str, str, str], Scores]:
    """The scores of every direction by either protocol, as of a fit in memory."""
    data, hasher, scores = query_data(fit), fit.hasher, {}
    codes = {t: hasher.encode(t, X) for t, X in data.modalities.items()}
    for source in hasher.modalities:
        relevance, counts, sums = count_shards(fit, workers, codes[source], data)
        for target in hasher.modalities:
            if target == source:
                continue
            trained, unseen = ((source, target, protocol) for protocol in PROTOCOLS)
            scores[trained] = score(*trained, relevance, counts, sums)
            labels = data.labels, data.labels
            scores[unseen] = score_codes(codes[source], codes[target], *labels, hasher.bits, unseen)
    return scores


def count_shards(
    fit: ShardedFit, workers: Workers, queries: Any, data: MultimodalDataset
) -> tuple[Any, DistanceCounts, Any]:
    """Ranked relevance, counts by distance and sums of precisions: what `metrics.score` asks for.

    Where an item stands in the ranking of all is known when every part has counted: behind all that is
    nearer, and behind what earlier parts have at its distance. So a second round sums the precisions.
    """
    bits, labels, parts = fit.hasher.bits, pack(data.labels), range(len(fit.manifest.parts))
    relevance, items, relevant, sums = [], [], [], []
    for start in range(0, len(queries), AT_ONCE):
        asked = queries[start : start + AT_ONCE], labels[start : start + AT_ONCE], bits
        found = workers.map(tasks.rank_part, [(fit.place, number, CODES, *asked, DEPTH) for number in parts])
        nearest = reduce(lambda a, b: a.merge(b, DEPTH), (near for near, _, _ in found))
        items_at, relevant_at = (np.stack(counted) for counted in list(zip(*found, strict=True))[1:])
        before = standing_before(items_at), standing_before(relevant_at)
        given = [
            (fit.place, number, CODES, *asked, (before[0][number], before[1][number])) for number in parts
        ]
        relevance.append(nearest.relevance)
        items.append(items_at.sum(axis=0))
        relevant.append(relevant_at.sum(axis=0))
        sums.append(np.sum(workers.map(tasks.sum_precisions, given), axis=0))
    counts = DistanceCounts(np.concatenate(items), np.concatenate(relevant))
    return np.concatenate(relevance), counts, np.concatenate(sums)


def standing_before(counts: IntArray) -> IntArray:
    """What stands before the first item of a part at a distance, for counts (parts, queries, distances)."""
    total = counts.sum(axis=0)
    nearer = np.cumsum(total, axis=1) - total
    earlier = np.cumsum(counts, axis=0) - counts
    before: IntArray = nearer[None] + earlier
    return before


def search_shards(fit: ShardedFit, workers: Workers, source: str, features: Any, k: int = 10) -> Nearest:
    """The k training items nearest to these queries of `source`: rows among all, and distances."""
    if source not in fit.hasher.functions:
        raise unknown("modality", source, fit.hasher.functions)
    asked = fit.hasher.encode(source, features), None, fit.hasher.bits, k
    parts = range(len(fit.manifest.parts))
    found = workers.map(tasks.rank_part, [(fit.place, number, CODES, *asked) for number in parts])
    return reduce(lambda a, b: a.merge(b, k), (near for near, _, _ in found))

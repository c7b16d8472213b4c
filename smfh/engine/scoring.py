"""Search and evaluate over shards: nearest items of each part, scores of blocks of queries."""

from dataclasses import replace
from typing import Any

import numpy as np

from smfh.engine.engine import Workers
from smfh.engine.fitting import ShardedFit
from smfh.engine.sharded import CODES, FitFolders, open_shards
from smfh.engine.shards import read_labels, read_rows
from smfh.hamming import Queries, count_codes, pack, rank
from smfh.hashing.base import Nearest
from smfh.metrics import RankedQueries, Scores, score
from smfh.retrieval.evaluation import rank_queries, score_codes
from smfh.types import BoolArray, MultimodalDataset, Words, unknown

MAX_QUERIES = 512  # in one task, so that its result stays small


def query_data(fit: ShardedFit) -> MultimodalDataset:
    """Return the queries of the shards as a data set in memory."""
    manifest = fit.manifest
    X, labels = read_rows(fit.folders.shards, manifest, manifest.queries)
    return MultimodalDataset(manifest.name, X, labels, manifest.class_names)


def search_shards(
    fit: ShardedFit, workers: Workers, source: str, features: Any, k: int = 10, distance: str = "asymmetric"
) -> Nearest:
    """Return rows and distances of the k training items nearest to each query of modality `source`."""
    if source not in fit.hasher.functions:
        raise unknown("modality", source, fit.hasher.functions)
    queries = fit.hasher.functions[source].encode_queries(features, distance)
    parts = range(len(fit.manifest.parts))
    found = workers.map(rank_part, [(fit.folders, number, queries, k) for number in parts])
    rows, distances = (np.concatenate(own, axis=1) for own in zip(*found, strict=True))
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return Nearest(*(np.take_along_axis(own, order, axis=1) for own in (rows, distances)))


def rank_part(folders: FitFolders, number: int, queries: Queries, top: int) -> Nearest:
    """Return the nearest items within a part, as row numbers of the whole database."""
    order, distances = rank(queries.codes, _read_codes(folders, number), top, queries.weights)
    return Nearest(order.astype(np.int64) + open_shards(folders).starts[number], distances)


def score_shards(fit: ShardedFit, workers: Workers, distance: str = "hamming") -> dict[tuple[str, str, str], Scores]:
    """Return the scores by (source, target, protocol), the same as for a fit in memory."""
    data, hasher, scores = query_data(fit), fit.hasher, {}
    queries = {t: hasher.functions[t].encode_queries(X, distance) for t, X in data.modalities.items()}
    (number,) = workers.map(count_trained, [(fit.folders,)])
    step = max(1, min(MAX_QUERIES, -(-len(data.labels) // workers.count)))
    blocks = [slice(start, start + step) for start in range(0, len(data.labels), step)]
    for source, own in queries.items():
        given = [(fit.folders, own.take(rows), data.labels[rows], hasher.bits) for rows in blocks]
        ranked = RankedQueries.join(workers.map(rank_block, given))
        trained = score((source, "", "training", distance), ranked, distinct_codes=number)
        for target in (other for other in queries if other != source):
            scores[source, target, "training"] = replace(trained, target=target)
            search, labels = (source, target, "unseen", distance), (data.labels, data.labels)
            codes = queries[target].codes
            scores[source, target, "unseen"] = score_codes(own, codes, *labels, hasher.bits, search)
    return scores


def rank_block(folders: FitFolders, queries: Queries, labels: BoolArray, bits: int) -> RankedQueries:
    """Rank all training items for some queries; packed codes and labels take a few words per item."""
    parts = open_shards(folders).parts
    packed = np.concatenate([pack(np.asarray(read_labels(folders.shards, part))) for part in parts])
    return rank_queries(queries, _all_codes(folders), labels, packed, bits)


def count_trained(folders: FitFolders) -> int:
    """Return the number of distinct codes of all training items."""
    return count_codes(_all_codes(folders))


def _all_codes(folders: FitFolders) -> Words:
    return np.concatenate([_read_codes(folders, number) for number in range(len(open_shards(folders).parts))])


def _read_codes(folders: FitFolders, number: int) -> Words:
    return np.asarray(folders.work.folder(CODES).array(f"{open_shards(folders).parts[number].name}.npy"))

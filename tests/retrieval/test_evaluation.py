"""Both protocols and distances, against a slow search."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.hamming import DISTANCES, pack, unpack
from smfh.hashing import SMFHPlus
from smfh.metrics import ndcg, ranked_gains
from smfh.retrieval.evaluation import PROTOCOLS, database_codes, evaluate, find_results
from smfh.types import InputError, Split


@pytest.fixture(scope="module")
def fitted(planted):
    data, split = planted
    return SMFHPlus(bits=12, iterations=5).fit(data.take(split.train))


def slow_search(hasher, data, split, source, target, protocol, distance):
    """Ranked rows, distances and shared labels of each query, one query and one item at a time."""
    margins = hasher.functions[source].margins(data.modalities[source][split.queries])
    if protocol == "training":
        rows, codes = split.train, unpack(hasher.database_codes[target], hasher.bits)
    else:
        rows = split.queries
        codes = unpack(hasher.functions[target].encode(data.modalities[target][rows]), hasher.bits)
    for m, row in zip(margins.astype(np.float64), split.queries, strict=True):
        sizes = np.abs(m) if distance == "asymmetric" else np.ones(hasher.bits)
        weights = np.rint(2**30 * sizes / sizes.sum())
        distances = [weights[(m > 0) != code].sum() * hasher.bits / 2**30 for code in codes]
        order = sorted(range(len(rows)), key=lambda i: (distances[i], i))
        shared = [int(np.sum(data.labels[row] & data.labels[rows[i]])) for i in order]
        hamming = [int(np.sum((m > 0) != codes[i])) for i in order]
        yield rows[order], [distances[i] for i in order], shared, hamming


def slow_ndcg(gains):
    def discounted(values):
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(values[:100], start=1))

    return discounted(gains) / discounted(sorted(gains, reverse=True))


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("source", "target"), [("text", "image"), ("image", "text")])
def test_scores_and_results_equal_the_slow_search(fitted, planted, source, target, protocol, distance):
    data, split = planted
    search = (fitted, data, split, source, target, protocol, distance)
    scores, results = evaluate(*search), find_results(*search)
    precisions, within, items_within, graded, partners = [], [], [], [], []
    database, _ = database_codes(fitted, data, split, target, protocol)
    assert scores.distinct_codes == len({tuple(code) for code in database.tolist()}) < len(database)
    for query, (rows, distances, shared, hamming) in enumerate(slow_search(*search)):
        relevant = [number > 0 for number in shared]
        assert results.rows[query].tolist() == rows.tolist()
        assert results.distances[query] == pytest.approx(distances)
        assert results.relevance[query].tolist() == relevant
        graded.append(slow_ndcg(shared))
        partners += [rank for rank, row in enumerate(rows, start=1) if row == split.queries[query]]
        near = [r for d, r in zip(hamming, relevant, strict=True) if d <= 2]
        within.append(any(near))
        items_within.append(len(near))
        found = [sum(relevant[: k + 1]) / (k + 1) for k in range(min(100, len(relevant))) if relevant[k]]
        precisions.append(sum(found) / len(found) if found else 0.0)
    score = scores.average_precision["found"]
    assert score.by_query == pytest.approx(precisions)
    assert scores.mean_average_precision == pytest.approx(np.mean(precisions))
    assert score.worst <= score.tie_aware <= score.best
    assert scores.queries == len(split.queries)
    assert scores.within.hits[2] == pytest.approx(np.mean(within))
    assert scores.within.items[2] == pytest.approx(np.mean(items_within))
    assert (scores.bits, scores.direction) == (12, f"{source} → {target}")
    assert scores.search == (source, target, protocol, distance)
    assert scores.ndcg == pytest.approx(graded)
    if protocol == "unseen":
        assert scores.partner_ranks.tolist() == partners
        share = np.mean([rank <= 5 for rank in partners])
        assert scores.pair_retrieval["recall_at_5"] == pytest.approx(share)
        assert scores.pair_retrieval["median_rank"] == statistics.median(partners)
    else:
        assert scores.pair_retrieval == {}


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 150), st.booleans())
def test_ndcg_equals_a_slow_sum_for_several_labels_and_gains(seed, items, is_plain):
    rng = np.random.default_rng(seed)
    query_labels, labels = rng.random((4, 7)) < 0.4, rng.random((items, 7)) < 0.3
    query_labels[:, 0] = labels[0, 0] = True
    label_gains = None if is_plain else rng.integers(0, 4, 7) + np.eye(7)[0]
    order = np.stack([rng.permutation(items) for _ in query_labels])
    found = ndcg(*ranked_gains(order, query_labels, pack(labels), label_gains))
    gains = np.ones(7) if label_gains is None else label_gains
    expected = [
        slow_ndcg([gains[query & labels[i]].sum() for i in row]) for query, row in zip(query_labels, order, strict=True)
    ]
    assert found == pytest.approx(expected)


def test_a_query_without_relevant_items_scores_zero_and_is_counted(fitted, planted):
    data, split = planted
    lonely = data.labels.copy()
    lonely[split.queries[0]] = False
    changed = type(data)(data.name, data.modalities, lonely, data.class_names)
    scores = evaluate(fitted, changed, split, "text", "image")
    assert scores.queries_without_relevant == 1
    assert scores.queries == len(split.queries)
    assert scores.average_precision["found"].by_query[0] == 0


def test_wrong_arguments_are_refused(fitted, planted):
    data, split = planted
    with pytest.raises(InputError, match="image, text"):
        evaluate(fitted, data, split, "sound", "image")
    with pytest.raises(InputError, match="hamming, asymmetric"):
        evaluate(fitted, data, split, "text", "image", distance="cosine")
    with pytest.raises(InputError, match="a gain of 0 or more for each of"):
        evaluate(fitted, data, split, "text", "image", label_gains=np.array([-1.0]))
    with pytest.raises(InputError, match="training, unseen"):
        evaluate(fitted, data, split, "text", "image", "tomorrow")
    shorter = Split(train=split.train[:-1], queries=split.queries)
    with pytest.raises(InputError, match="split that the model was trained on"):
        evaluate(fitted, data, shorter, "text", "image")

"""Both protocols, against a search written out by hand."""

import numpy as np
import pytest

from smfh.evaluation import PROTOCOLS, evaluate, score
from smfh.hamming import unpack
from smfh.hashing import SMFHPlus
from smfh.metrics import AP_DEFINITIONS, APDefinition
from smfh.types import InputError, Split


@pytest.fixture(scope="module")
def fitted(planted):
    data, split = planted
    return SMFHPlus(bits=12, iterations=5).fit(data.take(split.train))


def plain_search(hasher, data, split, source, target, protocol):
    """Ranked rows, distances and relevance of each query, one query and one item at a time."""
    queries = unpack(hasher.functions[source].encode(data.modalities[source][split.queries]), hasher.bits)
    if protocol == "training":
        rows, codes = split.train, unpack(hasher.database_codes[target], hasher.bits)
    else:
        rows = split.queries
        codes = unpack(hasher.functions[target].encode(data.modalities[target][rows]), hasher.bits)
    for query, row in zip(queries, split.queries, strict=True):
        distances = [int(np.sum(query != code)) for code in codes]
        order = sorted(range(len(rows)), key=lambda i: (distances[i], i))
        relevant = [bool(np.any(data.labels[row] & data.labels[rows[i]])) for i in order]
        yield rows[order], [distances[i] for i in order], relevant


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("source", "target"), [("text", "image"), ("image", "text")])
def test_it_is_the_plain_search(fitted, planted, source, target, protocol):
    data, split = planted
    result = evaluate(fitted, data, split, source, target, protocol)
    ranking, precisions = result.ranking, []
    for query, (rows, distances, relevant) in enumerate(
        plain_search(fitted, data, split, source, target, protocol)
    ):
        assert ranking.indices[query].tolist() == rows.tolist()
        assert ranking.distances[query].tolist() == distances
        assert ranking.relevance[query].tolist() == relevant
        for distance in range(fitted.bits + 1):
            at = [r for d, r in zip(distances, relevant, strict=True) if d == distance]
            assert ranking.counts.items[query, distance] == len(at)
            assert ranking.counts.relevant[query, distance] == sum(at)
        found = [sum(relevant[: k + 1]) / (k + 1) for k in range(min(100, len(relevant))) if relevant[k]]
        precisions.append(sum(found) / len(found) if found else 0.0)
    assert result.average_precision == pytest.approx(precisions)
    assert result.scores.mean_average_precision == pytest.approx(np.mean(precisions))
    assert result.scores.worst <= result.scores.tie_aware <= result.scores.best
    assert result.scores.queries == len(split.queries)


def test_every_definition_comes_from_one_ranking(fitted, planted):
    data, split = planted
    whole = evaluate(fitted, data, split, "text", "image")
    for definition in AP_DEFINITIONS.values():
        anew = evaluate(fitted, data, split, "text", "image", definition=definition)
        scores, per_query = score(whole.ranking, definition)
        assert scores == anew.scores
        assert per_query == pytest.approx(anew.average_precision)
        assert scores.definition == definition.words


def test_a_depth_beyond_the_database_is_the_whole_ranking(fitted, planted):
    data, split = planted
    deep, full = (
        evaluate(fitted, data, split, "text", "image", definition=definition).average_precision
        for definition in (APDefinition(top=100_000, divide_by="all"), AP_DEFINITIONS["full"])
    )
    assert deep == pytest.approx(full)


def test_a_query_with_nothing_relevant_counts_as_zero_and_is_reported(fitted, planted):
    data, split = planted
    lonely = data.labels.copy()
    lonely[split.queries[0]] = False
    changed = type(data)(data.name, data.modalities, lonely, data.class_names)
    result = evaluate(fitted, changed, split, "text", "image")
    assert result.scores.queries_without_relevant == 1
    assert result.scores.queries == len(split.queries)
    assert result.average_precision[0] == 0


def test_what_does_not_fit_is_refused(fitted, planted):
    data, split = planted
    with pytest.raises(InputError, match="image, text"):
        evaluate(fitted, data, split, "sound", "image")
    with pytest.raises(InputError, match="training, unseen"):
        evaluate(fitted, data, split, "text", "image", "tomorrow")
    shorter = Split(train=split.train[:-1], queries=split.queries)
    with pytest.raises(InputError, match="split that the model was trained on"):
        evaluate(fitted, data, shorter, "text", "image")

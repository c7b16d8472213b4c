"""Both protocols, against a search written out by hand."""

import numpy as np
import pytest

from smfh.evaluation import PROTOCOLS, evaluate, find_answers
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
    scores = evaluate(fitted, data, split, source, target, protocol)
    answers = find_answers(fitted, data, split, source, target, protocol)
    precisions, within, items_within = [], [], []
    for query, (rows, distances, relevant) in enumerate(
        plain_search(fitted, data, split, source, target, protocol)
    ):
        assert answers.rows[query].tolist() == rows.tolist()
        assert answers.distances[query].tolist() == distances
        assert answers.relevance[query].tolist() == relevant
        near = [r for d, r in zip(distances, relevant, strict=True) if d <= 2]
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


def test_every_definition_is_there_and_says_which_it_is(fitted, planted):
    scores = evaluate(fitted, *planted, "text", "image")
    assert {name: score.definition for name, score in scores.average_precision.items()} == AP_DEFINITIONS


def test_a_depth_beyond_the_database_is_the_whole_ranking(fitted, planted):
    definitions = {"deep": APDefinition(top=100_000, divide_by="all"), "full": AP_DEFINITIONS["full"]}
    scores = evaluate(fitted, *planted, "text", "image", definitions=definitions).average_precision
    assert scores["deep"].by_query == pytest.approx(scores["full"].by_query)


def test_answers_are_as_many_as_asked_for(fitted, planted):
    few, many = (find_answers(fitted, *planted, "text", "image", depth=depth) for depth in (5, 1000))
    assert few.rows.shape == (len(planted[1].queries), 5)
    np.testing.assert_array_equal(few.rows, many.rows[:, :5])


def test_a_query_with_nothing_relevant_counts_as_zero_and_is_reported(fitted, planted):
    data, split = planted
    lonely = data.labels.copy()
    lonely[split.queries[0]] = False
    changed = type(data)(data.name, data.modalities, lonely, data.class_names)
    scores = evaluate(fitted, changed, split, "text", "image")
    assert scores.queries_without_relevant == 1
    assert scores.queries == len(split.queries)
    assert scores.average_precision["found"].by_query[0] == 0


def test_what_does_not_fit_is_refused(fitted, planted):
    data, split = planted
    with pytest.raises(InputError, match="image, text"):
        evaluate(fitted, data, split, "sound", "image")
    with pytest.raises(InputError, match="training, unseen"):
        evaluate(fitted, data, split, "text", "image", "tomorrow")
    shorter = Split(train=split.train[:-1], queries=split.queries)
    with pytest.raises(InputError, match="split that the model was trained on"):
        evaluate(fitted, data, shorter, "text", "image")

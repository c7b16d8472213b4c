"""The asymmetric distance against sums over bits, and its rankings and tallies against a stable sort."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.hamming import (
    CodeIndex,
    as_queries,
    bit_weights,
    distances,
    index,
    own_ranks,
    pack,
    rank,
    rank_plainly_while,
    ranking,
    tally_weighted,
    unpack,
    weighted_distances,
)
from smfh.types import InputError

slowly = settings(deadline=None)


def slow_distances(codes, weights, database):
    """The sum of the weights of the bits that differ, one pair at a time."""
    bits = weights.shape[1]
    queries, items = unpack(codes, bits), unpack(database, bits)
    return [[sum(int(w) for w in weight[q != i]) for i in items] for q, weight in zip(queries, weights, strict=True)]


def slow_order(far, top=None):
    return np.argsort(np.array(far), axis=1, kind="stable")[:, :top]


@st.composite
def searches(draw):
    """Margins of queries, few distinct codes of a database, labels; some margins are equal or 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bits, items = draw(st.integers(1, 140)), draw(st.integers(1, 200))
    margins = rng.normal(size=(draw(st.integers(1, 12)), bits))
    if draw(st.booleans()):
        margins = np.round(margins)  # many ties between different codes
    kinds = rng.random((draw(st.integers(1, 60)), bits)) < draw(st.sampled_from([0.05, 0.5]))
    labels = [pack(rng.random((size, 5)) < 0.3) for size in (len(margins), items)]
    return margins, pack(kinds[rng.integers(len(kinds), size=items)]), *labels


def test_distance_by_hand():
    # margins 3, −1, 0, 2: code 1001; |m| sums to 6, so the four bits weigh 2, ⅔, 0 and 4/3 bits
    queries = as_queries(np.array([[3.0, -1.0, 0.0, 2.0]]), "asymmetric")
    assert unpack(queries.codes, 4).tolist() == [[True, False, False, True]]
    items = np.array([[1, 0, 0, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 0]], dtype=bool)
    order, far = rank(queries.codes, pack(items), weights=queries.weights)
    assert order.tolist() == [[0, 1, 2, 3, 4]]
    assert far[0] == pytest.approx([0, 0, 2 / 3, 4 / 3, 4])


@slowly
@given(searches())
def test_distances_are_sums_of_the_weights_that_differ(search):
    margins, database, *_ = search
    weights = bit_weights(margins)
    codes = as_queries(margins, "asymmetric").codes
    assert weighted_distances(codes, database, weights).tolist() == slow_distances(codes, weights, database)
    sums = weights.sum(axis=1, dtype=np.int64)
    assert (np.abs(sums - (1 << 30) * margins.any(axis=1)) <= margins.shape[1]).all()


@slowly
@given(st.integers(0, 2**32 - 1))
def test_distances_order_items_as_the_score_of_the_margins_does(seed):
    rng = np.random.default_rng(seed)
    margins, items = rng.normal(size=(3, 24)), rng.random((50, 24)) < 0.5
    queries = as_queries(margins, "asymmetric")
    order, _ = rank(queries.codes, pack(items), weights=queries.weights)
    for q, m in enumerate(margins):  # exact sums: rounding cannot change an order
        exact = [sum(Fraction(float(x)) * (1 if b else -1) for x, b in zip(m, row, strict=True)) for row in items]
        assert order[q].tolist() == sorted(range(50), key=lambda i: (-exact[i], i))


@slowly
@given(searches(), st.none() | st.integers(1, 220), st.booleans())
def test_rankings_equal_a_stable_sort(search, top, is_plain):
    margins, database, *_ = search
    codes, weights = as_queries(margins, "asymmetric")
    far = np.array(slow_distances(codes, weights, database))
    order = slow_order(far, top)
    expected = np.take_along_axis(far, order, axis=1) * (margins.shape[1] / (1 << 30))
    rank_plainly_while(lambda: is_plain)
    try:
        found = [rank(codes, database, top, weights)]
        with pytest.MonkeyPatch.context() as patched:
            for share, shallow in ((0, 1.0), (1, 0.0), (1, 1.0)):  # no lists, one pass, merged lists
                patched.setattr(index, "SHALLOW_SHARE", shallow)
                found.append(CodeIndex(database, share).rank(codes, top, weights))
    finally:
        rank_plainly_while(lambda: False)
    for rows, nearest in found:
        np.testing.assert_array_equal(rows, order)
        np.testing.assert_array_equal(nearest, expected)


@pytest.mark.parametrize("bits", [16, 64, 130])
def test_several_blocks_of_items_are_ranked_correctly(bits):
    rng = np.random.default_rng(bits)
    codes, weights = as_queries(rng.normal(size=(5, bits)), "asymmetric")
    database = pack(rng.random((9000, bits)) < 0.5)
    far = weighted_distances(codes, database, weights)
    for top in (1, 50, 3000, None):
        np.testing.assert_array_equal(rank(codes, database, top, weights)[0], slow_order(far, top))


@slowly
@given(searches(), st.booleans(), st.sampled_from([1, 100, 10**6]))
def test_tallies_count_groups_of_ties(search, is_plain, cells):
    margins, database, query_labels, database_labels = search
    codes, weights = as_queries(margins, "asymmetric")
    far = np.array(slow_distances(codes, weights, database))
    rank_plainly_while(lambda: is_plain)
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(ranking, "MAX_LEVELS", cells)
            tallies = list(tally_weighted(codes, database, query_labels, database_labels, weights))
    finally:
        rank_plainly_while(lambda: False)
    relevant = (unpack(query_labels, 5) @ unpack(database_labels, 5).T).astype(bool)
    counted = [row for one in tallies for row in zip(*vars(one).values(), strict=True)]
    assert len(counted) == len(margins)
    for q, (items_at, relevant_at, precision_sum) in enumerate(counted):
        values, at = np.unique(far[q], return_inverse=True)
        empty = [0] * (len(items_at) - len(values))
        assert items_at.tolist() == np.bincount(at).tolist() + empty
        assert relevant_at.tolist() == np.bincount(at, relevant[q]).astype(int).tolist() + empty
        hits = relevant[q][slow_order(far)[q]]
        precisions = np.cumsum(hits) / np.arange(1, len(hits) + 1)
        assert precision_sum == pytest.approx(precisions[hits].sum(), rel=1e-12)


@slowly
@given(searches(), st.booleans())
def test_own_ranks_are_places_in_the_ranking(search, is_weighted):
    margins, database, *_ = search
    queries = as_queries(margins, "asymmetric" if is_weighted else "hamming")
    items = np.resize(database, (len(margins), database.shape[1]))
    order, _ = rank(queries.codes, items, weights=queries.weights)
    places = [row.tolist().index(q) + 1 for q, row in enumerate(order)]
    assert own_ranks(queries.codes, items, queries.weights).tolist() == places


def test_equal_margins_give_hamming_distances():
    rng = np.random.default_rng(0)
    margins, database = np.where(rng.random((4, 64)) < 0.5, -1.0, 1.0), pack(rng.random((30, 64)) < 0.5)
    codes, weights = as_queries(margins, "asymmetric")
    order, far = rank(codes, database, weights=weights)
    hamming = np.take_along_axis(distances(codes, database), order, axis=1)
    np.testing.assert_array_equal(far, hamming)


def test_queries_without_margins_tie_with_everything():
    queries = as_queries(np.zeros((1, 3)), "asymmetric")
    order, far = rank(queries.codes, pack(np.eye(3, dtype=bool)), weights=queries.weights)
    assert (order.tolist(), far.tolist()) == ([[0, 1, 2]], [[0, 0, 0]])


def test_wrong_distances_and_weights_are_refused():
    with pytest.raises(InputError, match=r"Unknown distance 'cosine'; choose from hamming, asymmetric"):
        as_queries(np.zeros((1, 3)), "cosine")
    code = pack(np.ones((2, 3), dtype=bool))
    for shape in ((1, 3), (2, 65)):
        with pytest.raises(InputError, match="The weights of 2 queries must have 2 rows"):
            rank(code, code, weights=np.zeros(shape, dtype=np.uint32))

"""The compiled ranking and tally against the readable ones, and by hand."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.hamming import MAX_PAIRS, distances, judge, pack, rank, rank_plainly_while, tally, unpack
from smfh.hamming.index import is_plain
from smfh.types import InputError

slowly = settings(deadline=None)


def sorted_order(queries, database):
    """All items in order of distance; stable: ties keep database order."""
    return np.argsort(distances(queries, database), axis=1, kind="stable")


def ranked_slowly(queries, database, top=None):
    order = sorted_order(queries, database)[:, :top]
    return order, np.take_along_axis(distances(queries, database), order, axis=1)


def relevant_slowly(query_labels, database_labels):
    """queries × items: two rows share a set bit."""
    asked, labels = (unpack(words, 64 * words.shape[1]) for words in (query_labels, database_labels))
    return asked @ labels.T


def tallied_slowly(queries, database, query_labels, database_labels, bits):
    """Items and relevant items at each distance, and Σ_k P@k · rel(k) over the ranking of all items."""
    far, relevant = distances(queries, database), relevant_slowly(query_labels, database_labels)
    at = far[:, :, None] == np.arange(bits + 1)
    ranked = np.take_along_axis(relevant, sorted_order(queries, database), axis=1)
    precision = np.cumsum(ranked, axis=1) / np.arange(1, len(database) + 1)
    return at.sum(axis=1), (at & relevant[:, :, None]).sum(axis=1), np.sum(precision, axis=1, where=ranked)


@st.composite
def searches(draw):
    """Queries, database and labels; few distinct codes, so that ties are common."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bits, classes = draw(st.integers(1, 300)), draw(st.integers(1, 130))
    queries, items = draw(st.integers(0, 70)), draw(st.integers(0, 300))  # full vectors and parts of one
    kinds = rng.random((draw(st.integers(1, 60)), bits)) < draw(st.sampled_from([0.02, 0.5, 1.0]))
    codes = [pack(kinds[rng.integers(len(kinds), size=size)]) for size in (queries, items)]
    labels = [pack(rng.random((size, classes)) < 2 / classes) for size in (queries, items)]
    return *codes, *labels, bits


def check_ranking(queries, database, top):
    order, nearest = rank(queries, database, top)
    slow_order, slow_nearest = ranked_slowly(queries, database, top)
    np.testing.assert_array_equal(order, slow_order)
    np.testing.assert_array_equal(nearest, slow_nearest)
    assert (order.dtype, nearest.dtype) == (np.int32, np.uint16)


def check_tally(search):
    found = tally(*search)
    items_at, relevant_at, precision_sums = tallied_slowly(*search)
    np.testing.assert_array_equal(found.items_at, items_at)
    np.testing.assert_array_equal(found.relevant_at, relevant_at)
    np.testing.assert_allclose(found.precision_sums, precision_sums, rtol=1e-12)
    assert found.items_at.dtype == found.relevant_at.dtype == np.int64


def test_ties_keep_database_order():
    # distances from 00: 1, 0, 1, 2, 0 → the two at 0 (rows 1, 4), at 1 (rows 0, 2), at 2 (row 3)
    database = np.array([[0, 1], [0, 0], [1, 0], [1, 1], [0, 0]], dtype=bool)
    order, d = rank(pack(np.zeros((1, 2), dtype=bool)), pack(database))
    assert order.tolist() == [[1, 4, 0, 2, 3]]
    assert d.tolist() == [[0, 0, 1, 1, 2]]


def test_a_tally_by_hand():
    # the same ranking: rows 1, 4 | 0, 2 | 3, of which 4, 0 and 3 are relevant
    database = pack(np.array([[0, 1], [0, 0], [1, 0], [1, 1], [0, 0]], dtype=bool))
    labels = pack(np.array([[1], [0], [0], [1], [1]], dtype=bool))
    query, asked = pack(np.zeros((1, 2), dtype=bool)), pack(np.ones((1, 1), dtype=bool))
    found = tally(query, database, asked, labels, bits=2)
    assert found.items_at.tolist() == [[2, 2, 1]]
    assert found.relevant_at.tolist() == [[1, 1, 1]]
    assert found.precision_sums.tolist() == [pytest.approx(1 / 2 + 2 / 3 + 3 / 5)]
    assert judge(rank(query, database, 4)[0], asked, labels).tolist() == [[False, True, True, False]]


@slowly
@given(searches(), st.none() | st.integers(1, 320))
def test_ranking_is_a_stable_sort_by_distance(search, top):
    check_ranking(*search[:2], top)


@slowly
@given(searches())
def test_tally_equals_counts_of_the_sorted_ranking(search):
    check_tally(search)


@slowly
@given(searches(), st.integers(1, 50))
def test_a_ranked_item_is_relevant_if_it_shares_a_label(search, top):
    queries, database, query_labels, database_labels, _ = search
    order, _ = rank(queries, database, top)
    expected = np.take_along_axis(relevant_slowly(query_labels, database_labels), order, axis=1)
    np.testing.assert_array_equal(judge(order, query_labels, database_labels), expected)


@pytest.mark.parametrize("bits", [7, 32, 64, 127, 128, 224, 256, 300])
def test_several_blocks_of_items_are_ranked_correctly(bits):
    rng = np.random.default_rng(bits)
    queries, database = pack(rng.random((7, bits)) < 0.5), pack(rng.random((9000, bits)) < 0.5)
    labels = pack(rng.random((9000, 70)) < 0.02)
    for top in (1, 50, 1000, None):
        check_ranking(queries, database, top)
    check_tally((queries, database, labels[:7], labels, bits))


@pytest.mark.parametrize("top", [1, 100, 8000, None])
@pytest.mark.parametrize("queries", [1, 2, 3])
def test_few_queries_need_no_kernels_and_rank_alike(queries, top, monkeypatch):
    rng = np.random.default_rng(0)
    codes, database = pack(rng.random((queries, 64)) < 0.5), pack(rng.random((9000, 64)) < 0.5)
    check_ranking(codes, database, top)
    if queries < 3:  # arranging the database for the kernels takes longer than the whole search in NumPy
        monkeypatch.delattr("smfh.hamming.ranking.CodeIndex")
        check_ranking(codes, database, top)


@pytest.mark.parametrize("bits", [64, 256])
def test_nearest_items_at_the_end_are_found(bits):
    """Every item is nearer than all before it: each is a candidate for a while."""
    far_to_near = np.arange(9000)[:, None] % 4500 * bits // 4500 <= np.arange(bits)
    check_ranking(pack(np.zeros((2, bits), dtype=bool)), pack(far_to_near), 30)


@pytest.mark.parametrize("bits", [64, 256, 1000])
def test_opposite_codes_lie_at_the_greatest_distance(bits):
    ones, zeros = pack(np.ones((3, bits), dtype=bool)), pack(np.zeros((70, bits), dtype=bool))
    order, d = rank(ones, zeros, 65)
    assert d.tolist() == [[bits] * 65] * 3
    assert order.tolist() == [list(range(65))] * 3
    assert tally(ones, zeros, ones, zeros, bits).items_at[:, bits].tolist() == [70] * 3


def test_non_contiguous_and_read_only_rows_are_ranked_alike():
    codes = pack(np.random.default_rng(0).random((40, 100)) < 0.5)
    every_other = codes[::2]
    codes.flags.writeable = False
    for database in (every_other, np.asfortranarray(every_other)):
        check_ranking(codes[:5], database, 9)


def test_codes_with_bits_after_the_last_are_refused():
    good, bad = np.array([[3]], dtype=np.uint64), np.array([[8]], dtype=np.uint64)
    assert tally(good, good, good, good, 3).items_at.tolist() == [[1, 0, 0, 0]]
    for queries, database in ((good, bad), (bad, good)):
        with pytest.raises(InputError, match="the unused bits must be 0"):
            tally(queries, database, good, good, 3)


def test_a_row_of_labels_is_needed_for_every_code():
    one, two = np.array([[3]], dtype=np.uint64), np.array([[3], [1]], dtype=np.uint64)
    with pytest.raises(InputError, match="1 queries and 2 items need a row of labels each; got 1 and 1"):
        tally(one, two, one, one, 2)


@slowly
@given(searches(), st.integers(1, 12))
def test_numpy_ranking_equals_the_kernels(search, top):
    rank_plainly_while(lambda: True)
    try:
        check_ranking(search[0], search[1], top)
        check_ranking(search[0], search[1], None)
        check_tally(search)
    finally:
        rank_plainly_while(lambda: False)


def test_large_searches_wait_for_the_kernels():
    rank_plainly_while(lambda: True)
    try:
        assert is_plain(MAX_PAIRS)
        assert not is_plain(MAX_PAIRS + 1)
    finally:
        rank_plainly_while(lambda: False)


def test_importing_the_package_does_not_import_numba():
    code = "import sys, smfh.hamming; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

"""The index of distinct codes against a stable sort of all items."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.hamming import CodeIndex, distances, index, pack, rank, tally
from smfh.hamming.index import find_distinct
from smfh.types import InputError

slowly = settings(deadline=None)


@st.composite
def searches(draw):
    """Queries and a database of few distinct codes, some of them common."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bits, items = draw(st.integers(1, 200)), draw(st.integers(1, 400))
    kinds = rng.random((draw(st.integers(1, 60)), bits)) < draw(st.sampled_from([0.02, 0.5]))
    common = rng.dirichlet(np.full(len(kinds), 0.5))
    queries = rng.random((draw(st.integers(0, 70)), bits)) < 0.5
    return pack(queries), pack(kinds[rng.choice(len(kinds), size=items, p=common)])


def check(queries, database, top, found):
    far = distances(queries, database)
    order = np.argsort(far, axis=1, kind="stable")[:, :top]
    np.testing.assert_array_equal(found[0], order)
    np.testing.assert_array_equal(found[1], np.take_along_axis(far, order, axis=1))
    assert [part.dtype for part in found] == [np.int32, np.uint16]


def test_distinct_codes_are_numbered_as_they_appear():
    distinct = find_distinct(np.array([[7], [3], [7], [9], [3], [7]], dtype=np.uint64), share=0.5)
    assert distinct.codes.tolist() == [[7], [3], [9]]
    assert distinct.which.tolist() == [0, 1, 0, 2, 1, 0]
    assert distinct.starts.tolist() == [0, 3, 5, 6]
    assert distinct.rows.tolist() == [0, 2, 5, 1, 4, 3]


def test_too_many_distinct_codes_give_no_list():
    codes = np.array([[7], [3], [7], [9]], dtype=np.uint64)
    assert find_distinct(codes, share=0.5) is None
    assert find_distinct(codes, share=0) is None
    assert find_distinct(codes[:0], share=1) is None


def test_equal_distances_of_different_codes_are_merged_by_row():
    # from 00: 01 and 10 are both one bit away, and their rows alternate
    database = pack(np.array([[0, 1], [1, 0], [0, 1], [1, 1], [1, 0], [0, 0], [0, 1]], dtype=bool))
    query = np.zeros((1, 1), dtype=np.uint64)
    for top in (None, 6):
        order, far = CodeIndex(database, share=1).rank(query, top)
        assert order.tolist() == [[5, 0, 1, 2, 4, 6, 3][:top]]
        assert far.tolist() == [[0, 1, 1, 1, 1, 1, 2][:top]]


@slowly
@given(searches(), st.none() | st.integers(1, 420))
def test_merging_and_sorting_give_the_same_order(search, top):
    queries, database = search
    found = {}
    with pytest.MonkeyPatch.context() as patched:
        for way, share in (("pass", 0.0), ("merge", 1.0)):
            patched.setattr(index, "SHALLOW_SHARE", share)
            found[way] = CodeIndex(database, share=1).rank(queries, top)
    for answers in found.values():
        check(queries, database, top, answers)


@slowly
@given(searches(), st.none() | st.integers(1, 420))
def test_index_equals_a_stable_sort(search, top):
    queries, database = search
    check(queries, database, top, CodeIndex(database).rank(queries, top))


@pytest.mark.parametrize("bits", [40, 64, 300])
def test_identical_queries_get_the_same_results(bits):
    rng = np.random.default_rng(bits)
    kinds = rng.random((30, bits)) < 0.5
    queries, database = (pack(kinds[rng.integers(30, size=size)]) for size in (500, 6000))
    for top in (5, 100, 500, None):
        check(queries, database, top, rank(queries, database, top))
    labels = pack(rng.random((6000, 4)) < 0.3)
    for start in (0, 100):  # 100 queries alone are met as they are
        together = tally(queries, database, labels[:500], labels, bits)
        alone = tally(queries[start : start + 100], database, labels[start : start + 100], labels, bits)
        for name, values in vars(alone).items():
            np.testing.assert_array_equal(values, getattr(together, name)[start : start + 100])


def test_queries_may_use_more_octets_than_the_database():
    database = pack(np.array([[True] + [False] * 63, [False] * 64] * 3, dtype=bool))
    queries = pack(np.ones((2, 64), dtype=bool))
    for top in (1, None):
        check(queries, database, top, CodeIndex(database).rank(queries, top))


@pytest.mark.parametrize("items", [0, 1])
def test_databases_of_no_or_one_item(items):
    database = np.zeros((items, 1), dtype=np.uint64)
    for top in (3, None):
        assert CodeIndex(database, share=1).rank(database, top)[0].tolist() == [[0]] * items


def test_index_refuses_invalid_searches():
    made = CodeIndex(np.zeros((3, 1), dtype=np.uint64))
    with pytest.raises(InputError, match="at least one result; got top=0"):
        made.rank(np.zeros((1, 1), dtype=np.uint64), 0)
    with pytest.raises(InputError, match="2 words cannot be compared with a database of 1"):
        made.rank(np.zeros((1, 2), dtype=np.uint64))

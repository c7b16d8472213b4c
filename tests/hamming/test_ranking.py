"""The compiled scan against the sorted one, and the path without Numba."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.hamming import pack, rank, ranking, scan, sum_precisions
from smfh.hamming.ranking import rank_plainly, scan_plainly, sum_precisions_plainly
from smfh.types import InputError


@st.composite
def searches(draw):
    """Queries, database and labels; few distinct codes, so that ties are common."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bits, classes = draw(st.integers(1, 200)), draw(st.integers(1, 130))
    queries, items = draw(st.integers(1, 40)), draw(st.integers(1, 300))  # whole vectors and parts of one
    kinds = rng.random((draw(st.integers(1, 60)), bits)) < 0.5
    codes = [pack(kinds[rng.integers(len(kinds), size=size)]) for size in (queries, items)]
    labels = [pack(rng.random((size, classes)) < 2 / classes) for size in (queries, items)]
    return *codes, *labels, bits, draw(st.integers(1, 80))


@settings(deadline=None)
@given(searches())
def test_the_compiled_scan_equals_the_sorted_one(search):
    fast, plain = scan(*search), scan_plainly(*search)
    for field in fields(fast):
        a, b = getattr(fast, field.name), getattr(plain, field.name)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12)


@settings(deadline=None)
@given(searches())
def test_the_compiled_sum_of_precisions_equals_the_sorted_one(search):
    *everything, _ = search
    fast, plain = sum_precisions(*everything), sum_precisions_plainly(*everything[:4])
    np.testing.assert_allclose(fast, plain, rtol=1e-12)


@settings(deadline=None)
@given(searches())
def test_the_compiled_ranking_equals_the_sorted_one(search):
    queries, database, *_, depth = search
    depth = min(depth, len(database))
    for a, b in zip(rank(queries, database, depth), rank_plainly(queries, database, depth), strict=True):
        np.testing.assert_array_equal(a, b)


def test_without_numba_the_answers_are_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    queries, database = pack(rng.random((30, 70)) < 0.1), pack(rng.random((50, 70)) < 0.1)
    labels = pack(rng.random((50, 3)) < 0.4)
    search = (queries, database, labels[:30], labels, 70, 20)
    before = rank(queries, database, 9), scan(*search), sum_precisions(*search[:5])
    monkeypatch.setattr(ranking, "compiled", lambda: None)
    after = rank(queries, database, 9), scan(*search), sum_precisions(*search[:5])
    np.testing.assert_array_equal(before[0][0], after[0][0])
    np.testing.assert_array_equal(before[1].order, after[1].order)
    np.testing.assert_allclose(before[2], after[2])


@pytest.mark.parametrize("bits", [7, 8, 127, 128, 300])
def test_a_database_larger_than_a_block_is_ranked_as_by_sorting(bits):
    rng = np.random.default_rng(bits)
    queries, database = pack(rng.random((20, bits)) < 0.5), pack(rng.random((5000, bits)) < 0.5)
    labels = pack(rng.random((5000, 70)) < 0.02)
    for a, b in zip(rank(queries, database, 50), rank_plainly(queries, database, 50), strict=True):
        np.testing.assert_array_equal(a, b)
    search = (queries, database, labels[:20], labels, bits)
    fast, plain = scan(*search, 1000), scan_plainly(*search, 1000)
    for field in fields(fast):
        np.testing.assert_array_equal(getattr(fast, field.name), getattr(plain, field.name))
    np.testing.assert_allclose(sum_precisions(*search), sum_precisions_plainly(*search[:4]), rtol=1e-12)


def test_codes_with_something_behind_the_last_bit_are_refused():
    good, bad = np.array([[3]], dtype=np.uint64), np.array([[8]], dtype=np.uint64)
    assert scan(good, good, good, good, 3, 1).items_at.tolist() == [[1, 0, 0, 0]]
    for queries, database in ((good, bad), (bad, good)):
        with pytest.raises(InputError, match="nothing behind the last bit"):
            scan(queries, database, good, good, 3, 1)

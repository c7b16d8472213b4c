"""The compiled scan against the sorted one, and the path without Numba."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.hamming import pack, rank, ranking, scan
from smfh.hamming.ranking import rank_plainly, scan_plainly
from smfh.types import InputError


@st.composite
def searches(draw):
    """Queries, database and labels; few distinct codes, so that ties are common."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bits, classes = draw(st.integers(1, 200)), draw(st.integers(1, 130))
    queries, items = draw(st.integers(1, 40)), draw(st.integers(1, 60))
    kinds = rng.random((draw(st.integers(1, 6)), bits)) < 0.5
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
    before = rank(queries, database, 9), scan(*search)
    monkeypatch.setattr(ranking, "compiled", lambda: None)
    after = rank(queries, database, 9), scan(*search)
    np.testing.assert_array_equal(before[0][0], after[0][0])
    np.testing.assert_array_equal(before[1].order, after[1].order)


def test_codes_with_something_behind_the_last_bit_are_refused():
    good, bad = np.array([[3]], dtype=np.uint64), np.array([[8]], dtype=np.uint64)
    assert scan(good, good, good, good, 3, 1).items_at.tolist() == [[1, 0, 0, 0]]
    for queries, database in ((good, bad), (bad, good)):
        with pytest.raises(InputError, match="nothing behind the last bit"):
            scan(queries, database, good, good, 3, 1)

"""Packed codes against slow Python."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.hamming import distances, judge, pack, rank, unpack
from smfh.types import InputError

slowly = settings(deadline=None)


@st.composite
def bit_rows(draw):
    """Queries and database of one length; few distinct rows, so that ties are common."""
    bits = draw(st.integers(1, 130))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = rng.random((draw(st.integers(1, 5)), bits)) < draw(st.sampled_from([0.02, 0.5, 1.0]))
    queries, items = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    return kinds[rng.integers(len(kinds), size=queries)], kinds[rng.integers(len(kinds), size=items)]


def naive_distance(a, b):
    return sum(bool(x) != bool(y) for x, y in zip(a, b, strict=True))


def test_bits_fill_words_from_the_lowest_bit():
    bits = np.zeros((2, 65), dtype=bool)
    bits[0, [0, 2, 64]] = True  # 2⁰ + 2² = 5 in the first word, 2⁰ = 1 in the second
    bits[1, 63] = True
    assert pack(bits).tolist() == [[5, 1], [1 << 63, 0]]
    assert pack(bits).dtype == np.uint64


@slowly
@given(bit_rows())
def test_unpacking_undoes_packing(rows):
    for bits in rows:
        codes = pack(bits)
        assert codes.shape == (len(bits), -(-bits.shape[1] // 64))
        np.testing.assert_array_equal(unpack(codes, bits.shape[1]), bits)


def test_unpacking_reads_rows_that_are_not_contiguous():
    bits = np.random.default_rng(0).random((6, 100)) < 0.5
    np.testing.assert_array_equal(unpack(pack(bits)[::2], 100), bits[::2])
    np.testing.assert_array_equal(unpack(np.asfortranarray(pack(bits)), 100), bits)


@slowly
@given(bit_rows())
def test_distances_count_the_bits_that_differ(rows):
    queries, database = rows
    d = distances(pack(queries), pack(database))
    assert d.dtype == np.uint16
    assert d.tolist() == [[naive_distance(q, i) for i in database] for q in queries]


def test_distances_beyond_one_octet():
    ones, zeros = np.ones((1, 1000), dtype=bool), np.zeros((1, 1000), dtype=bool)
    assert distances(pack(ones), pack(zeros)).tolist() == [[1000]]


def test_codes_that_cannot_be_compared_are_refused():
    short, long = pack(np.ones((1, 64), dtype=bool)), pack(np.ones((1, 65), dtype=bool))
    for compare in (distances, rank, partial(judge, np.zeros((1, 1), dtype=np.int32))):
        with pytest.raises(InputError, match="1 words cannot be compared with a database of 2"):
            compare(short, long)
    with pytest.raises(InputError) as error:
        distances(short.astype(np.int64), long[0])
    assert [p.split(" must")[0] for p in error.value.problems] == ["The queries", "The database"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pack(np.ones((2, 3))), "boolean items × bits matrix; got float64"),
        (lambda: pack(np.ones(3, dtype=bool)), r"of shape \(3,\)"),
        (lambda: unpack(np.zeros((1, 1), dtype=np.uint64), 65), "at most 64 bits; got bits=65"),
        (lambda: unpack(np.zeros((1, 1), dtype=np.uint64), -1), "got bits=-1"),
        (lambda: unpack(np.zeros(1, dtype=np.uint8), 1), "uint8"),
        (lambda: distances(*[np.zeros((1, 0), dtype=np.uint64)] * 2), r"of shape \(1, 0\)"),
        (lambda: rank(*[np.zeros((1, 1), dtype=np.uint64)] * 2, top=0), "at least one result; got top=0"),
    ],
)
def test_errors_name_the_problem(call, message):
    with pytest.raises(InputError, match=message):
        call()

"""What bits do, against slow counts and hand-made codes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.bits import (
    bit_kinds,
    class_contrast,
    class_shares,
    confusion_shares,
    correlate,
    cross_counts,
    largest_classes,
)
from smfh.bits.counts import BLOCK
from smfh.types import InputError

#                    live  twin  mirror dead  dead  live
CODES = np.array([[1, 1, 0, 1, 0, 1], [1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0]], dtype=bool)
LABELS = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=bool)


def test_dead_bits_and_twins_are_found():
    assert bit_kinds(CODES).tolist() == ["live", "twin", "twin", "dead", "dead", "live"]


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_live_bits_are_as_many_as_there_are_different_ones(items, bits, seed):
    codes = np.random.default_rng(seed).random((items, bits)) < 0.5
    different = {tuple(bit ^ bit[0]) for bit in codes.T} - {(False,) * items}
    assert np.count_nonzero(bit_kinds(codes) == "live") == len(different)


def test_the_share_of_a_class_that_has_a_bit_on():
    expected = [[1, 1, 0, 1, 0, 0.5], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0]]  # the last class has no items
    np.testing.assert_array_equal(class_shares(CODES, LABELS), expected)


def test_correlations_are_those_of_numpy_and_dead_bits_have_none():
    correlation, live = correlate(CODES), [0, 1, 2, 5]
    np.testing.assert_allclose(correlation[np.ix_(live, live)], np.corrcoef(CODES[:, live].T), atol=1e-12)
    assert np.isnan(correlation[3]).all()
    assert np.isnan(correlation[:, 4]).all()


def test_counts_are_exact_over_several_blocks(rng):
    A, B = (rng.random((BLOCK + 100, 3)) < 0.5 for _ in range(2))
    np.testing.assert_array_equal(cross_counts(A, B), A.T.astype(int) @ B.astype(int))


def test_what_is_no_code_is_refused_with_all_reasons():
    with pytest.raises(InputError) as refused:
        class_shares(CODES.astype(float), LABELS[:, 0])
    assert len(refused.value.problems) == 2
    with pytest.raises(InputError, match="4 rows of codes and 3 rows of labels"):
        class_shares(CODES, LABELS[:3])


def test_the_largest_classes_come_first_and_an_empty_one_not_at_all():
    labels = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]], dtype=bool)
    assert largest_classes(labels).tolist() == [1, 2, 0]
    assert largest_classes(labels, most=1).tolist() == [1]


def test_the_share_of_answers_that_carry_each_class():
    labels = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1]], dtype=bool)
    queries = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)
    rows = np.array([[0, 1, 2], [0, 2, 3], [3, 2, 0]])
    # art: answers 0 1 and 0 2, of four three are art and one is history; history: 3 2, one is music too
    expected = [[0.75, 0.25, 0], [0, 1, 0.5], [0, 0, 0]]
    np.testing.assert_allclose(confusion_shares(rows, queries, labels, top=2), expected)
    both = np.array([[0, 1, 1]], dtype=bool)  # counts for both of its classes; depth is what there is
    np.testing.assert_allclose(confusion_shares(rows[2:, :2], both, labels)[1:, 1:], [[1, 0.5], [1, 0.5]])


@given(st.integers(0, 2**32 - 1))
def test_the_contrast_of_a_class_is_its_share_less_that_of_the_others(seed):
    rng = np.random.default_rng(seed)
    codes, labels = rng.random((30, 4)) < 0.5, rng.random((30, 3)) < rng.random(3)
    contrast = class_contrast(codes, labels)
    for k, has in enumerate(labels.T):
        for bit in range(4):
            inside, outside = codes[has, bit], codes[~has, bit]
            expected = inside.mean() - outside.mean() if len(inside) and len(outside) else 0
            assert contrast[k, bit] == pytest.approx(expected)

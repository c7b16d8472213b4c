"""The fewest flips, against trying all codes."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smfh.bits import fewest_flips

BITS = 16


def by_trying_all(code, right, wrong):
    """How many bits, tried from none to all; None where none of all codes has a right one nearest alone."""
    for number in range(BITS + 1):
        for flips in combinations(range(BITS), number):
            turned = code.copy()
            turned[list(flips)] ^= True
            if is_first(turned, right, wrong):
                return number
    return None


def is_first(code, right, wrong):
    nearest = [np.count_nonzero(codes != code, axis=1).min(initial=BITS + 1) for codes in (right, wrong)]
    return nearest[0] < nearest[1]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.integers(0, 12), st.sampled_from([0.5, 0.2]))
def test_no_code_does_it_with_fewer(seed, rights, wrongs, share):
    rng = np.random.default_rng(seed)
    code, *others = rng.random((1 + rights + wrongs, BITS)) < share
    right, wrong = np.array(others, dtype=bool).reshape(-1, BITS)[:rights], np.array(others)[rights:]
    wrong = wrong.reshape(-1, BITS).astype(bool)
    found, fewest = fewest_flips(code, right, wrong), by_trying_all(code, right, wrong)
    assert (found is None) == (fewest is None)
    if found is not None:
        assert len(found) == fewest
        turned = code.copy()
        turned[found] ^= True
        assert is_first(turned, right, wrong)


def test_by_hand():
    # right is 2 away and wrong 1; bit 1 would bring both nearer, bit 0 the right one alone
    code, right, wrong = (np.array([[c == "1" for c in word]]) for word in ("000", "110", "010"))
    assert fewest_flips(code[0], right, wrong).tolist() == [0]


@pytest.mark.parametrize("rights", [0, 1])
def test_what_shares_its_code_with_something_wrong_cannot_come_first(rights):
    same = np.ones((1, 4), dtype=bool)
    assert fewest_flips(~same[0], same[:rights], same) is None


def test_what_is_first_already_needs_no_flips():
    code = np.zeros(4, dtype=bool)
    assert fewest_flips(code, code[None], ~code[None]).tolist() == []

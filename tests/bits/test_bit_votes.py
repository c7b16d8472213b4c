"""Bits that vote together, by hand-worked correlations and by what must hold for any."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smfh.bits import correlate, group_votes, seen_from

NAN = np.nan


def test_bits_that_say_the_same_or_the_opposite_are_one_vote():
    #                  a  a  b  ¬a  dead
    codes = np.array([[1, 1, 1, 0, 1], [1, 1, 0, 0, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]], dtype=bool)
    assert group_votes(correlate(codes)) == (((0, 1), (1, 1), (3, -1)), ((2, 1),))


def test_a_chain_of_alike_bits_is_no_group_where_its_ends_are_unlike():
    rho = np.array([[1.0, 0.95, 0.6], [0.95, 1.0, 0.91], [0.6, 0.91, 1.0]])
    assert group_votes(rho) == (((0, 1), (1, 1)), ((2, 1),))
    assert group_votes(rho, threshold=0.6) == (((0, 1), (1, 1), (2, 1)),)
    assert group_votes(rho, threshold=0.96) == (((0, 1),), ((1, 1),), ((2, 1),))


def test_dead_bits_vote_with_nobody():
    assert group_votes(np.full((3, 3), NAN)) == ()
    assert group_votes(np.array([[NAN, NAN], [NAN, 1.0]])) == (((1, 1),),)


def test_the_others_are_seen_from_any_bit_of_the_group():
    group = ((0, 1), (4, -1), (7, -1))
    assert seen_from(group, 0) == ((4, -1), (7, -1))
    assert seen_from(group, 4) == ((0, -1), (7, 1))
    assert seen_from(((2, 1),), 2) == ()


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(0.1, 1))
def test_every_two_of_a_group_reach_the_threshold_and_every_live_bit_is_in_one(seed, bits, threshold):
    rng = np.random.default_rng(seed)
    codes = rng.random((30, bits)) < 0.5
    codes ^= codes[:, rng.integers(bits, size=bits)]
    rho = correlate(codes)
    groups = group_votes(rho, threshold)
    live = np.flatnonzero(codes.any(axis=0) & ~codes.all(axis=0)).tolist()
    assert sorted(bit for group in groups for bit, _ in group) == live
    for group in groups:
        for j, s in group:
            for k, t in group:
                assert abs(rho[j, k]) >= threshold - 1e-9
                assert s * t * rho[j, k] > 0 or threshold < 0.8  # signs agree where likeness is transitive

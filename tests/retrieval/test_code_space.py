"""The map of codes and the buckets, by properties that hold for any codes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.hamming import pack
from smfh.retrieval.code_space import KINDS, MAX_ITEMS, fill_buckets, map_codes, principal_directions

BITS = 16
EVERY_KIND = [pytest.param(kind, marks=pytest.mark.slow if kind == "t-SNE" else ()) for kind in KINDS]


def some_codes(rng, items, classes=5):
    """Codes close to those of a few classes, many of them identical."""
    centres = rng.random((classes, BITS)) < 0.5
    which = rng.integers(classes, size=items)
    return pack(centres[which] ^ (rng.random((items, BITS)) < 0.02)), which


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_items_with_the_same_code_surround_the_same_point(rng, kind):
    codes, _ = some_codes(rng, 300)
    flat = map_codes(codes, np.arange(300) + 7, BITS, kind)
    assert flat.items == len(flat.rows) == len(flat.positions) == 300
    np.testing.assert_array_equal(flat.rows, np.arange(300) + 7)
    assert np.isfinite(flat.positions).all()
    assert len(np.unique(flat.positions, axis=0)) == 300
    own = (codes[:, None] == flat.codes[None]).all(axis=2).argmax(axis=1)
    away = np.linalg.norm(flat.positions - flat.centres[own], axis=1)
    assert away.max() < 0.005 * np.sqrt(300)
    assert np.abs(flat.centres).max() == pytest.approx(0.5)
    np.testing.assert_array_equal(map_codes(codes, np.arange(300), BITS, kind).positions, flat.positions)
    assert flat.find(np.array([5, 9, 306])).tolist() == [2, 299]


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("items", [1, 2, 3, 5])
def test_a_few_items_have_a_map(rng, kind, items):
    codes = pack(rng.random((items, BITS)) < 0.5)
    assert np.isfinite(map_codes(codes, np.arange(items), BITS, kind).positions).all()


def test_a_large_database_is_sampled(rng):
    codes = pack(rng.random((MAX_ITEMS + 500, 64)) < 0.5)
    flat = map_codes(codes, np.arange(len(codes)), 64, "PCA")
    assert len(flat.rows) == MAX_ITEMS
    assert flat.items == MAX_ITEMS + 500


def test_a_query_is_placed_at_its_code_or_between_the_nearest(rng):
    codes, _ = some_codes(rng, 100)
    flat = map_codes(codes, np.arange(100), BITS, "PCA")
    np.testing.assert_allclose(flat.locate(flat.codes[3]), flat.centres[3])
    bits = np.array([[True, False, False, False], [False, True, False, False]])
    two = map_codes(pack(bits), np.arange(2), 4, "PCA")
    np.testing.assert_allclose(two.locate(pack(np.zeros((1, 4), dtype=bool))[0]), two.centres.mean(axis=0))


def test_the_plane_has_the_directions_of_largest_variance(rng):
    codes = rng.random((40, 6)) < [0.5, 0.5, 0.01, 0.01, 0.01, 0.01]
    counts = np.ones(40, dtype=np.int64)
    X = codes - codes.mean(axis=0)
    spread = np.linalg.svd(X, compute_uv=False)
    middle, V = principal_directions(codes, counts)
    plane = (codes - middle) @ V
    np.testing.assert_allclose((plane**2).sum(axis=0), spread[:2] ** 2, rtol=1e-6)
    distinct, repeats = np.unique(codes, axis=0, return_counts=True)  # a code counts as often as it occurs
    np.testing.assert_allclose(principal_directions(distinct, repeats)[1], V, atol=1e-9)


@given(st.lists(st.integers(0, 7), min_size=1, max_size=40))
def test_buckets_contain_the_items_of_each_code(numbers):
    codes = np.array(numbers, dtype=np.uint64)[:, None]
    buckets = fill_buckets(codes)
    assert buckets.sizes.tolist() == sorted((numbers.count(number) for number in set(numbers)), reverse=True)
    assert buckets.sizes.sum() == len(buckets.bucket) == len(numbers)
    for bucket, size in enumerate(buckets.sizes):
        members = buckets.members(bucket)
        assert len(members) == size
        assert len({numbers[k] for k in members}) == 1

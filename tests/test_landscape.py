"""The map of codes and the buckets, by what must hold for any codes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.hamming import pack
from smfh.landscape import (
    KINDS,
    MOST_CODES,
    MOST_ITEMS,
    fill_buckets,
    map_codes,
    principal_plane,
    sunflower_offsets,
)
from smfh.types import InputError

BITS = 16
EVERY_KIND = [pytest.param(kind, marks=pytest.mark.slow if kind == "t-SNE" else ()) for kind in KINDS]


def some_codes(rng, items, classes=5):
    """Codes near those of a few classes, many of them equal."""
    centres = rng.random((classes, BITS)) < 0.5
    which = rng.integers(classes, size=items)
    return pack(centres[which] ^ (rng.random((items, BITS)) < 0.02)), which


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_items_of_one_code_stand_together_and_apart_from_the_others(rng, kind):
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


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_items_of_a_class_are_nearer_to_each_other(rng, kind):
    codes, which = some_codes(rng, 200, classes=3)
    flat = map_codes(codes, np.arange(200), BITS, kind)
    apart = np.linalg.norm(flat.positions[:, None] - flat.positions[None], axis=2)
    same = which[:, None] == which[None]
    assert apart[same].mean() < 0.5 * apart[~same].mean()


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_same_codes_give_the_same_map(rng, kind):
    codes, _ = some_codes(rng, 60)
    one, other = (map_codes(codes, np.arange(60), BITS, kind) for _ in range(2))
    np.testing.assert_array_equal(one.positions, other.positions)


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("items", [1, 2, 3, 5])
def test_few_items_have_a_map_too(rng, kind, items):
    codes = pack(rng.random((items, BITS)) < 0.5)
    assert np.isfinite(map_codes(codes, np.arange(items), BITS, kind).positions).all()


def test_a_single_bit_has_a_map_too():
    codes = pack(np.array([[True], [False], [True]]))
    assert np.isfinite(map_codes(codes, np.arange(3), 1, "PCA").positions).all()


def test_a_large_database_is_drawn_in_part(rng):
    codes = pack(rng.random((MOST_ITEMS + 500, 64)) < 0.5)
    flat = map_codes(codes, np.arange(len(codes)), 64, "PCA")
    assert len(flat.rows) == MOST_ITEMS
    assert flat.items == MOST_ITEMS + 500


@pytest.mark.slow
def test_t_sne_lays_out_a_bounded_number_of_codes(rng, monkeypatch):
    monkeypatch.setattr("smfh.landscape.MOST_CODES", 50)
    assert MOST_CODES <= 1000
    codes = pack(rng.random((300, BITS)) < 0.5)
    flat = map_codes(codes, np.arange(300), BITS, "t-SNE")
    assert len(flat.codes) == 50
    drawn = {tuple(code) for code in flat.codes.tolist()}
    assert [row for row, code in enumerate(codes.tolist()) if tuple(code) in drawn] == flat.rows.tolist()


def test_a_query_stands_where_its_code_does_or_amid_the_nearest(rng):
    codes, _ = some_codes(rng, 100)
    flat = map_codes(codes, np.arange(100), BITS, "PCA")
    np.testing.assert_allclose(flat.locate(flat.codes[3]), flat.centres[3])
    bits = np.array([[True, False, False, False], [False, True, False, False]])
    two = map_codes(pack(bits), np.arange(2), 4, "PCA")
    np.testing.assert_allclose(two.locate(pack(np.zeros((1, 4), dtype=bool))[0]), two.centres.mean(axis=0))


def test_rows_are_found_on_the_map_where_they_are_drawn(rng):
    codes, _ = some_codes(rng, 20)
    flat = map_codes(codes, np.arange(20) * 3, BITS, "PCA")
    assert flat.find(np.array([6, 7, 57])).tolist() == [2, 19]


def test_the_plane_keeps_the_directions_of_most_variance(rng):
    codes = rng.random((40, 6)) < [0.5, 0.5, 0.01, 0.01, 0.01, 0.01]
    counts = np.ones(40, dtype=np.int64)
    X = codes - codes.mean(axis=0)
    spread = np.linalg.svd(X, compute_uv=False)
    plane = principal_plane(codes, counts)
    np.testing.assert_allclose((plane**2).sum(axis=0), spread[:2] ** 2, rtol=1e-6)


def test_repeated_codes_weigh_as_often_as_they_occur(rng):
    codes = rng.random((10, 6)) < 0.5
    counts = rng.integers(1, 5, size=10)
    repeated = principal_plane(np.repeat(codes, counts, axis=0), np.ones(counts.sum(), dtype=np.int64))
    np.testing.assert_allclose(np.repeat(principal_plane(codes, counts), counts, axis=0), repeated, atol=1e-9)


def test_the_first_item_of_each_code_is_in_the_middle():
    placed = sunflower_offsets(np.array([0, 1, 0, 0, 1]))
    np.testing.assert_allclose(placed[[0, 1]], 0)
    np.testing.assert_allclose(placed[2], placed[4])
    assert np.linalg.norm(placed[3]) > np.linalg.norm(placed[2]) > 0


def test_an_unknown_map_and_missing_rows_are_refused(rng):
    codes, _ = some_codes(rng, 5)
    with pytest.raises(InputError, match="there are PCA, t-SNE"):
        map_codes(codes, np.arange(5), BITS, "UMAP")
    with pytest.raises(InputError, match="5 codes and 4 rows"):
        map_codes(codes, np.arange(4), BITS, "PCA")
    with pytest.raises(InputError, match="one item at least"):
        map_codes(codes[:0], np.arange(0), BITS, "PCA")


@given(st.lists(st.integers(0, 7), min_size=1, max_size=40))
def test_buckets_hold_the_items_of_each_code(numbers):
    codes = np.array(numbers, dtype=np.uint64)[:, None]
    buckets = fill_buckets(codes)
    assert buckets.sizes.tolist() == sorted((numbers.count(number) for number in set(numbers)), reverse=True)
    assert buckets.sizes.sum() == buckets.items == len(numbers)
    for bucket, size in enumerate(buckets.sizes):
        members = buckets.members(bucket)
        assert len(members) == size
        assert len({numbers[k] for k in members}) == 1

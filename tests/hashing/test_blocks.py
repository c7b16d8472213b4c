"""Sums and random starts do not depend on how the items are divided into blocks."""

import hashlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.datasets.planted import Planted
from smfh.hashing import make_method
from smfh.hashing.blocks import HEIGHT, ROWS, Items, add_inplace, on_grid, rows_of, uniform_rows


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**16), parts=st.integers(2, 6), spread=st.integers(0, 12))
def test_sums_are_equal_in_any_order_and_grouping(seed, parts, spread):
    rng = np.random.default_rng(seed)
    items, bound = parts * ROWS, 1000.0
    exact = [rng.random((3, 2)) * 10.0 ** -rng.integers(0, spread + 1) * bound / parts for _ in range(parts)]
    blocks = [{("XtY", "a"): on_grid(x, bound, items), HEIGHT: x[0]} for x in exact]
    cut = int(rng.integers(1, parts))
    totals = []
    for groups in ([blocks], [blocks[:cut], blocks[cut:]], [[block] for block in reversed(blocks)]):
        total = {}
        for group in groups:
            own = {}
            for block in group:
                add_inplace(own, block)
            add_inplace(total, own)
        totals.append(total)
    for one, other in pairwise(totals):
        for key in one:
            np.testing.assert_array_equal(one[key], other[key])
    np.testing.assert_allclose(totals[0]["XtY", "a"], sum(exact), rtol=0, atol=parts * bound * 2.0**-51)


def test_a_single_block_is_not_rounded(rng):
    x = rng.random((4, 3)).astype(np.float32) * 1e-20
    np.testing.assert_array_equal(on_grid(x, 1e6, ROWS), x)
    assert (on_grid(x, 1e6, ROWS + 1) == 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("in_store", [False, True])
@pytest.mark.parametrize("bits", [2, 1])
def test_blockwise_random_numbers_equal_one_draw(dtype, in_store, bits):
    at_once, by_blocks = np.random.default_rng(3), np.random.default_rng(3)
    if in_store:  # a single number leaves half of 64 bits for the next one
        assert at_once.random(dtype=np.float32) == by_blocks.random(dtype=np.float32)
    items = 2 * ROWS + 21
    whole = at_once.random((items, bits), dtype=dtype)
    uniform = uniform_rows(by_blocks, items, bits, dtype)
    blocks = Items({"text": whole}, np.ones((items, 1), bool)).blocks
    np.testing.assert_array_equal(np.concatenate([uniform(block) for block in reversed(blocks)][::-1]), whole)
    for kind in (np.float32, np.float64):
        np.testing.assert_array_equal(at_once.random(5, dtype=kind), by_blocks.random(5, dtype=kind))


def test_rows_of_a_sparse_matrix(rng):
    X = sparse.csr_array(rng.random((50, 8)) * (rng.random((50, 8)) < 0.3))
    np.testing.assert_array_equal(rows_of(X, slice(20, 45)).toarray(), X.toarray()[20:45])
    np.testing.assert_array_equal(rows_of(X, slice(40, 90)).toarray(), X.toarray()[40:])


BLOCKS = Planted(items=2 * ROWS + 500, sparse_text=True, labels_per_item=2)


def codes_of(name: str, cores: int, monkeypatch, **values) -> str:
    """The codes of a fit whose blocks so many threads work on."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(cores) as pool:
        monkeypatch.setattr("smfh.parallel._pool", lambda: pool)
        hasher = make_method(name, bits=16, iterations=3, **values).fit(BLOCKS.load()[0])
    return hashlib.sha256(hasher.database_codes["image"].tobytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smfh", "smfh-plus", "cmfh"])
def test_codes_do_not_depend_on_the_number_of_threads(name, monkeypatch):
    values = {"anchors": 0} if name == "smfh-plus" else {}
    assert len({codes_of(name, cores, monkeypatch, **values) for cores in (1, 2, 5)}) == 1


def test_items_in_memory_describe_the_data(planted):
    data = planted[0]
    items = Items(data.modalities, data.labels)
    assert len(items) == len(data)
    assert items.sizes.tolist() == data.labels.sum(axis=0).tolist()
    assert items.unlabelled == 0
    for t, x in data.modalities.items():
        np.testing.assert_array_equal(items.maxima[t], np.asarray(x).max(axis=0))

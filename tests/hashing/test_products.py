"""Large products against NumPy, compiled and not, and the BLAS limit that all trainings share."""

import threading

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

from smfh.hashing import products, steps
from smfh.hashing.products import add_times_inplace, blas_threads, column_means, gram, times, transposed_times
from smfh.hashing.steps import CubicTerms, cubic_step, ratio_step

ITEMS = 3 * products.ROWS + 17  # several blocks


@pytest.fixture
def matrices(rng):
    dense = rng.random((ITEMS, 7)) * (rng.random((ITEMS, 7)) < 0.4)
    return {"dense": dense, "sparse": sparse.csr_array(dense)}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("numba", [True, False])
def test_products_are_those_of_numpy(matrices, rng, kind, numba, monkeypatch):
    if not numba:
        monkeypatch.setattr(products, "compiled", lambda: None)
    X, dense = matrices[kind], matrices["dense"]
    V, Y = rng.random((7, 5)), rng.random((ITEMS, 5))
    np.testing.assert_allclose(times(X, V), dense @ V)
    np.testing.assert_allclose(transposed_times(X, Y), dense.T @ Y)
    total = Y.copy()
    add_times_inplace(total, X, V)
    np.testing.assert_allclose(total, Y + dense @ V)
    np.testing.assert_allclose(gram(X), dense.T @ dense)
    np.testing.assert_allclose(column_means(Y), Y.mean(axis=0))


def test_a_gram_of_single_precision_can_be_centred(rng):
    X = (5 + 1e-3 * rng.random((2000, 4))).astype(np.float32)
    exact = X.astype(np.float64)
    centred = gram(X) - len(X) * np.outer(exact.mean(axis=0), exact.mean(axis=0))
    np.testing.assert_allclose(
        centred, (exact - exact.mean(axis=0)).T @ (exact - exact.mean(axis=0)), rtol=1e-4
    )


def test_steps_without_numba_are_the_same(rng, monkeypatch):
    Y, P, Q, C = (rng.random((ITEMS, 6)) for _ in range(4))
    Y[5, 2] = 0
    P -= 0.3
    F = sparse.csr_array((rng.random((ITEMS, 3)) < 0.4).astype(float))
    terms = CubicTerms(P, Q, 100 * C, F, rng.random((3, 6)) - 0.5, rng.random(6), rng.random(ITEMS), 0.01)
    fast = ratio_step(Y, P, Q, 0.1), cubic_step(Y, terms)
    monkeypatch.setattr(steps, "compiled", lambda: None)
    plain = ratio_step(Y, P, Q, 0.1), cubic_step(Y, terms)
    assert (fast[0] == 0).any()
    for a, b in zip(fast, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12)


def blas_thread_counts():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_small_fits_that_overlap_give_the_threads_back():
    before = blas_thread_counts()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with blas_threads(10):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with blas_threads(10):
        thread.start()
        inside.wait(10)
        with blas_threads(10):
            assert set(blas_thread_counts()) == {1}
        assert set(blas_thread_counts()) == {1}
    leave.set()
    thread.join()
    assert blas_thread_counts() == before
    with blas_threads(10**6):
        assert blas_thread_counts() == before

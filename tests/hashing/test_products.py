"""Large products against NumPy, and the BLAS limit that all trainings share."""

import threading

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

from smfh.hashing import blocks
from smfh.hashing.blocks import column_means, gram, project, times, transposed_times
from smfh.parallel import one_blas_thread

ITEMS = 3 * blocks.ROWS + 17  # several blocks


@pytest.fixture
def matrices(rng):
    dense = rng.random((ITEMS, 7)) * (rng.random((ITEMS, 7)) < 0.4)
    return {"dense": dense, "sparse": sparse.csr_array(dense)}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_products_equal_those_of_numpy(matrices, rng, kind):
    X, dense = matrices[kind], matrices["dense"]
    V, Y = rng.random((7, 5)), rng.random((ITEMS, 5))
    np.testing.assert_allclose(times(X, V), dense @ V)
    np.testing.assert_allclose(transposed_times(X, Y), dense.T @ Y)
    np.testing.assert_allclose(project({"a": X, "b": dense}, {"a": V, "b": 2 * V}), 3 * dense @ V)
    np.testing.assert_allclose(gram(X), dense.T @ dense)
    np.testing.assert_allclose(column_means(Y), Y.mean(axis=0))


def test_gram_of_single_precision_can_be_centred(rng):
    X = (5 + 1e-3 * rng.random((2000, 4))).astype(np.float32)
    exact = X.astype(np.float64)
    centred = gram(X) - len(X) * np.outer(exact.mean(axis=0), exact.mean(axis=0))
    np.testing.assert_allclose(centred, (exact - exact.mean(axis=0)).T @ (exact - exact.mean(axis=0)), rtol=1e-4)


def blas_thread_counts():
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return [one["num_threads"] for one in found if "faiss" not in one["filepath"]]  # which brings its own


def test_overlapping_trainings_share_the_blas_limit_and_the_last_lifts_it():
    before = blas_thread_counts()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        inside.wait(10)
        with one_blas_thread():
            assert set(blas_thread_counts()) == {1}
        assert set(blas_thread_counts()) == {1}
    assert set(blas_thread_counts()) == {1}
    leave.set()
    thread.join()
    assert blas_thread_counts() == before

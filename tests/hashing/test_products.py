"""Large products and steps against NumPy, and the BLAS limit that all trainings share."""

import threading

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

from smfh.hashing import kernels, products
from smfh.hashing.products import (
    add_times_inplace,
    column_means,
    gram,
    one_blas_thread,
    times,
    transposed_times,
)
from smfh.hashing.steps import CubicTerms, cubic_step, ratio_step
from smfh.types import read_only, read_only_matrix

ITEMS = 3 * products.ROWS + 17  # several blocks


@pytest.fixture
def matrices(rng):
    dense = rng.random((ITEMS, 7)) * (rng.random((ITEMS, 7)) < 0.4)
    return {"dense": dense, "sparse": sparse.csr_array(dense)}


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_products_are_those_of_numpy(matrices, rng, kind):
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


def test_a_kernel_is_compiled_once_whether_or_not_its_matrix_may_be_written_to(matrices, rng):
    V, Y = rng.random((7, 5)), rng.random((ITEMS, 5))
    for X in (matrices["sparse"], read_only_matrix(matrices["sparse"])):
        for change in (np.asarray, read_only):
            times(X, change(V))
            transposed_times(X, change(Y))
    written_to = {kernels.add_sparse_times_inplace: 1, kernels.sparse_transposed_times: 0}  # the total
    for kernel, number in written_to.items():
        for types in kernel.signatures:
            assert sum(getattr(argument, "mutable", False) for argument in types) == number


def plain_ratio_step(Y, P, Q, orthogonality):
    """Y ∘ B⁺ / (Q + B⁻) with B = P + 2β Y"""
    B = P + 2 * orthogonality * Y
    return Y * np.maximum(B, 0) / (Q + np.maximum(-B, 0))


def plain_cubic_step(Y, terms):
    """min(Y ∘ z, 1), z by bisection of q z³ + h z = B⁺"""
    B = terms.P + terms.offset + terms.F @ terms.pull + terms.balance * (Y.sum(axis=1, keepdims=True) + Y)
    h, b = terms.YG + terms.diagonal[:, None] * Y + np.maximum(-B, 0), np.maximum(B, 0)
    low, high = np.zeros_like(Y), b / h
    for _ in range(60):
        z = (low + high) / 2
        above = terms.YC * z**3 + h * z > b
        low, high = np.where(above, low, z), np.where(above, z, high)
    return np.minimum(Y * z, 1)


@pytest.mark.slow
def test_the_compiled_steps_are_their_equations(rng):
    Y, P, Q, C = (rng.random((ITEMS, 6)) for _ in range(4))
    Y[5, 2] = 0
    P -= 0.3
    F = sparse.csr_array((rng.random((ITEMS, 3)) < 0.4).astype(float))
    terms = CubicTerms(P, Q, 100 * C, F, rng.random((3, 6)) - 0.5, rng.random(6), rng.random(ITEMS), 0.01)
    ratio, cubic = ratio_step(Y, P, Q, 0.1), cubic_step(Y, terms)
    assert (ratio == 0).any()
    np.testing.assert_allclose(ratio, plain_ratio_step(Y, P, Q, 0.1), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(cubic, plain_cubic_step(Y, terms), rtol=1e-6, atol=1e-12)


def blas_thread_counts():
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return [one["num_threads"] for one in found if "faiss" not in one["filepath"]]  # which brings its own


def test_fits_that_overlap_share_the_limit_and_the_last_one_gives_the_threads_back():
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

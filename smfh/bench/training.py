"""Benchmarks of training at the size of NUS-WIDE, compared with matrix products, the reference code and NMF."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from smfh.bench.measure import Report, least_seconds, peak_bytes, resident_bytes
from smfh.datasets.synthetic import Synthetic
from smfh.hashing import COMPARED, METHODS, SMFH, HashMethod, make_method, preset
from smfh.hashing.reference import algorithm_1, dense
from smfh.types import MultimodalDataset

FULL, PART, QUICK = 180_000, 20_000, 20_000
METHOD = SMFH(bits=64, graph_sample=2000, iterations=6)


def bench_training(report: Report, quick: bool, repeats: int) -> None:
    items = QUICK if quick else FULL
    before = resident_bytes()
    train = synthetic(items)
    size = data_bytes(train)
    check_equations()
    METHOD.fit(train)  # compiles the kernels

    bench_products(report, train, repeats)
    peak = peak_bytes(lambda: METHOD.fit(train)) - before
    what = f"the highest memory during a fit, the data included, compared with the data itself ({size >> 20} MB)"
    report.compare("peak memory/data", peak, size, what)
    bench_equations(report, train)
    bench_nmf(report, train)
    if not quick:
        small = iteration_seconds(METHOD, synthetic(PART), repeats) / PART
        each = report.seconds["smfh iteration"] / items
        report.compare("time per item 180k/20k", each, small, f"SMFH, {FULL:,} pairs compared with {PART:,}")


def bench_products(report: Report, train: MultimodalDataset, repeats: int) -> None:
    """Compare an iteration of SMFH and of SMFH+ with the two dense products that it needs."""
    rng, X = np.random.default_rng(0), train.modalities["image"]
    V, Y = (rng.random((size, METHOD.bits), dtype=np.float32) for size in reversed(X.shape))
    floor = float("inf")
    plus = make_method("smfh-plus", anchors=0, iterations=METHOD.iterations, rounds=0, bits=METHOD.bits)
    for method in (METHOD, plus):
        report.seconds[f"{method.name} iteration"] = iteration_seconds(method, train, repeats)
        floor = min(floor, *least_seconds({"products": lambda: (X @ V, X.T @ Y)}, repeats).values())
    report.seconds["products floor"] = floor
    what = (
        f"one iteration with its objective, {len(train):,} pairs, 64 bits, compared with the products XV and XᵀY alone"
    )
    for name, method in (("iteration", METHOD), ("plus iteration", plus)):
        seconds = report.seconds[f"{method.name} iteration"]
        report.compare(f"{name}/products floor", seconds, floor, f"{method.title}: {what}")


def bench_equations(report: Report, train: MultimodalDataset) -> None:
    """Compare an iteration of SMFH with the second one of the reference code; in the first one, W is still 0."""
    iterations = algorithm_1(replace(METHOD, iterations=2), train)
    next(iterations)
    seconds = report.seconds["equations iteration"] = seconds_once(lambda: next(iterations))
    what = "the equations of the paper one by one, in double precision, compared with one iteration of our SMFH"
    report.compare("equations/iteration", seconds, report.seconds["smfh iteration"], what)


def bench_nmf(report: Report, train: MultimodalDataset) -> None:
    """Compare a fit of SMFH with scikit-learn's NMF of all features: the same rank and number of iterations."""
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    stacked = np.hstack([dense(X) for X in train.modalities.values()])
    nmf = NMF(METHOD.bits, solver="mu", init="random", max_iter=METHOD.iterations, tol=0, random_state=0)

    def factorise() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            nmf.fit(stacked)

    seconds = least_seconds({"sklearn nmf": factorise, "smfh fit": lambda: METHOD.fit(train)}, repeats=1)
    report.seconds |= seconds
    what = f"scikit-learn's NMF (multiplicative, rank 64, {METHOD.iterations} iterations), compared with a fit of SMFH"
    report.compare("sklearn nmf/training", seconds["sklearn nmf"], seconds["smfh fit"], what)


def bench_methods(report: Report, quick: bool) -> None:
    """Compare the training time of every method with that of SMFH, as in Table 2 of the paper."""
    for items in (QUICK,) if quick else (PART, FULL):
        train, size, seconds = synthetic(items), f"{items // 1000}k", {}
        for name in COMPARED:
            choice = next((c for c in ("nus-wide", "paper") if c in METHODS[name].presets), None)
            method = make_method(name, bits=64, **(preset(name, choice) if choice else {}))
            seconds[name] = report.seconds[f"{name} fit {size}"] = seconds_once(partial(method.fit, train))
        what = f"complete training, {items:,} pairs, 64 bits, each method with its own settings"
        for name in (name for name in COMPARED if name != "smfh"):
            report.compare(f"{name}/smfh {size}", seconds[name], seconds["smfh"], what)


def check_equations() -> None:
    """Raise an error unless the objectives of SMFH and the reference code have the same terms in every iteration."""
    train = synthetic(600)
    method = replace(METHOD, bits=16, graph_sample=200, iterations=3)
    double = replace(train, modalities={t: X.astype(np.float64) for t, X in train.modalities.items()})
    for step, slow in zip(method.fit(double).trace, algorithm_1(method, double), strict=True):
        for term, value in slow.terms.items():
            np.testing.assert_allclose(step.terms[term], value, rtol=1e-6, atol=1e-6)


def iteration_seconds(method: HashMethod, train: MultimodalDataset, repeats: int) -> float:
    """Return the minimum time between two steps, over several runs."""
    fits = [method.fit(train).trace for _ in range(repeats)]
    return min(b.seconds - a.seconds for trace in fits for a, b in pairwise(trace))


def seconds_once(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def synthetic(items: int) -> MultimodalDataset:
    return Synthetic(items=items).load()[0]


def data_bytes(data: MultimodalDataset) -> int:
    """Return the memory of the features and labels in bytes."""
    arrays: list[Any] = [data.labels]
    for X in data.modalities.values():
        arrays += [X.data, X.indices, X.indptr] if isinstance(X, sparse.csr_array) else [X]
    return sum(array.nbytes for array in arrays)

"""Training at the size of NUS-WIDE: against its bare products, the equations as written, and NMF."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse

from smfh.bench.equations import algorithm_1
from smfh.bench.measure import Report, least_seconds, peak_bytes, resident_bytes
from smfh.datasets.synthetic import Synthetic
from smfh.hashing import METHODS, SMFH, HashMethod, make_method, preset
from smfh.types import FloatArray, MultimodalDataset

FULL, PART, QUICK = 180_000, 20_000, 20_000
METHOD = SMFH(bits=64, graph_sample=2000, iterations=6)


def bench_training(report: Report, quick: bool, repeats: int) -> None:
    items = QUICK if quick else FULL
    before = resident_bytes()
    train = synthetic(items)
    size = data_bytes(train)
    check_equations()
    METHOD.fit(train)  # compiled and warm

    image = train.modalities["image"]
    bench_products(report, train, image, repeats)
    report.compare(
        "peak memory/data",
        peak_bytes(lambda: METHOD.fit(train)) - before,
        size,
        f"the highest memory during a fit, the data included, beside the data itself ({size >> 20} MB)",
    )
    bench_equations(report, train)
    bench_nmf(report, train, repeats=1)
    if not quick:
        small = iteration_seconds(METHOD, synthetic(PART), repeats) / PART
        each = report.seconds["smfh iteration"] / items
        report.compare("time per item 180k/20k", each, small, f"one iteration at {FULL:,} and at {PART:,}")


def bench_products(report: Report, train: MultimodalDataset, image: Any, repeats: int) -> None:
    """An iteration beside the two dense products that it cannot do without."""
    rng = np.random.default_rng(0)
    V = rng.random((image.shape[1], METHOD.bits), dtype=np.float32)
    Y = rng.random((image.shape[0], METHOD.bits), dtype=np.float32)
    floor = least_seconds({"products": lambda: (image @ V, image.T @ Y)}, repeats)["products"]
    for name in ("smfh", "smfh-plus"):
        method = METHOD if name == "smfh" else make_method(name, anchors=0, iterations=6, rounds=0, bits=64)
        seconds = iteration_seconds(method, train, repeats)
        floor = min(floor, *least_seconds({"products": lambda: (image @ V, image.T @ Y)}, repeats).values())
        report.seconds[f"{name} iteration"] = seconds
    report.seconds["products floor"] = floor
    what = (
        f"one iteration with its objective at N = {len(train):,}, 64 bits, beside XV and XᵀY of the dense X"
    )
    report.compare("iteration/products floor", report.seconds["smfh iteration"], floor, f"SMFH: {what}")
    report.compare(
        "plus iteration/products floor", report.seconds["smfh-plus iteration"], floor, f"SMFH+: {what}"
    )


def bench_equations(report: Report, train: MultimodalDataset) -> None:
    """An iteration beside the paper's equations one by one; the second one, since the first has W = 0."""
    iterations = algorithm_1(replace(METHOD, iterations=2), train)
    next(iterations)
    seconds = seconds_once(lambda: next(iterations))
    report.seconds["equations iteration"] = seconds
    report.compare(
        "equations/iteration",
        seconds,
        report.seconds["smfh iteration"],
        "the equations of the paper one by one, in double precision, beside an iteration of SMFH",
    )


def bench_nmf(report: Report, train: MultimodalDataset, repeats: int) -> None:
    """The whole fit beside scikit-learn's NMF of the same rank and iterations on the stacked data."""
    from sklearn.decomposition import NMF
    from sklearn.exceptions import ConvergenceWarning

    stacked = np.hstack([_dense(X) for X in train.modalities.values()])
    nmf = NMF(METHOD.bits, solver="mu", init="random", max_iter=METHOD.iterations, tol=0, random_state=0)

    def factorise() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            nmf.fit(stacked)

    seconds = least_seconds({"nmf": factorise, "fit": lambda: METHOD.fit(train)}, repeats)
    report.seconds["sklearn nmf"], report.seconds["smfh fit"] = seconds["nmf"], seconds["fit"]
    report.compare(
        "sklearn nmf/training",
        seconds["nmf"],
        seconds["fit"],
        f"scikit-learn's NMF (multiplicative, rank 64, {METHOD.iterations} iterations) beside SMFH's fit",
    )


def bench_methods(report: Report, quick: bool) -> None:
    """Every method's training time as in the paper's Table 2, and the rivals beside SMFH."""
    for items in (QUICK,) if quick else (PART, FULL):
        train = synthetic(items)
        for name in METHODS:
            choice = next((c for c in ("nus-wide", "paper") if c in METHODS[name].presets), None)
            method = make_method(name, bits=64, **(preset(name, choice) if choice else {}))
            report.seconds[f"{name} fit {items // 1000}k"] = seconds_once(partial(method.fit, train))
        for name in METHODS:
            if name != "smfh":
                report.compare(
                    f"{name}/smfh {items // 1000}k",
                    report.seconds[f"{name} fit {items // 1000}k"],
                    report.seconds[f"smfh fit {items // 1000}k"],
                    f"whole trainings at {items:,} pairs and 64 bits, each with its own settings",
                )


def check_equations() -> None:
    """Both sides must compute the same before either is timed."""
    train = synthetic(600)
    method = replace(METHOD, bits=16, graph_sample=200, iterations=3)
    double = replace(train, modalities={t: X.astype(np.float64) for t, X in train.modalities.items()})
    for step, slow in zip(method.fit(double).trace, algorithm_1(method, double), strict=True):
        for term, value in slow.terms.items():
            np.testing.assert_allclose(step.terms[term], value, rtol=1e-6, atol=1e-6)


def iteration_seconds(method: HashMethod, train: MultimodalDataset, repeats: int) -> float:
    """The least time between two reports of the objective."""
    fits = [method.fit(train).trace for _ in range(repeats)]
    return min(b.seconds - a.seconds for trace in fits for a, b in pairwise(trace))


def seconds_once(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def synthetic(items: int) -> MultimodalDataset:
    return Synthetic(items=items).load()[0]


def data_bytes(data: MultimodalDataset) -> int:
    """What the features and labels take."""
    arrays: list[Any] = [data.labels]
    for X in data.modalities.values():
        arrays += [X.data, X.indices, X.indptr] if isinstance(X, sparse.csr_array) else [X]
    return int(sum(array.nbytes for array in arrays))


def _dense(X: Any) -> FloatArray:
    return X.toarray() if isinstance(X, sparse.csr_array) else X

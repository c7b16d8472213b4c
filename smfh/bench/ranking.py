"""Benchmarks of exact ranking against faiss and NumPy, and of evaluation against ranking alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from smfh.bench.measure import Report, least_seconds, peak_bytes, resident_bytes
from smfh.hamming import CodeIndex, Queries, as_queries, distances, pack, rank
from smfh.retrieval.evaluation import DEPTH, score_codes
from smfh.types import InputError, IntArray, Words

Sides = dict[str, Callable[[], object]]

ITEMS, QUERIES, TOP = 180_000, 1_000, 100
NUS_WIDE_QUERIES = 6_577
LENGTHS = (64, 32, 128, 256)
WIKI_ITEMS, WIKI_QUERIES, WIKI_CODES = 2_173, 693, 760  # WIKI_CODES: distinct 64-bit codes of SMFH+


def bench_ranking(report: Report, quick: bool, repeats: int) -> None:
    rng = np.random.default_rng(0)
    number = 200 if quick else QUERIES
    for bits in LENGTHS:
        database, queries = codes(rng, ITEMS, bits), codes(rng, number, bits)
        suffix = "" if bits == 64 else f" {bits} bits"
        weighted = as_queries(rng.normal(size=(number, bits)), "asymmetric")
        ours = {
            "ranking": partial(rank, queries, database, TOP),
            "asymmetric": partial(rank, weighted.codes, database, TOP, weighted.weights),
        }
        seconds = least_seconds(ours | faiss_search(database, queries, bits), repeats)
        report.seconds |= {f"{name}{suffix}": value for name, value in seconds.items()}
        if "faiss" in seconds:
            what = f"{faiss_name()}, top {TOP} of {number:,} queries, {ITEMS:,} codes of {bits} bits"
            report.compare(f"faiss/ranking{suffix}", seconds["faiss"], seconds["ranking"], what)
            what = f"{what}, compared with our ranking by asymmetric distance"
            report.compare(f"faiss/asymmetric{suffix}", seconds["faiss"], seconds["asymmetric"], what)
        what = f"ranking by asymmetric distance, compared with Hamming distance, {number:,} queries, {ITEMS:,} codes"
        report.compare(f"asymmetric/ranking{suffix}", seconds["asymmetric"], seconds["ranking"], what)
        if bits == 64:
            bench_one(report, database, queries, seconds["ranking"] / number, repeats)
    bench_distinct(report, rng, repeats)
    bench_evaluation(report, rng, 500 if quick else NUS_WIDE_QUERIES, repeats)


def bench_distinct(report: Report, rng: np.random.Generator, repeats: int) -> None:
    """Compare the search over distinct codes with a search over all items, and with faiss."""
    bits = 64
    few = codes(rng, WIKI_CODES, bits)
    for name, database, number, top in (
        ("Wiki's size", few[rng.integers(len(few), size=WIKI_ITEMS)], WIKI_QUERIES, DEPTH),
        ("few codes", few[rng.integers(len(few), size=ITEMS)], QUERIES, TOP),
        ("spread codes", codes(rng, ITEMS, bits), QUERIES, TOP),
    ):
        queries = codes(rng, number, bits)

        def one_by_one(queries: Words = queries, database: Words = database, top: int = top) -> Any:
            return CodeIndex(database, share=0).rank(queries, top)  # without merging identical codes

        if not all(map(np.array_equal, rank(queries, database, top), one_by_one())):
            raise InputError("Rankings with and without merging of repeated codes differ.")
        sides: Sides = {"ours": partial(rank, queries, database, top), "one by one": one_by_one}
        seconds = least_seconds(sides | faiss_search(database, queries, bits, top), repeats)
        what = f"top {top:,} of {number:,} queries, {len(database):,} items, {len(np.unique(database)):,} codes"
        for rival in (side for side in seconds if side != "ours"):
            report.compare(f"{rival}/ranking, {name}", seconds[rival], seconds["ours"], what)
        report.seconds |= {f"{side}, {name}": value for side, value in seconds.items()}


def bench_one(report: Report, database: Words, queries: Words, ours: float, repeats: int) -> None:
    """Compare the time per query with that of NumPy, and time a single query that ranks all items."""
    some = queries[:50]

    def sort_nearest() -> IntArray:  # ties stay in database order
        return np.array([np.argsort(d, kind="stable")[:TOP] for d in distances(some, database)])

    seconds = least_seconds({"numpy": sort_nearest}, 1)["numpy"] / len(some)
    report.seconds["numpy ranking, a query"] = seconds
    what = "time per query: XOR, popcount and a stable sort in NumPy, compared with our ranking"
    report.compare("numpy/ranking", seconds, ours, what)
    report.seconds |= least_seconds({"search, one query alone": lambda: rank(queries[:1], database)}, repeats)


def bench_evaluation(report: Report, rng: np.random.Generator, number: int, repeats: int) -> None:
    """Compare the time of computing all scores with the time of ranking the top 100 alone."""
    bits = 64
    database, queries = codes(rng, ITEMS, bits), codes(rng, number, bits)
    labels, query_labels = rng.random((ITEMS, 10)) < 0.2, rng.random((number, 10)) < 0.2
    evaluate = partial(score_codes, Queries(queries), database, query_labels, labels, bits)
    ranking_alone = partial(rank, queries, database, TOP)
    seconds = least_seconds({"evaluation": evaluate, "ranking of all": ranking_alone}, repeats)
    report.seconds |= seconds
    what = (
        f"all scores of {number:,} queries over {ITEMS:,} items (P@K, R@K, AP, ties, chance, radii), compared with "
        f"ranking their top {TOP} alone"
    )
    report.compare("evaluation/ranking", seconds["evaluation"], seconds["ranking of all"], what)
    before = resident_bytes()
    report.seconds["evaluation memory, GB"] = (peak_bytes(evaluate) - before) / 1e9


def faiss_search(database: Words, queries: Words, bits: int, top: int = TOP) -> Sides:
    """Return a function, by name, that does the same search with faiss; {} if faiss is not installed.

    Raise InputError if faiss finds other distances.
    """
    try:
        import faiss
    except ImportError:
        return {}
    octets, query_octets = (
        np.ascontiguousarray(np.ascontiguousarray(words).view(np.uint8)[:, : bits // 8])
        for words in (database, queries)
    )
    index = faiss.IndexBinaryFlat(bits)
    index.add(octets)
    if not np.array_equal(index.search(query_octets, top)[0], rank(queries, database, top)[1]):
        raise InputError("faiss and this program computed different distances.")
    return {"faiss": lambda: index.search(query_octets, top)}


def faiss_name() -> str:
    import faiss

    level = f", {faiss.SIMDConfig.get_level_name()}" if hasattr(faiss, "SIMDConfig") else ""
    return f"faiss {faiss.__version__} IndexBinaryFlat{level}"


def codes(rng: np.random.Generator, items: int, bits: int) -> Words:
    return pack(rng.random((items, bits)) < 0.5)

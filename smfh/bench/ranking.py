"""Exact ranking against faiss and NumPy, and the whole evaluation against the ranking alone."""

from collections.abc import Callable
from functools import partial

import numpy as np

from smfh.bench.measure import Report, least_seconds, peak_bytes, resident_bytes
from smfh.evaluation import score, search
from smfh.hamming import pack, rank
from smfh.hamming.ranking import rank_plainly
from smfh.metrics import AP_DEFINITIONS, precision_curve, recall_curve
from smfh.types import InputError, Ranking, Words

ITEMS, QUERIES, TOP = 180_000, 1_000, 100
ASKED = 6_577  # queries of NUS-WIDE
LENGTHS = (64, 32, 128, 256)


def bench_ranking(report: Report, quick: bool, repeats: int) -> None:
    rng = np.random.default_rng(0)
    queries = 200 if quick else QUERIES
    for bits in LENGTHS:
        database, asked = codes(rng, ITEMS, bits), codes(rng, queries, bits)
        suffix = "" if bits == 64 else f" {bits} bits"
        seconds = least_seconds(
            {"ranking": partial(rank, asked, database, TOP), **faiss_search(database, asked, bits)}, repeats
        )
        report.seconds |= {f"{name}{suffix}": value for name, value in seconds.items()}
        if "faiss" in seconds:
            report.compare(
                f"faiss/ranking{suffix}",
                seconds["faiss"],
                seconds["ranking"],
                f"faiss IndexBinaryFlat, top {TOP} of {queries:,} queries, {ITEMS:,} codes of {bits} bits",
            )
        if bits == 64:
            bench_numpy(report, database, asked[:50], seconds["ranking"] / queries)
    bench_evaluation(report, rng, 500 if quick else ASKED, repeats)


def bench_numpy(report: Report, database: Words, asked: Words, ours: float) -> None:
    seconds = least_seconds({"numpy": lambda: rank_plainly(asked, database, TOP)}, 1)["numpy"] / len(asked)
    report.seconds["numpy ranking, a query"] = seconds
    report.compare("numpy/ranking", seconds, ours, "XOR, popcount and a stable sort in NumPy, a query")


def bench_evaluation(report: Report, rng: np.random.Generator, queries: int, repeats: int) -> None:
    """P@K and R@K at every K, AP with its ties and chance, and counts by radius, beside the top 100 alone."""
    bits = 64
    database, asked = codes(rng, ITEMS, bits), codes(rng, queries, bits)
    labels, asked_labels = rng.random((ITEMS, 10)) < 0.2, rng.random((queries, 10)) < 0.2

    def evaluate() -> Ranking:
        ranking = search(asked, database, asked_labels, labels, bits, np.arange(ITEMS))
        score(ranking, AP_DEFINITIONS["found"])
        precision_curve(ranking.relevance)
        recall_curve(ranking.relevance, ranking.counts.total_relevant)
        return ranking

    seconds = least_seconds(
        {
            "evaluation": evaluate,
            "ranking of all": lambda: rank(asked, database, TOP),
            "evaluation with full AP": lambda: evaluate().full_average_precision,
        },
        repeats,
    )
    report.seconds |= seconds
    what = f"of {queries:,} queries over {ITEMS:,} items beside their top {TOP} alone"
    for name, words in (
        ("evaluation", f"P@K, R@K, AP, ties, chance, radii {what}"),
        ("evaluation with full AP", f"the same, and AP over the whole ranking, {what}"),
    ):
        report.compare(f"{name}/ranking", seconds[name], seconds["ranking of all"], words)
    before = resident_bytes()
    report.seconds["evaluation memory, GB"] = (peak_bytes(evaluate) - before) / 1e9


def faiss_search(database: Words, asked: Words, bits: int) -> dict[str, Callable[[], object]]:
    """The same search by faiss, if it is installed, after a look that the distances are the same."""
    try:
        import faiss
    except ImportError:
        return {}
    octets = [
        np.ascontiguousarray(np.ascontiguousarray(x).view(np.uint8)[:, : bits // 8])
        for x in (database, asked)
    ]
    index = faiss.IndexBinaryFlat(bits)
    index.add(octets[0])
    if not np.array_equal(index.search(octets[1], TOP)[0], rank(asked, database, TOP)[1]):
        raise InputError("faiss and this program disagree about distances.")
    return {"faiss": lambda: index.search(octets[1], TOP)}


def codes(rng: np.random.Generator, items: int, bits: int, share: float = 0.5) -> Words:
    return pack(rng.random((items, bits)) < share)

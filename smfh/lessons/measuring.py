"""Lessons on figures: one seed, ties, and choosing by the queries that one reports on."""

from functools import partial

import numpy as np

from smfh.lessons.evidence import PICTURE, SHOWN, TEXT, Evidence, Seen, Series, Walls, Worked
from smfh.types import FloatArray

DRAWS = 400  # halves of the queries
DEEP = 2_000  # items of a ranking whose equals are turned round


def one_seed(evidence: Evidence) -> Worked:
    """Two settings by one seed after another: who wins depends on the seed."""
    weights = list(dict.fromkeys(run.method.get_params()["graph_weight"] for run in evidence.runs))
    by_weight = {
        weight: [run for run in evidence.runs if run.method.get_params()["graph_weight"] == weight]
        for weight in weights
    }
    seeds = [run.method.seed for run in by_weight[weights[0]]]
    a, b = (np.array([run.map(PICTURE) for run in by_weight[weight]]) for weight in weights)
    names = [f"α = {weight:g}" for weight in weights]
    gain = a - b
    ahead, behind = (names if gain.mean() >= 0 else names[::-1])[:2]
    against = int(np.count_nonzero(np.sign(gain) != np.sign(gain.mean())))
    return Worked(
        "seed",
        tuple(map(str, seeds)),
        tuple(Series(name, tuple(map(float, of))) for name, of in zip(names, (a, b), strict=True)),
        tuple(
            f"Seed {seed}: {names[0]} has {x:.3f}, {names[1]} has {y:.3f}; by this seed alone "
            f"{names[0] if x > y else names[1]} is better by {abs(x - y):.3f}."
            for seed, x, y in zip(seeds, a, b, strict=True)
        ),
        f"Over {len(seeds)} seeds {names[0]} has {a.mean():.3f} ± {a.std(ddof=1):.3f} and {names[1]} "
        f"{b.mean():.3f} ± {b.std(ddof=1):.3f}: {ahead} is ahead of {behind} by {abs(gain.mean()):.3f}, "
        f"while seeds of one and the same setting lie up to {max(np.ptp(a), np.ptp(b)):.3f} apart. In "
        f"{against} of {len(seeds)} seeds the other one wins, and who had run only that seed would have "
        "told the opposite with three decimals. Compare therefore draws a band of seeds, and tests over "
        "queries whether a difference is more than noise.",
        {},
    )


def ties(evidence: Evidence) -> Worked:
    """Equal distances: any order among them is as good, and gives another score."""
    runs = evidence.runs
    stops = tuple(str(run.method.bits) for run in runs)
    found = [run.scores[PICTURE].average_precision["found"] for run in runs]
    best, worst = tuple(score.best for score in found), tuple(score.worst for score in found)
    spread = [b - w for b, w in zip(best, worst, strict=True)]
    return Worked(
        "bits",
        stops,
        (
            Series("in database order", tuple(score.mean for score in found), band=(worst, best)),
            Series("best order", best),
            Series("worst order", worst),
        ),
        tuple(
            f"{stop} bits: {score.mean:.3f} in database order; another order of equals gives anything from "
            f"{score.worst:.3f} to {score.best:.3f}, {score.tie_aware:.3f} on average."
            for stop, score in zip(stops, found, strict=True)
        ),
        f"With {stops[0]} bits a query has only {int(stops[0]) + 1} different distances for "
        f"{len(evidence.split.train):,} items, so most of them are tied, and the database's own order "
        f"decides what comes first: mAP@100 could be {worst[0]:.3f} or {best[0]:.3f} with the very same "
        f"codes. With {stops[-1]} bits the room is {spread[-1]:.3f} instead of {spread[0]:.3f}. A file "
        "sorted by class would have given the best order for nothing. So ties are counted in database "
        "order here, and the range that they allow stands beside every score.",
        evidence.at_every_run(partial(_two_orders, evidence)),
    )


def _two_orders(evidence: Evidence, run: Seen, row: int) -> Walls:
    rows, distances = evidence.nearest(run, PICTURE, row, DEEP)
    turned = np.lexsort((-np.arange(len(rows)), np.array(distances)))
    equals = distances.count(distances[0])
    items = f"{equals} items are nearest" if equals > 1 else "one item is nearest"
    return (
        evidence.wall(f"In database order ({items})", rows[:SHOWN], row),
        evidence.wall("The same distances, equals turned round", [rows[k] for k in turned[:SHOWN]], row),
    )


def test_set(evidence: Evidence) -> Worked:
    """Keep the best of n by half of the queries: what one would report, and what fresh queries say."""
    by_query = np.array(
        [
            np.concatenate([run.scores[way].average_precision["found"].by_query for way in (TEXT, PICTURE)])
            for run in evidence.runs
        ]
    )
    tried = [n for n in (1, 2, 4, 8, 16, 32) if n <= len(by_query)]
    reported, fresh = np.array([choose_on_half(by_query, n) for n in tried]).T
    usual, last = float(by_query.mean()), tried[-1]
    flattery, gain = reported[-1] - fresh[-1], fresh[-1] - usual
    return Worked(
        "settings tried",
        tuple(map(str, tried)),
        (
            Series("on the queries it was chosen by", tuple(map(float, reported))),
            Series("on fresh queries", tuple(map(float, fresh))),
        ),
        tuple(
            f"The best of {n}: {a:.3f} on the queries it was chosen by, {b:.3f} on fresh ones; told too "
            f"much: {a - b:.3f}."
            for n, a, b in zip(tried, reported, fresh, strict=True)
        ),
        f"The {len(by_query)} runs are nearly the same: two settings with other seeds, {usual:.3f} on "
        f"average. Who keeps the best of {last} by its score on some queries reports {reported[-1]:.3f}, "
        f"and gets {fresh[-1]:.3f} on fresh ones: {flattery:.3f} of it is luck, and the true gain is "
        f"{gain:+.3f}. It grows with every setting tried, and no one sees it in the table. So "
        "one chooses on validation parts of the training rows, as Tune does, and looks at the queries once.",
        {},
    )


def choose_on_half(by_query: FloatArray, tried: int, draws: int = DRAWS) -> tuple[float, float]:
    """The mean score of the best of `tried` runs on the half of the queries that it was chosen by, and on the
    other half; over random runs and halves."""
    rng, queries = np.random.default_rng(0), by_query.shape[1]
    told = []
    for _ in range(draws):
        runs, order = rng.choice(len(by_query), tried, replace=False), rng.permutation(queries)
        seen, fresh = (by_query[np.ix_(runs, half)].mean(axis=1) for half in np.array_split(order, 2))
        told.append((seen.max(), fresh[seen.argmax()]))
    reported, true = np.mean(told, axis=0)
    return float(reported), float(true)

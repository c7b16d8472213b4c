"""Is a difference between two methods more than noise? A paired bootstrap over queries, in words.

Every method answers the same queries, so that a hard query is hard for both and drops out of the difference.
All pairs share the same resamples. The intervals of several pairs are widened (Bonferroni) so that all of
them together hold with the level asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from smfh.types import FloatArray, InputError

LEVEL = 0.95
RESAMPLES = 10_000
BLOCK_DRAWS = 1 << 22  # held at once
SEED_ERRORS = 2.0  # a difference below so many standard errors over seeds is not called a win


@dataclass(frozen=True)
class Difference:
    """The mean AP of one method less that of another, with what the choice of queries does to it."""

    first: str  # title of the better one
    second: str
    mean: float
    low: float  # of the interval
    high: float
    seed_error: float | None  # standard error over seeds; None where a method has a single one
    queries: int
    seeds: int  # the fewer of the two methods'
    level: float  # of all intervals together
    pairs: int  # that hold together with this level

    @property
    def beyond_queries(self) -> bool:
        """More than what the choice of queries can do."""
        return self.low > 0 or self.high < 0

    @property
    def is_clear(self) -> bool:
        """More than what queries and seeds can do."""
        return self.beyond_queries and abs(self.mean) > SEED_ERRORS * (self.seed_error or 0.0)


def compare_pairs(
    by_method: Mapping[str, FloatArray], level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> list[Difference]:
    """Every pair of methods, the better one first; the AP of each is (seeds, queries), the same queries."""
    _check(by_method, level)
    titles = list(by_method)
    AP = np.stack([values.mean(axis=0) for values in by_method.values()], axis=1)  # (queries, methods)
    means = resampled_means(AP, resamples, seed)
    pairs = list(combinations(np.argsort(-AP.mean(axis=0), kind="stable").tolist(), 2))
    tail = 100 * (1 - level) / len(pairs) / 2
    differences = []
    for i, j in pairs:
        a, b = by_method[titles[i]], by_method[titles[j]]
        # a value that was drawn, not one between two: few queries give few different means
        low, high = np.percentile(means[:, i] - means[:, j], [tail, 100 - tail], method="inverted_cdf")
        differences.append(
            Difference(
                first=titles[i],
                second=titles[j],
                mean=float(a.mean() - b.mean()),
                low=float(low),
                high=float(high),
                seed_error=_seed_error(a, b),
                queries=a.shape[1],
                seeds=min(len(a), len(b)),
                level=level,
                pairs=len(pairs),
            )
        )
    return differences


def resampled_means(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Means of each column over as many rows as there are, drawn with replacement; (resamples, columns).

    A resample is how often it draws each row, so that all columns are one product.
    """
    rng, rows = np.random.default_rng(seed), len(values)
    block = max(1, BLOCK_DRAWS // rows)
    means = []
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        drawn = rng.integers(rows, size=(size, rows)) + rows * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows)
        means.append(times.astype(np.float64) @ values / rows)
    return np.concatenate(means)


def _seed_error(a: FloatArray, b: FloatArray) -> float | None:
    """√(s_a²/n_a + s_b²/n_b) of the mAP of each seed."""
    if min(len(a), len(b)) < 2:
        return None
    return float(np.sqrt(sum(np.var(x.mean(axis=1), ddof=1) / len(x) for x in (a, b))))


def in_words(difference: Difference, where: str) -> str:
    """The finding as one sentence; `where` is such as "at 64 bits, text→image"."""
    first, second = difference.first, difference.second
    low, high = signed(difference.low), signed(difference.high)
    seeds = "1 seed" if difference.seeds == 1 else f"{difference.seeds} seeds"
    figures = (
        f"{signed(difference.mean)} ({100 * difference.level:g} % interval {low} to {high} "
        f"over {difference.queries:,} queries, {seeds})"
    )
    if difference.is_clear:
        return f"{first} beats {second} {where}: {figures}."
    told = f"{first} and {second} cannot be told apart {where}: {figures}"
    if difference.beyond_queries:
        told += f", and the seeds alone move it by ±{SEED_ERRORS * (difference.seed_error or 0):.3f}"
    return f"{told}."


def how_tested(differences: Sequence[Difference]) -> str:
    """What the intervals cover and what they do not, in words."""
    if not differences:
        return "A test needs two methods that are trained at this number of bits."
    first = differences[0]
    level = f"{100 * first.level:g} %"
    lines = [
        f"Each interval comes from {RESAMPLES:,} draws of as many queries with replacement, the same draws "
        "for every method; the AP of a query is its mean over seeds."
    ]
    if first.pairs > 1:
        single = 100 * (1 - (1 - first.level) / first.pairs)
        lines.append(
            f"{first.pairs} pairs are looked at together, so each interval is widened to {single:.2f} % "
            f"(Bonferroni): all of them hold at once with {level} or more. Other numbers of bits, directions "
            "and definitions are not counted."
        )
    of_seeds = f"What is less than {SEED_ERRORS:g} standard errors over seeds is not called a win."
    if any(difference.seeds == 1 for difference in differences):
        of_seeds = "With one seed the interval covers the choice of queries only, not that of the seed."
    return " ".join([*lines, of_seeds])


def signed(x: float) -> str:
    """Three decimals with a sign; what rounds to nothing has none."""
    text = f"{x:+.3f}".replace("-", "−")
    return text[1:] if text[1:] == "0.000" else text


def _check(by_method: Mapping[str, FloatArray], level: float) -> None:
    problems = [
        f"The AP of {name} must be seeds × queries with 2 queries or more; got shape {values.shape}."
        for name, values in by_method.items()
        if values.ndim != 2 or values.shape[0] < 1 or values.shape[1] < 2
    ]
    if len(by_method) < 2:
        problems.append(f"A comparison needs two methods; got {', '.join(by_method) or 'none'}.")
    queries = {name: values.shape[1] for name, values in by_method.items() if values.ndim == 2}
    if len(set(queries.values())) > 1:
        problems.append(f"All methods must answer the same queries; got {queries}.")
    if not 0 < level < 1:
        problems.append(f"A level lies between 0 and 1, such as {LEVEL}; got {level}.")
    if problems:
        raise InputError(problems)

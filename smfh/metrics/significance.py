"""Test whether a difference between two methods is more than noise: paired bootstrap over queries.

All methods use the same queries, so the effect of a query that is hard for both methods cancels out. All
pairs share the same resamples. With several pairs the intervals are widened (Bonferroni), so that the
confidence level applies to all pairs together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from smfh.types import FloatArray

LEVEL = 0.95
RESAMPLES = 10_000
BLOCK_DRAWS = 1 << 22  # random numbers in memory at once
MIN_SEED_ERRORS = 2.0  # a win must exceed this many standard errors over seeds


@dataclass(frozen=True)
class Difference:
    """The difference in mean AP between two methods, with its confidence interval over queries."""

    first: str  # title of the better method
    second: str
    mean: float
    low: float  # lower end of the confidence interval
    high: float  # upper end
    seed_error: float | None  # standard error over seeds; None if a method has a single seed
    queries: int
    seeds: int  # number of seeds of the method with fewer seeds
    level: float  # confidence level of all intervals together
    pairs: int  # number of pairs of methods that are compared together

    @property
    def beyond_queries(self) -> bool:
        """Whether the confidence interval over queries excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def is_clear(self) -> bool:
        """Whether the difference is more than noise from the choice of queries and of seeds."""
        return self.beyond_queries and abs(self.mean) > MIN_SEED_ERRORS * (self.seed_error or 0.0)


def compare_pairs(
    by_method: Mapping[str, FloatArray], level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
) -> list[Difference]:
    """Compare every pair of methods; in each Difference, the better method is the first.

    `by_method` maps the title of each method to its AP values, (seeds, queries).
    """
    titles = list(by_method)
    AP = np.stack([values.mean(axis=0) for values in by_method.values()], axis=1)  # (queries, methods)
    means = resampled_means(AP, resamples, seed)
    pairs = list(combinations(np.argsort(-AP.mean(axis=0), kind="stable").tolist(), 2))
    tail = 100 * (1 - level) / len(pairs) / 2
    differences = []
    for i, j in pairs:
        a, b = by_method[titles[i]], by_method[titles[j]]
        # inverted_cdf returns a value that occurs; with few queries there are few different values
        low, high = np.percentile(means[:, i] - means[:, j], [tail, 100 - tail], method="inverted_cdf")
        seeds, seed_error = min(len(a), len(b)), None
        if seeds > 1:  # √(s_a²/n_a + s_b²/n_b), with the variances s² of mAP over n seeds
            seed_error = float(np.sqrt(sum(np.var(x.mean(axis=1), ddof=1) / len(x) for x in (a, b))))
        differences.append(
            Difference(
                first=titles[i],
                second=titles[j],
                mean=float(a.mean() - b.mean()),
                low=float(low),
                high=float(high),
                seed_error=seed_error,
                queries=a.shape[1],
                seeds=seeds,
                level=level,
                pairs=len(pairs),
            )
        )
    return differences


def resampled_means(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    """Return the bootstrap means of each column: means over rows drawn with replacement.

    Each resample is a vector of counts per row, so that one matrix product gives the means of all columns.
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


def in_words(difference: Difference, where: str) -> str:
    """Describe the difference in one sentence; `where` is, for example, "at 64 bits, text → image"."""
    first, second = difference.first, difference.second
    low, high = signed(difference.low), signed(difference.high)
    seeds = "1 seed" if difference.seeds == 1 else f"{difference.seeds} seeds"
    figures = (
        f"{signed(difference.mean)} ({100 * difference.level:g} % interval {low} to {high} "
        f"over {difference.queries:,} queries, {seeds})"
    )
    if difference.is_clear:
        return f"{first} beats {second} {where}: {figures}."
    sentence = f"{first} and {second} cannot be told apart {where}: {figures}"
    if difference.beyond_queries:
        sentence += f"; seeds alone change it by ±{MIN_SEED_ERRORS * (difference.seed_error or 0):.3f}"
    return f"{sentence}."


def how_tested(differences: Sequence[Difference]) -> str:
    """Return sentences on how the confidence intervals were computed and what they do not cover."""
    if not differences:
        return "The test needs at least two methods that are trained with this number of bits."
    first = differences[0]
    level = f"{100 * first.level:g} %"
    lines = [
        f"Each interval is a bootstrap over queries with {RESAMPLES:,} resamples, the same for every method. "
        "The AP of a query is its mean over seeds."
    ]
    if first.pairs > 1:
        single = 100 * (1 - (1 - first.level) / first.pairs)
        lines.append(
            f"{first.pairs} pairs are compared, so each interval is widened to {single:.2f} % (Bonferroni); "
            f"together they have a confidence level of at least {level}. Other numbers of bits, directions "
            "and measures are not included."
        )
    of_seeds = f"A win must also exceed {MIN_SEED_ERRORS:g} standard errors over seeds."
    if any(difference.seeds == 1 for difference in differences):
        of_seeds = "With one seed, the interval reflects the choice of queries, but not the choice of the seed."
    return " ".join([*lines, of_seeds])


def signed(x: float) -> str:
    """Format a number with three decimals and a sign; 0.000 has no sign."""
    text = f"{x:+.3f}".replace("-", "−")
    return text[1:] if text[1:] == "0.000" else text

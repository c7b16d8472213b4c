"""Definitions of average precision and precision. Values of mAP by different definitions can differ tenfold.

No single score is enough. mAP@100 divided by the relevant items found can be high although most of the first
100 results are not relevant. Precision shows that, but ignores the order. mAP of the whole ranking counts
items that people never see. Therefore the scores of HEADLINE are always shown together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from smfh.types import InputError, IntArray, unknown

DivideBy = Literal["found", "capped", "all", "depth"]


@dataclass(frozen=True)
class APDefinition:
    """A definition of average precision (AP): its depth and its denominator.

    Parameters
    ----------
    top : int or None
        Number of results K that count; None for the whole ranking.
    divide_by : {"found", "capped", "all", "depth"}
        Denominator of the sum of precisions: the relevant items among the first K ("found"), min(R, K)
        ("capped") or R ("all"), with R relevant items in the database. "depth" defines P@K instead.

    Examples
    --------
    >>> APDefinition(50).label
    'mAP@50'
    >>> APDefinition(50, "capped").formula
    'AP@50 = Σ_(k≤50) P@k · rel(k) / min(R, 50)'
    """

    top: int | None = 100
    divide_by: DivideBy = "found"

    def __post_init__(self) -> None:
        problems: list[str] = []
        whole = isinstance(self.top, int | np.integer) and not isinstance(self.top, bool)
        if self.top is not None and (not whole or self.top < 1):
            problems.append(f"top must be a whole number from 1, or None for all items; got {self.top!r}.")
        if self.divide_by not in get_args(DivideBy):
            problems += unknown("denominator", self.divide_by, get_args(DivideBy)).problems
        if self.counts_hits and self.top is None:
            problems.append("Precision needs a depth, such as 100; over the whole ranking it equals chance.")
        if problems:
            raise InputError(problems)

    @property
    def counts_hits(self) -> bool:
        """Whether this is precision at K, which ignores the order of the first K results."""
        return self.divide_by == "depth"

    @property
    def label(self) -> str:
        """Name of the score as a mean over queries, such as "mAP@100", for axes and columns."""
        if self.counts_hits:
            return f"P@{self.top}"
        if self.top is None:
            return "mAP (whole ranking)"  # all three denominators equal R here
        return f"mAP@{self.top}" + ("" if self.divide_by == "found" else f" ({self.divide_by})")

    @property
    def words(self) -> str:
        """The definition in full sentences."""
        if self.counts_hits:
            return (
                f"The share of relevant items among the first {self.top} results of each query, averaged "
                "over all queries. A query without relevant items counts as 0."
            )
        if self.top is None:
            where, by = "in the whole ranking", "the number of relevant items in the database"
        else:
            where = f"among the first {self.top} results"
            by = {
                "found": "the number of relevant items found there",
                "capped": f"the number of relevant items in the database, at most {self.top}",
                "all": "the number of relevant items in the database",
            }[self.divide_by]
        return (
            f"Average precision of a query: the sum of the precisions at the relevant items {where}, divided "
            f"by {by}. mAP is the mean over all queries. A query without relevant items counts as 0."
        )

    @property
    def formula(self) -> str:
        """The definition as a formula in plain text; rel(k) is 1 if result k is relevant, else 0."""
        if self.top is None:
            return "AP = Σ_k P@k · rel(k) / R"
        K = self.top
        if self.counts_hits:
            return f"P@{K} = Σ_(k≤{K}) rel(k) / {K}"
        by = {"found": f"Σ_(k≤{K}) rel(k)", "capped": f"min(R, {K})", "all": "R"}[self.divide_by]
        return f"AP@{K} = Σ_(k≤{K}) P@k · rel(k) / {by}"

    @property
    def latex(self) -> str:
        """The definition as a formula in LaTeX."""
        if self.top is None:
            return r"\mathrm{AP} = \frac{1}{R} \sum_k P@k \cdot \mathrm{rel}(k)"
        K = self.top
        if self.counts_hits:
            return rf"P@{K} = \frac{{1}}{{{K}}} \sum_{{k \le {K}}} \mathrm{{rel}}(k)"
        found = rf"\sum_{{k \le {K}}} \mathrm{{rel}}(k)"
        by = {"found": found, "capped": rf"\min(R, {K})", "all": "R"}[self.divide_by]
        return rf"\mathrm{{AP}}@{K} = \frac{{\sum_{{k \le {K}}} P@k \cdot \mathrm{{rel}}(k)}}{{{by}}}"

    def denominator(self, found: IntArray, total: IntArray, items: IntArray) -> IntArray:
        """Return the denominator of each query's score, at least 1.

        It is Σ_(k≤K) rel(k) for "found", min(R, K) for "capped", R for "all" and min(N, K) for "depth", where
        the database has N items (`items`), R of them relevant (`total`).
        """
        by = {"found": found, "depth": items}.get(self.divide_by, total)
        if self.divide_by in ("capped", "depth") and self.top is not None:
            by = np.minimum(by, self.top)
        return np.maximum(by, 1)


AP_DEFINITIONS: Mapping[str, APDefinition] = MappingProxyType(
    {
        "found": APDefinition(),  # the definition of the paper
        "capped": APDefinition(divide_by="capped"),
        "all": APDefinition(divide_by="all"),
        "full": APDefinition(top=None, divide_by="all"),
        "precision": APDefinition(divide_by="depth"),
    }
)
HEADLINE = ("found", "full", "precision")  # always shown together

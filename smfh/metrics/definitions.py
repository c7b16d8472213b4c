"""Which score of a ranking is meant. On one ranking four that are all called mAP differ tenfold.

No single one tells all: mAP@100 divided by what was found there is high for a ranking with one of the best
class in front and a second class after it, most of which is wrong; precision sees that and no order; the
whole ranking sees what nobody looks at. So HEADLINE are told together.
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
    """How deep it looks, and what the sum of precisions is divided by; "depth" counts hits instead: P@K."""

    top: int | None = 100  # K; None: the whole ranking
    divide_by: DivideBy = "found"

    def __post_init__(self) -> None:
        problems: list[str] = []
        whole = isinstance(self.top, int | np.integer) and not isinstance(self.top, bool)
        if self.top is not None and (not whole or self.top < 1):
            problems.append(f"top must be a whole number from 1, or None for all items; got {self.top!r}.")
        if self.divide_by not in get_args(DivideBy):
            problems += unknown("denominator", self.divide_by, get_args(DivideBy)).problems
        if self.counts_hits and self.top is None:
            problems.append("Precision needs a depth, such as 100: of the whole ranking it is chance.")
        if problems:
            raise InputError(problems)

    @property
    def counts_hits(self) -> bool:
        """Precision at K: a hit counts 1 wherever it stands."""
        return self.divide_by == "depth"

    @property
    def label(self) -> str:
        """What an axis or a column calls the mean over queries."""
        if self.counts_hits:
            return f"P@{self.top}"
        if self.top is None:
            return "mAP (whole ranking)"  # all three denominators are R here
        return f"mAP@{self.top}" + ("" if self.divide_by == "found" else f" ({self.divide_by})")

    @property
    def words(self) -> str:
        """The definition as one sentence."""
        if self.counts_hits:
            return (
                f"For each query the share of relevant items among the first {self.top} answers, or all "
                "where there are fewer; a query with nothing relevant counts as 0, and P is the mean over "
                "all queries."
            )
        if self.top is None:
            where, by = "in the whole ranking", "by the number of relevant items in the database"
        else:
            where = f"among the first {self.top} answers"
            by = {
                "found": "by the number of relevant items found there",
                "capped": f"by the number of relevant items in the database, at most {self.top}",
                "all": "by the number of all relevant items in the database",
            }[self.divide_by]
        return (
            f"For each query the precisions at the relevant items {where} are added up and divided {by}, "
            "a query with nothing relevant counts as 0, and mAP is the mean over all queries."
        )

    @property
    def formula(self) -> str:
        """The definition as a line of text; rel(k) is 1 where the k-th answer is relevant."""
        if self.top is None:
            return "AP = Σ_k P@k · rel(k) / R"
        K = self.top
        if self.counts_hits:
            return f"P@{K} = Σ_(k≤{K}) rel(k) / {K}"
        by = {"found": f"Σ_(k≤{K}) rel(k)", "capped": f"min(R, {K})", "all": "R"}[self.divide_by]
        return f"AP@{K} = Σ_(k≤{K}) P@k · rel(k) / {by}"

    @property
    def latex(self) -> str:
        """The same as mathematics."""
        if self.top is None:
            return r"\mathrm{AP} = \frac{1}{R} \sum_k P@k \cdot \mathrm{rel}(k)"
        K = self.top
        if self.counts_hits:
            return rf"P@{K} = \frac{{1}}{{{K}}} \sum_{{k \le {K}}} \mathrm{{rel}}(k)"
        found = rf"\sum_{{k \le {K}}} \mathrm{{rel}}(k)"
        by = {"found": found, "capped": rf"\min(R, {K})", "all": "R"}[self.divide_by]
        return rf"\mathrm{{AP}}@{K} = \frac{{\sum_{{k \le {K}}} P@k \cdot \mathrm{{rel}}(k)}}{{{by}}}"

    def denominator(self, found: IntArray, total: IntArray, items: IntArray) -> IntArray:
        """found: Σ_(k≤K) rel(k); capped: min(R, K); all: R; depth: min(N, K). At least 1: above 0 is 0."""
        by = {"found": found, "depth": items}.get(self.divide_by, total)
        if self.divide_by in ("capped", "depth") and self.top is not None:
            by = np.minimum(by, self.top)
        return np.maximum(by, 1)


AP_DEFINITIONS: Mapping[str, APDefinition] = MappingProxyType(
    {
        "found": APDefinition(),  # the paper's
        "capped": APDefinition(divide_by="capped"),
        "all": APDefinition(divide_by="all"),
        "full": APDefinition(top=None, divide_by="all"),
        "precision": APDefinition(divide_by="depth"),
    }
)
HEADLINE = ("found", "full", "precision")  # told together wherever one of them is

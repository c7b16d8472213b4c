"""Scores of a search with all queries: average precision, curves, effect of ties, chance level."""

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from smfh.metrics.definitions import AP_DEFINITIONS, HEADLINE, APDefinition
from smfh.metrics.graded import RECALL_DEPTHS
from smfh.metrics.precision import average_precision, chance, chance_average_precision, tied_average_precision
from smfh.types import BoolArray, DistanceCounts, FloatArray, IntArray


def precision_curve(relevance: BoolArray) -> FloatArray:
    """Return P@k for k = 1 … depth as a mean over queries q: mean_q Σ_(i≤k) rel_q(i) / k."""
    queries, depth = relevance.shape
    return np.asarray(np.cumsum(relevance.sum(axis=0)) / (queries * np.arange(1, depth + 1)))


def recall_curve(relevance: BoolArray, total_relevant: IntArray) -> FloatArray:
    """Return R@k for k = 1 … depth: mean_q Σ_(i≤k) rel_q(i) / R_q over queries q, 0 where R_q = 0."""
    # einsum, because a matrix product would first convert the whole matrix to floats
    return np.cumsum(np.einsum("q,qk->k", 1 / np.maximum(total_relevant, 1), relevance)) / len(relevance)


@dataclass(frozen=True, eq=False)
class RadiusCurve:
    """Look-up within Hamming radius ρ = 0 … bits, as means over queries; arrays (bits + 1,)."""

    items: FloatArray  # number of items found
    hits: FloatArray  # share of queries that find a relevant item
    precision: FloatArray  # 0 if no item is found
    recall: FloatArray  # 0 if no item is relevant


def radius_curve(counts: DistanceCounts) -> RadiusCurve:
    """Return items, hits, precision and recall of a look-up within each radius ρ, as means over queries.

    A query finds items = Σ_(d≤ρ) items_d, of which relevant = Σ_(d≤ρ) relevant_d are relevant. It is a hit if
    relevant > 0; its precision is relevant / items, and its recall relevant / R.
    """
    items, relevant = np.cumsum(counts.items, axis=1), np.cumsum(counts.relevant, axis=1)
    return RadiusCurve(
        items=items.mean(axis=0),
        hits=np.mean(relevant > 0, axis=0),
        precision=np.mean(relevant / np.maximum(items, 1), axis=0),
        recall=np.mean(relevant / np.maximum(relevant[:, -1:], 1), axis=0),
    )


@dataclass(frozen=True, eq=False)
class APScore:
    """Average precision by one definition, with the effect of ties and the chance level."""

    definition: APDefinition
    by_query: FloatArray = field(repr=False)  # (queries,), ties in database order
    tie_aware: float  # mAP, mean over all orders of ties
    best: float  # mAP in the best order of ties
    worst: float  # mAP in the worst order of ties
    chance: float  # mAP of a random order

    @property
    def mean(self) -> float:
        """mAP: the mean of AP over queries, with ties in database order."""
        return float(self.by_query.mean())

    @property
    def margin(self) -> float:
        """Half the width of the 95 % confidence interval of mAP over queries: 1.96 s / √n."""
        n = len(self.by_query)
        return float(1.96 * self.by_query.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Scores of a search in one modality with all queries of another.

    Attributes
    ----------
    source, target : str
        Modality of the queries and modality of the database.
    protocol : str
        Which items form the database: "training" or "unseen".
    distance : str
        What the items are ranked by: "hamming" or "asymmetric".
    average_precision : mapping of str to APScore
        Keys as in AP_DEFINITIONS: "found" (the paper's mAP@100), "capped", "all", "full", "precision".
    precision, recall : array (depth,)
        P@K and R@K for K = 1 … depth, means over queries.
    chance_precision : float
        P@K of a random order, for any K.
    within : RadiusCurve
        Look-up within each Hamming radius, whichever distance the ranking uses.
    ndcg : array (queries,)
        NDCG@100 of each query; the gain of an item is the number of labels it shares with the query.
    partner_ranks : array (queries,) or None
        Rank, from 1, of the query's partner, which is the same item in the other modality; None unless all
        partners are in the database ("unseen").
    distinct_codes : int or None
        Number of different codes in the searched database; None for older saved scores.
    queries, queries_without_relevant : int
        Number of all queries, and of those without relevant items in the database, which count as 0.

    Examples
    --------
    >>> from smfh import DATASETS, METHODS, evaluate
    >>> data, split = DATASETS["planted"]().load()
    >>> hasher = METHODS["smfh-plus"](bits=16).fit(data.take(split.train))
    >>> scores = evaluate(hasher, data, split, "text", "image")
    >>> scores.mean_average_precision > scores.average_precision["found"].chance
    True
    """

    source: str
    target: str
    protocol: str
    distance: str
    average_precision: Mapping[str, APScore]
    precision: FloatArray
    recall: FloatArray
    chance_precision: float
    within: RadiusCurve
    ndcg: FloatArray
    partner_ranks: IntArray | None
    distinct_codes: int | None
    queries: int
    queries_without_relevant: int

    @property
    def search(self) -> tuple[str, str, str, str]:
        """The search that was scored: source, target, protocol and distance."""
        return self.source, self.target, self.protocol, self.distance

    @property
    def direction(self) -> str:
        """Modalities of queries and results, such as "text → image"."""
        return f"{self.source} → {self.target}"

    @property
    def bits(self) -> int:
        """Length of the codes in bits."""
        return len(self.within.items) - 1

    @property
    def mean_average_precision(self) -> float:
        """mAP@100 as in the paper: AP divides by the number of relevant items among the first 100."""
        return self.average_precision["found"].mean

    @property
    def precision_at_100(self) -> float:
        """P@100, or the precision over all items if the database has fewer than 100."""
        return self.average_precision["precision"].mean

    @property
    def ndcg_at_100(self) -> float:
        """NDCG@100, the mean over queries."""
        return float(self.ndcg.mean())

    @property
    def pair_retrieval(self) -> dict[str, float]:
        """R@1, R@5, R@10 and median rank of the partners, by name; empty if the partners are not searched."""
        if self.partner_ranks is None:
            return {}
        recall = {f"recall_at_{k}": float(np.mean(self.partner_ranks <= k)) for k in RECALL_DEPTHS}
        return recall | {"median_rank": float(np.median(self.partner_ranks))}

    @property
    def graded(self) -> dict[str, float]:
        """NDCG@100, the scores of `pair_retrieval` and the number of codes, by their names in GRADED."""
        codes = {} if self.distinct_codes is None else {"distinct_codes": self.distinct_codes}
        return {"ndcg_at_100": self.ndcg_at_100} | self.pair_retrieval | codes

    @property
    def headline(self) -> dict[str, float]:
        """mAP@100 ("found"), mAP of the whole ranking ("full") and P@100 ("precision")."""
        return {name: self.average_precision[name].mean for name in HEADLINE}

    def __repr__(self) -> str:
        shown = [self.average_precision[name] for name in HEADLINE if name in self.average_precision]
        values = "; ".join(
            f"{score.definition.label} {score.mean:.3f} (ties {score.worst:.3f} to {score.best:.3f}, "
            f"chance {score.chance:.3f})"
            for score in shown
        )
        values += f"; NDCG@100 {self.ndcg_at_100:.3f}"
        return f"<{self._title}: {values}>"

    def _repr_html_(self) -> str:
        """Return the scores as an HTML table, for notebooks."""
        head = "".join(f"<th>{name}</th>" for name in ("measure", "score", "worst ties", "best ties", "chance"))
        rows = "".join(
            f"<tr><td>{html.escape(score.definition.label)}</td>"
            + "".join(f"<td>{x:.3f}</td>" for x in (score.mean, score.worst, score.best, score.chance))
            + "</tr>"
            for score in self.average_precision.values()
        )
        return f"<table><caption>{html.escape(self._title)}</caption><tr>{head}</tr>{rows}</table>"

    @property
    def _title(self) -> str:
        codes = "" if self.distinct_codes is None else f", {self.distinct_codes:,} distinct codes"
        return (
            f"Scores {self.direction}, {self.protocol} items, {self.bits} bits, {self.distance} distance, "
            f"{self.queries:,} queries{codes}"
        )


class RankedQueries(NamedTuple):
    """The arrays from which scores are computed; each array has one row per query."""

    relevance: BoolArray  # (queries, depth), which of the first results are relevant
    within: IntArray  # (queries, 2, bits + 1), items and relevant items at each Hamming distance
    precision_sums: FloatArray  # (queries,), Σ_k P@k · rel(k) over the ranking of all items
    tied: FloatArray  # (queries, definitions, 3), expected, best and worst AP over all orders of ties
    ndcg: FloatArray  # (queries,)

    @classmethod
    def join(cls, blocks: Iterable[Self]) -> Self:
        """Concatenate blocks of queries."""
        return cls(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def measure_ties(
    blocks: Iterable[tuple[DistanceCounts, FloatArray]], definitions: Mapping[str, APDefinition]
) -> tuple[FloatArray, FloatArray]:
    """Return the fields `precision_sums` and `tied` of `RankedQueries` for all queries.

    Each block contains the counts by distance and the sums of precisions of some queries.
    """
    sums, tied = list[FloatArray](), list[FloatArray]()
    for counts, precision_sums in blocks:
        sums.append(precision_sums)
        own = (tied_average_precision(counts, definition) for definition in definitions.values())
        tied.append(np.stack([[one.expected, one.best, one.worst] for one in own]).transpose(2, 0, 1))
    return np.concatenate(sums), np.concatenate(tied)


def score(
    search: tuple[str, str, str, str],
    ranked: RankedQueries,
    partner_ranks: IntArray | None = None,
    definitions: Mapping[str, APDefinition] = AP_DEFINITIONS,
    distinct_codes: int | None = None,
) -> Scores:
    """Return all scores of a search; `search` is (source, target, protocol, distance)."""
    source, target, protocol, distance = search
    within = DistanceCounts(ranked.within[:, 0], ranked.within[:, 1])
    total, random = within.total_relevant, chance(within)
    scores = {}
    for (name, definition), tied in zip(definitions.items(), ranked.tied.transpose(1, 2, 0), strict=True):
        if definition.top is None:
            by_query: FloatArray = ranked.precision_sums / np.maximum(total, 1)
        else:
            by_query = average_precision(ranked.relevance, total, definition)
        scores[name] = APScore(
            definition=definition,
            by_query=by_query,
            tie_aware=float(tied[0].mean()),
            best=float(tied[1].mean()),
            worst=float(tied[2].mean()),
            chance=float(chance_average_precision(within, definition).mean()),
        )
    return Scores(
        source=source,
        target=target,
        protocol=protocol,
        distance=distance,
        average_precision=scores,
        precision=precision_curve(ranked.relevance),
        recall=recall_curve(ranked.relevance, total),
        chance_precision=float(np.mean(random.relevant / np.maximum(random.items, 1))),
        within=radius_curve(within),
        ndcg=ranked.ndcg,
        partner_ranks=partner_ranks,
        distinct_codes=distinct_codes,
        queries=len(ranked.relevance),
        queries_without_relevant=within.queries_without_relevant,
    )

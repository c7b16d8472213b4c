"""Every score in one table: published, measured, and what the features allow, each with its definition.

A score is a mean over seeds of one method in one setting, on one data set, with one length, in one direction,
by one measure, protocol and rule for ties. All of it is read from the headers of kept runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from smfh.comparison import setting_of
from smfh.datasets import DATASETS, DatasetSource
from smfh.evaluation import PROTOCOLS
from smfh.hashing import HashMethod
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.paper.plan import paper_method
from smfh.paper.published import COLUMNS, ENDS, ROW, TABLE_1, published_score
from smfh.paper.tables import DEFINITIONS
from smfh.runs import CeilingKey, KeptRuns, RunRecord
from smfh.runs.scores import FIGURES, finite

TIE_RULES: Mapping[str, str] = {
    "database": "Equal distances stand in database order.",
    "tie_aware": "Equal distances stand in any order, averaged over all of them.",
    "worst": "Equal distances: what is not relevant first.",
    "best": "Equal distances: what is relevant first.",
}
MEASURES = {definition: measure for measure, definition in DEFINITIONS.items()}  # the paper's names
Search = tuple[str, str, str]  # source, target, protocol


@dataclass(frozen=True)
class Entry:
    """One row of the leaderboard."""

    source: DatasetSource
    method: HashMethod  # with its length, and the first seed
    search: Search
    definition: str
    ties: str
    split: str  # fingerprint; "" where nothing was measured
    values: tuple[float, ...]  # a seed each; empty: published, and not measured yet
    chance: float | None
    published: float | None
    allowed: float | None  # by tuned classifiers on the same features; None where that was not measured

    @property
    def mean(self) -> float | None:
        return float(np.mean(self.values)) if self.values else None

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation over seeds."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else None

    @property
    def direction(self) -> str:
        return f"{self.search[0]} → {self.search[1]}"

    @cached_property
    def words(self) -> str:
        """What exactly is measured."""
        return f"{AP_DEFINITIONS[self.definition].words} {TIE_RULES[self.ties]} {PROTOCOLS[self.search[2]]}"


def leaderboard(store: KeptRuns, records: Sequence[RunRecord]) -> list[Entry]:
    """Every score of kept runs that their methods would yield again, then what is published besides."""
    groups: dict[tuple[DatasetSource, HashMethod, int, str, str], list[RunRecord]] = {}
    for record in sorted(records, key=lambda record: record.method.seed):
        if record.is_current:
            setting = setting_of(record.method)
            key = (record.source, setting, record.method.bits, record.key.data, record.key.split)
            groups.setdefault(key, []).append(record)
    measured = [entry for runs in groups.values() for entry in _entries(store, runs)]
    return [*measured, *_unmeasured(measured)]


def _entries(store: KeptRuns, runs: Sequence[RunRecord]) -> Iterable[Entry]:
    """Every search, measure and rule of the runs of one group, which differ in their seeds."""
    first = runs[0]
    ceiling = store.ceiling(CeilingKey(first.key.data, first.key.split))
    for search in first.searches:
        allowed = {} if ceiling is None else ceiling.scores.get(search, {})
        headers = [run.searches[search] for run in runs if search in run.searches]
        for definition in HEADLINE:
            chance = finite(headers[0]["figures"][definition][FIGURES.index("chance")])
            for ties in TIE_RULES:
                yield Entry(
                    source=first.source,
                    method=first.method,
                    search=search,
                    definition=definition,
                    ties=ties,
                    split=first.key.split,
                    values=tuple(_value(header, definition, ties) for header in headers),
                    chance=chance,
                    published=_published(first.source, first.method, search, definition, ties),
                    allowed=allowed.get(definition) if ties == "database" else None,
                )


def _value(header: Mapping[str, Mapping[str, Sequence[float]]], definition: str, ties: str) -> float:
    if ties == "database":
        return finite(header["headline"][definition])
    return finite(header["figures"][definition][FIGURES.index(ties)])


def _published(
    source: DatasetSource, method: HashMethod, search: Search, definition: str, ties: str
) -> float | None:
    """What the paper prints of it, which does not say how it breaks ties, beside the paper's own setting."""
    if search[2] != "training" or ties != "database" or definition not in MEASURES:
        return None
    if source != type(source)() or setting_of(method) != setting_of(paper_method(method.name, source.name)):
        return None
    row, direction = ROW.get(method.name, method.name), f"{search[0]}->{search[1]}"
    return published_score(source.name, direction, row, MEASURES[definition], method.bits)


def _unmeasured(measured: Sequence[Entry]) -> Iterable[Entry]:
    """The cells of the paper's Table 1 that stand beside no run yet."""
    there = {_cell(entry) for entry in measured if entry.published is not None}
    for dataset, by_direction in TABLE_1.items():
        for direction, rows in by_direction.items():
            for method, printed in rows.items():
                for (measure, bits), value in zip(COLUMNS, printed, strict=True):
                    setting = replace(paper_method(method, dataset), bits=bits)
                    search, definition = (*ENDS[direction], "training"), DEFINITIONS[measure]
                    entry = Entry(
                        DATASETS[dataset](),
                        setting,
                        search,
                        definition,
                        "database",
                        "",
                        (),
                        None,
                        value,
                        None,
                    )
                    if _cell(entry) not in there:
                        yield entry


def _cell(entry: Entry) -> tuple[str, str, int, Search, str]:
    return entry.source.name, entry.method.name, entry.method.bits, entry.search, entry.definition

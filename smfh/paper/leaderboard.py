"""Every score in one table: published, measured, and what the features allow, each with its definition.

A score is a mean over seeds of one method in one setting, on one data set, with one length, in one direction,
by one measure, protocol and rule for ties. All of it is read from the headers of kept runs.

A run of another split than its data set comes with, such as `compare --split random` keeps, is no
reproduction of the paper, and no link trains it again: `usual` has the fingerprints to tell it by.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from smfh.ceiling import Ceiling
from smfh.comparison import setting_of
from smfh.datasets import DATASETS, DatasetSource
from smfh.evaluation import PROTOCOLS
from smfh.hashing import HashMethod
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.paper.plan import paper_method
from smfh.paper.published import COLUMNS, ENDS, ROW, TABLE_1, published_score
from smfh.paper.tables import DEFINITIONS
from smfh.runs import CeilingKey, KeptRuns, RunKey, RunRecord
from smfh.runs.scores import FIGURES, finite

TIE_RULES: Mapping[str, str] = {
    "database": "Equal distances stand in database order.",
    "tie_aware": "Equal distances stand in any order, averaged over all of them.",
    "worst": "Equal distances: what is not relevant first.",
    "best": "Equal distances: what is relevant first.",
}
MEASURES = {definition: measure for measure, definition in DEFINITIONS.items()}  # the paper's names
Search = tuple[str, str, str]  # source, target, protocol
Fingerprints = tuple[str, str]  # of data and split
Usual = Mapping[DatasetSource, Fingerprints]  # what loading a data set yields where nothing else is asked for
OTHER_SPLIT, OTHER_DATA, NOT_KNOWN = "other split", "other version of the data", "split not known"
NOTHING, NOWHERE = Ceiling({}, ()), ("", "")  # where nothing was measured


@dataclass(frozen=True)
class Entry:
    """One row of the leaderboard."""

    source: DatasetSource
    method: HashMethod  # with its length, and the first seed
    search: Search
    definition: str
    ties: str
    unlike: str  # how the data differs from the usual, in words; "" where it does not
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


def usual_load(source: DatasetSource) -> Fingerprints:
    """By which runs of the usual split are known."""
    data, split = source.load()
    return data.fingerprint, split.fingerprint


def kept_ceilings(store: KeptRuns, records: Iterable[RunRecord], usual: Usual) -> dict[Fingerprints, Ceiling]:
    """What the features allow, of all data that anything was measured on or is usual."""
    known = {*usual.values(), *((record.key.data, record.key.split) for record in records)}
    found = {one: store.ceiling(CeilingKey(*one)) for one in known}
    return {one: ceiling for one, ceiling in found.items() if ceiling is not None}


def leaderboard(
    records: Sequence[RunRecord], usual: Usual, ceilings: Mapping[Fingerprints, Ceiling]
) -> list[Entry]:
    """Every score of kept runs that their methods would yield again, then what is published besides."""
    groups: dict[tuple[DatasetSource, HashMethod, int, str, str], list[RunRecord]] = {}
    for record in sorted(records, key=lambda record: record.method.seed):
        if record.is_current:
            setting = setting_of(record.method)
            key = (record.source, setting, record.method.bits, record.key.data, record.key.split)
            groups.setdefault(key, []).append(record)
    measured = [entry for runs in groups.values() for entry in _entries(runs, usual, ceilings)]
    return [*measured, *_unmeasured(measured, usual, ceilings)]


def told_unlike(source: DatasetSource, key: RunKey, usual: Usual) -> str:
    """How the data of a run differs from what its source loads by itself; "" where it does not."""
    if source not in usual:
        return NOT_KNOWN
    data, split = usual[source]
    return OTHER_SPLIT if key.split != split else OTHER_DATA if key.data != data else ""


def _entries(
    runs: Sequence[RunRecord], usual: Usual, ceilings: Mapping[Fingerprints, Ceiling]
) -> Iterable[Entry]:
    """Every search, measure and rule of the runs of one group, which differ in their seeds."""
    first = runs[0]
    unlike = told_unlike(first.source, first.key, usual)
    ceiling = ceilings.get((first.key.data, first.key.split), NOTHING)
    for search in first.searches:
        allowed = ceiling.scores.get(search, {})
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
                    unlike=unlike,
                    values=tuple(_value(header, definition, ties) for header in headers),
                    chance=chance,
                    published=None
                    if unlike
                    else _published(first.source, first.method, search, definition, ties),
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


def _unmeasured(
    measured: Sequence[Entry], usual: Usual, ceilings: Mapping[Fingerprints, Ceiling]
) -> Iterable[Entry]:
    """The cells of the paper's Table 1 that stand beside no run yet."""
    there = {_cell(entry) for entry in measured if entry.published is not None}
    for dataset, by_direction in TABLE_1.items():
        source = DATASETS[dataset]()
        ceiling = ceilings.get(usual.get(source, NOWHERE), NOTHING)
        for direction, rows in by_direction.items():
            for method, printed in rows.items():
                for (measure, bits), value in zip(COLUMNS, printed, strict=True):
                    setting = replace(paper_method(method, dataset), bits=bits)
                    search, definition = (*ENDS[direction], "training"), DEFINITIONS[measure]
                    entry = Entry(
                        source=source,
                        method=setting,
                        search=search,
                        definition=definition,
                        ties="database",
                        unlike="",
                        values=(),
                        chance=None,
                        published=value,
                        allowed=ceiling.scores.get(search, {}).get(definition),
                    )
                    if _cell(entry) not in there:
                        yield entry


def _cell(entry: Entry) -> tuple[str, str, int, Search, str]:
    return entry.source.name, entry.method.name, entry.method.bits, entry.search, entry.definition

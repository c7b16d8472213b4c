"""The leaderboard from kept runs: seeds together, every measure and rule, published and allowed beside."""

from dataclasses import replace

import numpy as np
import pytest

from smfh.ceiling import Ceiling
from smfh.comparison import Comparison, Grid, train_grid
from smfh.datasets import DATASETS, Planted
from smfh.hashing import CVH, make_method
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.paper import TABLE_1, paper_method
from smfh.paper.leaderboard import (
    NOT_KNOWN,
    OTHER_DATA,
    OTHER_SPLIT,
    TIE_RULES,
    _published,
    kept_ceilings,
    leaderboard,
    told_unlike,
    usual_load,
)
from smfh.runs import CeilingKey, RunStore, run_key

SOURCE = Planted(items=120)
ALLOWED = Ceiling({("text", "image", "training"): dict.fromkeys(AP_DEFINITIONS, 0.9)}, ("told",))


def entries_of(store, usual):
    records = store.records()
    return leaderboard(records, usual, kept_ceilings(store, records, usual))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """One method, two lengths, two seeds; and what the features allow."""
    store = RunStore(tmp_path_factory.mktemp("runs"))
    grid = Grid(Comparison(SOURCE, (CVH(),), (8, 16), 2), *SOURCE.load())
    assert train_grid(grid, store) == {}
    store.save_ceiling(grid.ceiling_key, ALLOWED)
    return store, entries_of(store, {SOURCE: usual_load(SOURCE)})


def test_every_search_measure_and_rule_of_every_length_has_a_row(kept):
    _, entries = kept
    measured = [entry for entry in entries if entry.values]
    assert len(measured) == 2 * (2 * 2) * len(HEADLINE) * len(TIE_RULES)  # lengths × searches × …
    assert {len(entry.values) for entry in measured} == {2}
    assert len({(e.method.bits, e.search, e.definition, e.ties) for e in measured}) == len(measured)


def test_the_numbers_are_those_of_the_runs(kept):
    store, entries = kept
    records = [record for record in store.records() if record.method.bits == 16]
    scores = [
        store.scores(record, *Planted(items=120).load(), "image", "text", "unseen") for record in records
    ]
    for entry in entries:
        if entry.values and entry.method.bits == 16 and entry.search == ("image", "text", "unseen"):
            precisions = [score.average_precision[entry.definition] for score in scores]
            figure = "mean" if entry.ties == "database" else entry.ties
            expected = [getattr(precision, figure) for precision in precisions]
            assert sorted(entry.values) == pytest.approx(sorted(expected))
            assert entry.mean == pytest.approx(np.mean(expected))
            assert entry.chance == pytest.approx(precisions[0].chance)


def test_what_the_features_allow_stands_beside_what_was_measured_alike(kept):
    for entry in kept[1]:
        is_alike = bool(entry.values) and entry.search == ("text", "image", "training")
        assert (entry.allowed == 0.9) == (is_alike and entry.ties == "database")


def test_the_paper_is_in_it_whether_measured_or_not(kept):
    unmeasured = [entry for entry in kept[1] if not entry.values]
    printed = sum(len(row) for by in TABLE_1.values() for rows in by.values() for row in rows.values())
    assert len(unmeasured) == printed
    smfh = next(
        e for e in unmeasured if (e.source.name, e.method.name, e.method.bits) == ("wiki", "smfh", 64)
    )
    assert smfh.published == 0.6602
    assert smfh.method == replace(paper_method("smfh", "wiki"), bits=64)


def test_published_stands_beside_the_setting_of_the_paper_alone():
    wiki, search = DATASETS["wiki"](), ("text", "image", "training")
    own = replace(paper_method("smfh", "wiki"), bits=64)
    assert _published(wiki, own, search, "found", "database") == 0.6602
    assert _published(wiki, replace(own, graph_weight=7.0), search, "found", "database") is None
    assert _published(wiki, own, search, "found", "best") is None
    assert _published(wiki, own, search, "full", "database") is None
    assert _published(wiki, own, (*search[:2], "unseen"), "found", "database") is None
    assert _published(wiki, make_method("smfh-plus", bits=64), search, "found", "database") is None


def test_every_row_says_its_definition(kept):
    entry = next(e for e in kept[1] if e.definition == "full" and e.ties == "tie_aware")
    assert AP_DEFINITIONS["full"].words in entry.words
    assert TIE_RULES["tie_aware"] in entry.words


def test_runs_of_an_older_algorithm_are_left_out(kept):
    store, _ = kept
    older = [replace(record, behaviour="older") for record in store.records()]
    assert not [entry for entry in leaderboard(older, {}, {}) if entry.values]


def test_a_run_of_another_split_stands_apart_and_says_so(tmp_path):
    """Its scores are no part of the usual split's mean."""
    store = RunStore(tmp_path)
    for split, seed in (("default", 0), ("random", 3)):
        grid = Grid(Comparison(SOURCE, (CVH(),), (8,), 1), *SOURCE.load(split, seed))
        assert train_grid(grid, store) == {}
    measured = [entry for entry in entries_of(store, {SOURCE: usual_load(SOURCE)}) if entry.values]
    assert {len(entry.values) for entry in measured} == {1}
    told = [entry.unlike for entry in measured]
    assert sorted(set(told)) == ["", OTHER_SPLIT]
    assert told.count("") == told.count(OTHER_SPLIT)


def test_what_differs_is_the_split_or_the_data_or_is_not_known():
    data, split = SOURCE.load()
    key, usual = run_key(data, split, CVH()), {SOURCE: usual_load(SOURCE)}
    assert told_unlike(SOURCE, key, usual) == ""
    assert told_unlike(SOURCE, replace(key, data="older"), usual) == OTHER_DATA
    assert told_unlike(SOURCE, replace(key, data="other", split="drawn"), usual) == OTHER_SPLIT
    assert told_unlike(SOURCE, key, {}) == NOT_KNOWN


def test_published_stands_beside_no_run_of_another_split(small_wiki, tmp_path):
    wiki, method = DATASETS["wiki"](), paper_method("cvh", "wiki")
    store, usual = RunStore(tmp_path / "runs"), {DATASETS["wiki"](): usual_load(DATASETS["wiki"]())}
    cell = ("text", "image", "training"), "found", "database", 32

    def printed() -> list[tuple[str, bool]]:
        """Beside which rows of a cell the paper's number stands: how they are unlike, whether measured."""
        return [
            (entry.unlike, bool(entry.values))
            for entry in entries_of(store, usual)
            if (entry.search, entry.definition, entry.ties, entry.method.bits) == cell
            and (entry.source.name, entry.method.name) == ("wiki", "cvh")
            and entry.published is not None
        ]

    other = Grid(Comparison(wiki, (method,), (32,), 1), *wiki.load("random", 3))
    assert train_grid(other, store) == {}
    assert printed() == [("", False)]  # in a row of its own
    assert train_grid(Grid(other.comparison, *wiki.load()), store) == {}
    assert printed() == [("", True)]
    usual.clear()
    assert printed() == [("", False)]


def test_what_the_features_allow_stands_beside_published_numbers_that_nobody_measured(small_wiki, tmp_path):
    wiki, store = DATASETS["wiki"](), RunStore(tmp_path / "runs")
    usual = {wiki: usual_load(wiki)}
    assert not [entry for entry in entries_of(store, usual) if entry.allowed is not None]
    store.save_ceiling(CeilingKey(*usual[wiki]), ALLOWED)
    for entry in entries_of(store, usual):
        is_it = entry.source == wiki and entry.search == ("text", "image", "training")
        assert (entry.allowed == 0.9) == is_it

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
from smfh.paper.leaderboard import TIE_RULES, _published, leaderboard
from smfh.runs import RunStore


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """One method, two lengths, two seeds; and what the features allow."""
    source, store = Planted(items=120), RunStore(tmp_path_factory.mktemp("runs"))
    grid = Grid(Comparison(source, (CVH(),), (8, 16), 2), *source.load())
    assert train_grid(grid, store) == {}
    allowed = dict.fromkeys(AP_DEFINITIONS, 0.9)
    store.save_ceiling(grid.ceiling_key, Ceiling({("text", "image", "training"): allowed}, ("told",)))
    return store, leaderboard(store, store.records())


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
    assert not [entry for entry in leaderboard(store, older) if entry.values]

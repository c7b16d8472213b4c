"""The leaderboard: measured scores of saved runs, published scores, and classifier scores."""

from dataclasses import replace

import numpy as np
import pytest

from smfh.datasets import DATASETS, Planted
from smfh.experiments.comparison import Comparison, Grid, train_grid
from smfh.hashing import CVH, make_method
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.paper import TABLE_1, paper_method
from smfh.paper.leaderboard import (
    TIE_RULES,
    classifier_levels,
    leaderboard,
    load_fingerprints,
    published_beside,
    ranked,
)
from smfh.retrieval.classifiers import ClassifierLevel
from smfh.runs import RunStore

SOURCE = Planted(items=120)
SEARCH = ("text", "image", "training")
LEVEL = ClassifierLevel(*({SEARCH: dict.fromkeys(AP_DEFINITIONS, level)} for level in (0.9, 0.8)), ("note",))


def entries_of(store, defaults):
    records = store.records()
    return leaderboard(records, defaults, classifier_levels(store, records, defaults))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Runs of one method with two code lengths and two seeds, and classifier scores."""
    store = RunStore(tmp_path_factory.mktemp("runs"))
    grid = Grid(Comparison(SOURCE, (CVH(),), (8, 16), 2), *SOURCE.load())
    assert train_grid(grid, store) == {}
    store.save_classifier_level(grid.classifier_key, LEVEL)
    return store, entries_of(store, {SOURCE: load_fingerprints(SOURCE)})


def test_each_search_definition_and_tie_rule_has_an_entry(saved):
    _, entries = saved
    measured = [entry for entry in entries if entry.values]
    assert len(measured) == 2 * (2 * 2) * len(HEADLINE) * len(TIE_RULES)  # lengths × searches × …
    assert {len(entry.values) for entry in measured} == {2}
    assert len({(e.method.bits, e.search, e.definition, e.ties) for e in measured}) == len(measured)


def test_values_are_the_scores_of_the_runs(saved):
    store, entries = saved
    records = [record for record in store.records() if record.method.bits == 16]
    scores = [store.scores(record, *Planted(items=120).load(), "image", "text", "unseen") for record in records]
    for entry in entries:
        if entry.values and entry.method.bits == 16 and entry.search == ("image", "text", "unseen"):
            precisions = [score.average_precision[entry.definition] for score in scores]
            figure = "mean" if entry.ties == "database" else entry.ties
            expected = [getattr(precision, figure) for precision in precisions]
            assert sorted(entry.values) == pytest.approx(sorted(expected))
            assert entry.mean == pytest.approx(np.mean(expected))
            assert entry.chance == pytest.approx(precisions[0].chance)
            assert entry.codes == np.mean([score.distinct_codes for score in scores])


def test_ranks_follow_the_means_and_what_seeds_explain_is_tied(saved):
    first = next(entry for entry in saved[1] if entry.values)
    scores = {8: (0.70, 0.71, 0.72), 9: (0.705, 0.71, 0.73), 10: (0.5, 0.5, 0.5), 11: (0.9, 0.9)}
    entries = [
        replace(first, method=replace(first.method, seed=seed), values=values) for seed, values in scores.items()
    ]
    places = [(place, entry.method.seed) for place, entry in ranked(entries)]
    assert places == [("1=", 9), ("1=", 8), ("3", 10)]  # two seeds are not enough
    low, high = entries[0].interval
    assert low == pytest.approx(0.71 - 4.303 * 0.01 / np.sqrt(3), abs=1e-4)
    assert high == pytest.approx(2 * 0.71 - low)
    assert not ranked([replace(entries[0], deviates="other split")])
    assert not ranked([replace(entries[0], is_repeatable=False)])
    assert not ranked(entries[:1], [(SOURCE, replace(first.method, seed=0))])  # as runs of a lesson
    assert not ranked([replace(entries[0], source=Planted(items=120, wrong_labels=0.3))])


def test_seeds_count_from_0_so_that_a_command_repeats_the_entry(saved):
    records = [record for record in saved[0].records() if record.method.bits == 8]
    measured = {}
    for seeds in ((0, 1, 2, 7), (3, 4, 5)):
        method = replace(records[0].method, seed=0)
        copies = [replace(records[0], key=replace(records[0].key, method=replace(method, seed=s))) for s in seeds]
        (measured[seeds],) = [
            entry
            for entry in leaderboard(copies, {SOURCE: load_fingerprints(SOURCE)}, {})
            if entry.values and (entry.search, entry.definition, entry.ties) == (SEARCH, "found", "database")
        ]
    assert (len(measured[0, 1, 2, 7].values), measured[0, 1, 2, 7].is_complete) == (3, True)
    assert (len(measured[3, 4, 5].values), measured[3, 4, 5].is_complete) == (3, False)


def test_published_scores_without_runs_are_included(saved):
    unmeasured = [entry for entry in saved[1] if not entry.values]
    printed = sum(len(row) for by in TABLE_1.values() for rows in by.values() for row in rows.values())
    assert len(unmeasured) == printed
    smfh = next(e for e in unmeasured if (e.source.name, e.method.name, e.method.bits) == ("wiki", "smfh", 64))
    assert smfh.published == 0.6602
    assert smfh.method == replace(paper_method("smfh", "wiki"), bits=64)


def test_published_scores_need_the_settings_of_the_paper():
    wiki, search = DATASETS["wiki"](), ("text", "image", "training")
    own = replace(paper_method("smfh", "wiki"), bits=64)
    assert published_beside(wiki, own, search, "found", "database") == 0.6602
    for other in (replace(own, graph_weight=7.0), make_method("smfh-plus", bits=64)):
        assert published_beside(wiki, other, search, "found", "database") is None
    unseen = ("text", "image", "unseen")
    for how in ((search, "found", "best"), (search, "full", "database"), (unseen, "found", "database")):
        assert published_beside(wiki, own, *how) is None


def test_runs_of_older_versions_are_left_out(saved):
    store, _ = saved
    older = [replace(record, method_version=0) for record in store.records()]
    assert not [entry for entry in leaderboard(older, {}, {}) if entry.values]


def test_published_scores_need_the_default_split(small_wiki, tmp_path):
    wiki, method = DATASETS["wiki"](), paper_method("cvh", "wiki")
    store, defaults = RunStore(tmp_path / "runs"), {DATASETS["wiki"](): load_fingerprints(DATASETS["wiki"]())}
    cell = ("text", "image", "training"), "found", "database", 32

    def printed() -> list[tuple[str, bool]]:
        """The entries of one cell with a published score: how they deviate, and whether they are measured."""
        return [
            (entry.deviates, bool(entry.values))
            for entry in entries_of(store, defaults)
            if (entry.search, entry.definition, entry.ties, entry.method.bits) == cell
            and (entry.source.name, entry.method.name) == ("wiki", "cvh")
            and entry.published is not None
        ]

    other = Grid(Comparison(wiki, (method,), (32,), 1), *wiki.load("random", 3))
    assert train_grid(other, store) == {}
    assert printed() == [("", False)]
    assert train_grid(Grid(other.comparison, *wiki.load()), store) == {}
    assert printed() == [("", True)]
    defaults.clear()
    assert printed() == [("", False)]

"""Scores by the share of corrupted training items: the grids, the points and the summary."""

import numpy as np
import pytest

from smfh.datasets import Planted
from smfh.experiments.comparison import Comparison, Grid, View, points, train_grid
from smfh.experiments.robustness import (
    clean_source,
    corrupted_grids,
    robustness_key,
    robustness_points,
    robustness_summary,
)
from smfh.hashing import CVH, SMFH
from smfh.runs import MemoryRuns
from smfh.types import InputError, Point

SOURCE = Planted(items=80, unpaired=0.1, corruption_seed=3)
COMPARISON = Comparison(SOURCE, (SMFH(iterations=3), CVH()), (8, 16), 2)
VIEW = View("text", "image", bits=8)


@pytest.fixture(scope="module")
def clean():
    return Grid(COMPARISON, *clean_source(SOURCE).load())


def test_each_share_has_the_data_that_its_source_loads(clean):
    grids = corrupted_grids(clean, "wrong_labels", (0.5, 0.0, 0.5))
    assert list(grids) == [0.0, 0.5]
    for share, grid in grids.items():
        source = grid.comparison.source
        assert source.corruptions == {"unpaired": 0.1} | ({"wrong_labels": share} if share else {})
        assert grid.data.fingerprint == source.load()[0].fingerprint
    assert robustness_key(grids) != robustness_key(corrupted_grids(clean, "wrong_labels", (0.0, 0.4)))


@pytest.mark.parametrize(
    ("corruption", "shares", "problem"),
    [("noise", (0, 1), "Unknown corruption 'noise'"), ("unpaired", (0.2, 0.2), "2 to 11 different shares; got 1")],
)
def test_unknown_corruptions_and_single_shares_are_refused(clean, corruption, shares, problem):
    with pytest.raises(InputError, match=problem):
        corrupted_grids(clean, corruption, shares)


def test_points_are_the_scores_of_each_share_at_one_code_length(clean):
    grids, store = corrupted_grids(clean, "wrong_labels", (0.0, 0.8)), MemoryRuns()
    for grid in grids.values():
        assert train_grid(grid, store) == {}
    found = robustness_points(grids, store, VIEW)
    assert [(point.at, point.method, len(point.values)) for point in found] == [
        (at, method, 2) for at in (0, 80) for method in ("smfh", "cvh")
    ]
    for share, grid in grids.items():
        own = {p.method: p.values for p in points(grid, store, VIEW) if p.at == 8}
        assert {p.method: p.values for p in found if p.at == 100 * share} == own
    scores = {(point.method, point.at): point.mean for point in found}
    assert scores["smfh", 80] < scores["smfh", 0]
    assert scores["cvh", 80] == pytest.approx(scores["cvh", 0])  # it does not use labels


def test_the_summary_names_the_best_and_who_keeps_most_and_least():
    curves = {"A": (0.8, 0.2), "B": (0.6, 0.3), "C": (0.25, 0.25)}
    found = [
        Point("", title, "text → image", at, tuple(np.atleast_1d(score)))
        for title, scores in curves.items()
        for at, score in zip((0, 60), scores, strict=True)
    ]
    assert robustness_summary(found, "wrong_labels", "mAP@100") == (
        "A is best with 0 % wrong labels, B with 60 % (text → image). At 60 %, B keeps 50 % of its mAP@100 "
        "(0.600 → 0.300); A keeps 25 % of its mAP@100 (0.800 → 0.200); C does not change."
    )
    assert robustness_summary(found[::2], "wrong_labels", "mAP@100") == ""  # a single share

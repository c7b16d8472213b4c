"""A small example and the empty case of every chart; names in them hold markup."""

from dataclasses import fields, is_dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from smfh.metrics import AP_DEFINITIONS, RankedQueries, Scores, measure_ties, score
from smfh.plots import CHARTS, Axis, Chart, Curve, Mark, Published, Tile, TrialDot
from smfh.types import DistanceCounts, Point, TrainingStep

MARKUP = "<i>name</i>"
DIRECTION = "text → image"
COUNTS = DistanceCounts(np.array([[1, 2, 5, 2], [0, 4, 4, 2]]), np.array([[1, 1, 0, 0], [0, 1, 2, 0]]))
CLASSES = (MARKUP, "dog", "cow")
NOTHING = np.zeros(0)
NO_ROWS = np.zeros(0, dtype=np.int64)
NO_MATRIX = np.zeros((0, 0))


def make_scores(seed: int = 0, source: str = "text", target: str = "image", bits: int = 8) -> Scores:
    """Of 6 queries in a database of 40 items, at random."""
    rng = np.random.default_rng(seed)
    distances = np.sort(rng.integers(0, bits + 1, (6, 40)), axis=1)
    relevance = rng.random((6, 40)) < 0.4
    relevance[:, 0] = True
    at = distances[:, :, None] == np.arange(bits + 1)  # (queries, items, distances)
    counts = DistanceCounts(at.sum(axis=1), (at & relevance[:, :, None]).sum(axis=1))
    sums = (np.cumsum(relevance, axis=1) / np.arange(1, 41) * relevance).sum(axis=1)
    sums, tied = measure_ties([(counts, sums)], AP_DEFINITIONS)
    within = np.stack([counts.items, counts.relevant], axis=1)
    ranked = RankedQueries(relevance, within, sums, tied, rng.random(6))
    return score((source, target, "training", "hamming"), ranked)


CURVES = (Curve("smfh", MARKUP, (make_scores(1), make_scores(2))), Curve("cvh", "CVH", (make_scores(3),), pinned=True))
STEPS = [TrainingStep(k, {MARKUP: 8.0 / k, "graph": 1.0}, 0.1) for k in (1, 2, 3)]
REFINED = [TrainingStep(k, {MARKUP: 20.0 - k, "graph": 1.0}, 0.2, "refinement") for k in (4, 5)]
POINTS = [Point("smfh", MARKUP, DIRECTION, bits, (0.4, 0.6), (0.3, 0.7), 0.1) for bits in (16, 32)]
DOTS = [
    TrialDot(
        k,
        {MARKUP: 10.0**row, "μ": 2.0**column},
        value := 0.5 + 0.1 * row - 0.05 * column,
        {MARKUP: value + 0.01, "P@100": value - 0.1},
        0.25,
        band=(value - 0.01, value + 0.01),
        stopped_early=k == 5,
        is_start=k == 0,
    )
    for k, (row, column) in enumerate(product(range(3), range(3)))
]
KNOBS = (Axis(MARKUP, log=True), Axis("μ", log=True))

# by the name of the chart: its arguments with data, and without
EXAMPLES: dict[str, tuple[tuple[object, ...], tuple[object, ...]]] = {
    "agreement": (([Published("smfh", MARKUP, DIRECTION, 32, 0.6, 0.59, MARKUP)], 0.03), ((), 0.03)),
    "along_stops": (
        ("α", ("0", MARKUP), [(MARKUP, (0.4, 0.6), ((0.3, 0.5), (0.5, 0.7)))], "score", 1),
        ("α", (), (), "score"),
    ),
    "answer_counts": (((MARKUP, "all"), (2, 5), 0), ((), ())),
    "bit_balance": ((np.array([0.5, 1.0]), np.array(["live", "dead"])), (NOTHING, np.array([], dtype=str))),
    "bit_classes": ((0, [(MARKUP, 0.5), ("dog", -0.5)]), (0, ())),
    "bit_correlation": ((np.array([[1, 0.5], [0.5, 1]]),), (NO_MATRIX,)),
    "bit_strips": ((np.array([True, False]), np.array([True, True])), (None, None)),
    "bit_tiles": (([Tile(3, "live", 0.5, (0,), MARKUP)], [MARKUP]), ((), ())),
    "bit_words": ((0, MARKUP, [(MARKUP, 1.0)]), (0, "text", ())),
    "bucket_sizes": ((np.array([3, 1]),), (NO_ROWS,)),
    "class_bits": ((np.eye(3), np.eye(3) - 0.5, CLASSES), (NO_MATRIX, NO_MATRIX, ())),
    "code_map": (
        ("PCA", np.eye(2), np.arange(2), np.arange(2), CLASSES, (MARKUP, "y"), 9, np.ones(2), np.array([1])),
        ("PCA", np.zeros((0, 2)), NO_ROWS, NO_ROWS, CLASSES, (), 0),
    ),
    "confusion": ((np.full((3, 3), 0.3), CLASSES, 10), (NO_MATRIX, (), 10)),
    "convergence": (([*STEPS, *REFINED], STEPS), ((),)),
    "distance_histogram": ((COUNTS, 1), (None,)),
    "hit_rate_by_radius": ((CURVES,), ((),)),
    "label_counts": ((np.array([3, 2, 1]), CLASSES), (NO_ROWS, ())),
    "label_pairs": ((np.ones((3, 3)), CLASSES), (NO_MATRIX, ())),
    "objective_at": ((STEPS, (0.2, 0.3, 0.4), 2), ((),)),
    "parameter_importance": (({MARKUP: 0.7, "μ": 0.3},), ({},)),
    "precision_at_k": ((CURVES,), ((),)),
    "precision_by_recall": ((CURVES,), ((),)),
    "recall_at_k": ((CURVES,), ((),)),
    "score_curves": ((POINTS,), ((),)),
    "size_by_radius": ((CURVES,), ((),)),
    "sweep_curve": (
        (DOTS, KNOBS[0], "mAP", (1.0, 10.0), (Mark(MARKUP, 2.0),), 2, {MARKUP: DOTS[3:]}),
        ((), KNOBS[0], "mAP"),
    ),
    "sweep_map": ((DOTS, *KNOBS, "mAP", 2), ((), *KNOBS, "mAP")),
    "trial_contour": ((DOTS, *KNOBS, "mAP", 2), ((), *KNOBS, "mAP")),
    "trial_densities": ((DOTS, KNOBS, "mAP"), ((), KNOBS, "mAP")),
    "trial_precision": (({MARKUP: (0.9, 0.8), "trial 2": (0.7,)}, (1, 10)), ({}, ())),
    "trial_front": (
        (DOTS, "seconds", "mAP", {1: (0.2, 0.5), 2: (0.3, 0.4)}, [1], 2, 1),
        ((), "seconds", "mAP", {}, ()),
    ),
    "trial_history": ((DOTS, "mAP", 2), ((), "mAP")),
    "trial_lines": ((DOTS, KNOBS, "mAP", 2), ((), KNOBS, "mAP")),
    "trial_slices": ((DOTS, KNOBS, "mAP", 2), ((), KNOBS, "mAP")),
}


def full(name: str, text: str = MARKUP) -> Chart:
    """The chart with this text for every name that comes from data."""
    return CHARTS[name](*_with(text, EXAMPLES[name][0]))


def _with(text: str, value: Any) -> Any:
    """The same value with the text in the place of the markup."""
    if isinstance(value, str):
        return value.replace(MARKUP, text)
    if isinstance(value, dict):
        return {_with(text, key): _with(text, own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with(text, own) for own in value)
    if is_dataclass(value):
        own = {f.name: _with(text, getattr(value, f.name)) for f in fields(value)}
        return replace(value, **own)
    return value


def empty(name: str) -> Chart:
    return CHARTS[name](*EXAMPLES[name][1])

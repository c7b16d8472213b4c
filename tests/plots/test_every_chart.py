"""One contract for every chart, with data and without."""

import csv
import io
import json

import numpy as np
import pytest

from smfh.evaluation import evaluate
from smfh.hamming import unpack
from smfh.hashing import SMFHPlus
from smfh.plots import (
    Measured,
    MethodCurve,
    Published,
    Run,
    agreement,
    bit_balance,
    bit_classes,
    bit_correlation,
    bit_words,
    bucket_sizes,
    class_bits,
    code_map,
    confusion,
    convergence,
    csv_of,
    curves_over_k,
    distance_histogram,
    hit_rate_by_radius,
    label_counts,
    label_pairs,
    precision_at_k,
    radius_over_seeds,
    recall_at_k,
    score_curves,
    size_by_radius,
)

NO_CODES = np.zeros((0, 8), dtype=bool)
NO_LABELS = np.zeros((0, 3), dtype=bool)
NO_ROWS = np.zeros(0, dtype=np.int64)
NO_ANSWERS = np.zeros((0, 10), dtype=np.int64)
CLASSES = ("a", "b", "c")
EMPTY = {
    "convergence": lambda: convergence(()),
    "precision": lambda: precision_at_k(()),
    "recall": lambda: recall_at_k(()),
    "hit rate": lambda: hit_rate_by_radius(()),
    "size": lambda: size_by_radius(()),
    "scores": lambda: score_curves(()),
    "agreement": lambda: agreement((), 0.03),
    "over K": lambda: curves_over_k("precision", (), "P@K"),
    "over radius": lambda: radius_over_seeds((), "ρ"),
    "balance": lambda: bit_balance(NO_CODES),
    "bit words": lambda: bit_words(0, "text", ()),
    "bit classes": lambda: bit_classes(0, ()),
    "buckets": lambda: bucket_sizes(np.zeros(0, dtype=np.int64)),
    "map": lambda: code_map("PCA", np.zeros((0, 2)), NO_ROWS, NO_ROWS, CLASSES, (), 0),
    "class bits": lambda: class_bits(NO_CODES, NO_LABELS, CLASSES),
    "correlation": lambda: bit_correlation(NO_CODES),
    "label counts": lambda: label_counts(NO_LABELS, CLASSES),
    "label pairs": lambda: label_pairs(NO_LABELS, CLASSES),
    "distances": lambda: distance_histogram(None),
    "confusion": lambda: confusion(NO_ANSWERS, NO_LABELS, NO_LABELS, CLASSES),
}


@pytest.fixture(scope="module")
def full(three_modalities):
    data, split = three_modalities
    hasher = SMFHPlus(bits=16, iterations=4, anchors=20).fit(data.take(split.train))
    results = [evaluate(hasher, data, split, *direction) for direction in hasher.directions]
    runs = [Run("smfh-plus", "SMFH+", result) for result in results]
    codes, labels = unpack(hasher.database_codes["image"], 16), data.labels
    both = labels | np.roll(labels, 1, axis=0)
    point = Measured("smfh", "SMFH", "text→image", 16, 0.5, 0.4, 0.6, 0.3, 0.7)
    curve = MethodCurve("smfh", "SMFH", np.arange(1.0, 4), np.array([[0.9, 0.5, 0.4], [0.7, 0.5, 0.2]]))
    ranking = results[0].ranking
    return {
        "convergence": convergence(hasher.trace),
        "precision": precision_at_k(runs),
        "recall": recall_at_k(runs),
        "hit rate": hit_rate_by_radius(runs),
        "size": size_by_radius(runs),
        "scores": score_curves([point]),
        "agreement": agreement([Published("smfh", "SMFH", "text→image", 32, 0.6, 0.59)], 0.03),
        "over K": curves_over_k("precision", [curve], "P@K"),
        "over radius": radius_over_seeds([curve], "ρ"),
        "balance": bit_balance(codes),
        "bit words": bit_words(0, "text", [("a", 1.0)]),
        "bit classes": bit_classes(0, [("a", 0.5), ("b", -0.5)]),
        "buckets": bucket_sizes(np.array([3, 1])),
        "map": code_map("PCA", np.eye(2), np.arange(2), np.arange(2), CLASSES, ("x", "y"), 9, np.ones(2)),
        "class bits": class_bits(codes, labels[split.train], data.class_names),
        "correlation": bit_correlation(codes),
        "label counts": label_counts(labels, data.class_names),
        "label pairs": label_pairs(both, data.class_names),
        "distances": distance_histogram(ranking.counts, radius=2),
        "confusion": confusion(ranking.indices, labels[split.queries], labels, data.class_names),
    }


@pytest.mark.parametrize("name", EMPTY)
def test_without_data_there_are_axes_and_a_note(name):
    chart = EMPTY[name]()
    figure = chart.figure()
    assert not figure.data
    assert len(figure.layout.annotations) == 1
    assert figure.layout.annotations[0].text.replace("<br>", " ") == chart.note
    assert figure.layout.xaxis.title.text
    assert chart.title
    assert chart.description
    assert chart.rows() == []


@pytest.mark.parametrize("name", EMPTY)
def test_with_data_it_looks_like_the_others(full, name):
    chart = full[name]
    figure = chart.figure()
    assert figure.data
    assert figure.layout.template.layout.paper_bgcolor == "rgba(0, 0, 0, 0)"
    assert figure.layout.meta["description"] == chart.description
    assert figure.layout.title.text.replace("<br>", " ") == chart.title
    assert figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text
    assert figure.layout.font.size >= 15
    assert not chart.figure(titled=False).layout.title.text
    json.loads(figure.to_json())


@pytest.mark.parametrize("name", EMPTY)
def test_an_update_keeps_what_the_reader_zoomed_and_hid(full, name):
    assert full[name].figure().layout.uirevision == EMPTY[name]().figure().layout.uirevision


@pytest.mark.parametrize("name", EMPTY)
def test_its_data_come_as_a_table(full, name):
    rows = full[name].rows()
    table = list(csv.DictReader(io.StringIO(csv_of(rows), newline="")))
    assert len(table) == len(rows) > 0
    assert list(table[0]) == list(rows[0])


def test_no_two_kinds_share_what_the_reader_zoomed(full):
    kinds = [chart.kind for chart in full.values()]
    assert len(set(kinds)) == len(kinds)

"""The scikit-learn estimator: scikit-learn's own checks, and the same codes and scores as the library."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import check_estimator

from smfh import DATASETS, SMFH, InputError, SMFHEstimator, SMFHPlus, evaluate
from smfh.experiments.tuning import Goal, Range, Studies, StudyPlan, levelled_folds, tune, validation_folds
from smfh.experiments.tuning.summary import standard_error
from smfh.hamming import unpack


@pytest.fixture
def table(planted):
    data, split = planted
    X = np.hstack([data.modalities["image"], data.modalities["text"]])
    columns = {"image": slice(0, 60), "text": slice(60, 100)}
    return X, data.labels, columns, split


def test_passes_the_checks_of_scikit_learn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = check_estimator(SMFHEstimator(method=SMFHPlus(bits=8, iterations=3)), on_fail=None)
    assert {one["check_name"] for one in outcomes if one["status"] != "passed"} <= {"check_array_api_input"}


def test_codes_and_score_equal_those_of_the_library(planted, table):
    data, split = planted
    X, labels, columns, _ = table
    hasher = SMFHPlus(bits=16).fit(data.take(split.train))
    estimator = SMFHEstimator(columns, SMFHPlus(bits=16), encode="text").fit(X[split.train], labels[split.train])
    queries = data.modalities["text"][split.queries]
    assert (estimator.transform(X[split.queries]) == unpack(hasher.encode("text", queries), 16)).all()
    scores = [evaluate(hasher, data, split, s, t).mean_average_precision for s, t in hasher.directions]
    assert estimator.score(X[split.queries], labels[split.queries]) == pytest.approx(np.mean(scores))


def test_grid_search_pipeline_and_data_frames(table):
    X, labels, columns, _ = table
    y = labels.argmax(axis=1)
    estimator = SMFHEstimator(columns, SMFH(bits=8, iterations=5))
    grid = {"method__bits": [2, 16], "method__graph_weight": [0.5, 2.0]}
    search = GridSearchCV(estimator, grid, cv=3).fit(X, y)
    assert search.best_params_["method__bits"] == 16
    assert cross_val_score(make_pipeline(MaxAbsScaler(), estimator), X, y, cv=3).min() > 0.5
    names = [f"image_{j}" for j in range(60)] + [f"text_{j}" for j in range(40)]
    frame, by_name = pd.DataFrame(X, columns=names), {"image": names[:60], "text": names[60:]}
    named = SMFHEstimator(by_name, SMFH(bits=8, iterations=5)).fit(frame, y)
    assert (named.transform(frame) == estimator.fit(X, y).transform(X)).all()
    with pytest.raises(InputError, match="no column 'sound_0'"):
        SMFHEstimator({"image": names[:60], "sound": ["sound_0"]}).fit(frame, y)


@pytest.mark.parametrize(("name", "meant"), [("alpha", "α is graph_weight"), ("m", "m is graph_sample")])
def test_a_symbol_as_keyword_names_the_parameter(name, meant):
    with pytest.raises(TypeError, match=meant):
        SMFHPlus(**{name: 3})
    with pytest.raises(InputError, match=meant):
        SMFHPlus().set_params(**{name: 3})
    with pytest.raises(InputError, match=meant.replace("is ", "is method__")):
        SMFHEstimator().set_params(**{name: 3})
    with pytest.raises(InputError, match=meant):
        GridSearchCV(SMFHEstimator(), {f"method__{name}": [3]}).fit(np.eye(12), np.tile([0, 1], 6))


def test_transform_gives_named_columns(table):
    X, labels, columns, _ = table
    estimator = SMFHEstimator(columns, SMFHPlus(bits=8, iterations=2)).set_output(transform="pandas")
    frame = estimator.fit(X, labels).transform(X)
    assert list(frame.columns) == [f"smfhestimator{bit}" for bit in range(8)]


def test_a_method_refuses_one_matrix_and_names_the_estimator(table):
    X, labels, _, _ = table
    with pytest.raises(InputError, match=r"use smfh\.SMFHEstimator"):
        SMFHPlus().fit(X, labels)


@pytest.mark.slow
def test_grid_search_finds_the_best_setting_of_a_sweep_within_its_error(tmp_path):
    """Bits × α on Wiki by scikit-learn alone and by Tune: the same grid, folds and goal."""
    wiki = DATASETS["wiki"]()
    if wiki.missing():
        pytest.skip("needs the Wiki data set; SMFH_DATA names its folder")
    method, bits = SMFHPlus(bits=16, anchors=50, iterations=3), Range("bits", 16, 64, whole=True, points=2)
    weights = Range("graph_weight", 0.35, 35, "log", points=3)
    plan = StudyPlan("both", (wiki,), method, (bits, weights), "sweep", goal=Goal("found"), folds=3)
    study = Studies(f"sqlite:///{tmp_path / 'studies.db'}").create(plan)
    tune(study)
    swept = {tuple(trial.parameters.values()): trial.values[0] for trial in study.trials}
    error = standard_error(levelled_folds(study))

    folds = validation_folds((wiki,), plan.folds)
    data = folds[0].data
    X, width = np.hstack(list(data.modalities.values())), next(iter(data.modalities.values())).shape[1]
    columns = dict(zip(data.modalities, (slice(0, width), slice(width, X.shape[1])), strict=True))
    grid = {"method__bits": bits.values, "method__graph_weight": weights.values}
    search = GridSearchCV(SMFHEstimator(columns, method), grid, cv=[(f.split.train, f.split.queries) for f in folds])
    search.fit(X, data.labels)
    found = search.best_params_["method__bits"], search.best_params_["method__graph_weight"]
    assert max(swept.values()) - swept[found] <= error
    assert search.best_score_ == pytest.approx(swept[found], abs=2 * error)

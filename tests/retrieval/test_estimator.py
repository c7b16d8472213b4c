"""The scikit-learn estimator: scikit-learn's own checks, and the same codes and scores as the library."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import check_estimator

from smfh import SMFH, InputError, SMFHEstimator, SMFHPlus, evaluate
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

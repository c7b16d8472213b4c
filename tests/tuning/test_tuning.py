"""The choice of weights on validation data alone."""

import numpy as np

from smfh.datasets.planted import Planted
from smfh.hashing import SMFHPlus
from smfh.tuning import TUNED, tune, validation_scores, validation_sets


def test_validation_never_touches_the_queries():
    source = Planted(items=120)
    _, split = source.load()
    parts = list(validation_sets([source], folds=3, seed=0))
    assert len(parts) == 3
    for part in parts:
        used = np.concatenate([part.split.train, part.split.queries])
        assert sorted(used) == sorted(split.train)
        assert not set(used) & set(split.queries)
    assert not np.array_equal(parts[0].split.queries, parts[1].split.queries)


def test_tuning_starts_from_the_given_weights_and_reports_paired_gains():
    sets = list(validation_sets([Planted(items=100), Planted(items=100, data_seed=1)], folds=1, seed=0))
    method = SMFHPlus(iterations=3, rounds=1, anchors=40)
    seen = []
    tuning = tune(method, sets, bits=[8], trials=4, on_trial=seen.append)
    assert len(seen) == len(tuning.trials) == 4
    assert tuning.start.parameters == {name: getattr(method, name) for name in TUNED}
    assert tuning.start.gain == 0
    best = tuning.trials[0]
    assert best.score == max(trial.score for trial in seen)
    again = validation_scores(SMFHPlus(iterations=3, rounds=1, anchors=40, **best.parameters), sets, [8])
    assert np.mean(list(again.values())) == best.score
    assert tune(method, sets, bits=[8], trials=4).trials == tuning.trials

"""Choices are made on training rows alone."""

from dataclasses import dataclass, replace

import numpy as np

from smfh.datasets import Planted
from smfh.tuning import Studies, tune, validation_sets
from smfh.types import MultimodalDataset


def test_validation_parts_are_training_rows_and_nothing_else():
    source = Planted(items=120)
    data, split = source.load()
    parts = list(validation_sets([source], folds=3))
    assert [part.fold for part in parts] == [0, 1, 2]
    for part in parts:
        assert len(part.data) == len(split.train)
        assert np.array_equal(part.data.labels, data.labels[split.train])
        assert sorted([*part.split.train, *part.split.queries]) == list(range(len(split.train)))
    assert not np.array_equal(parts[0].split.queries, parts[1].split.queries)


@dataclass(frozen=True)
class Scrambled(Planted):
    """The same training rows, but nonsense for queries."""

    def load(self, split="default", seed=0, on_progress=None):
        data, rows = super().load(split, seed)
        asks = super().load()[1].queries
        rng = np.random.default_rng(1)
        labels, modalities = data.labels.copy(), {}
        labels[asks] = labels[rng.permutation(asks)]
        for name, X in data.modalities.items():
            modalities[name] = X.copy()
            modalities[name][asks] = rng.random(modalities[name][asks].shape)
        return MultimodalDataset(self.name, modalities, labels, data.class_names, data.captions), rows


def test_a_study_is_the_same_whatever_the_queries_are(make_plan, address):
    found = []
    for source in (Planted(items=80), Scrambled(items=80)):
        assert not found or not np.array_equal(source.load()[0].labels, Planted(items=80).load()[0].labels)
        study = Studies(address).create(make_plan(name=type(source).__name__, sources=(source,), trials=5))
        tune(replace_sources(study, source))
        found.append([(trial.parameters, trial.values) for trial in study.trials])
    assert found[0] == found[1]


def replace_sources(study, source):
    """Its plan knows the data set by name alone."""
    study.plan = replace(study.plan, sources=(source,))
    return study

"""Saved classifier levels, and the cost of measuring one."""

import numpy as np
import pytest

from smfh.metrics import AP_DEFINITIONS
from smfh.retrieval.classifiers import ClassifierLevel
from smfh.runs import MemoryRuns, RunStore, classifier_level_key
from smfh.runs.limits import GB, Limits, check_classifier_cost, estimate_classifier_cost
from smfh.types import InputError, MultimodalDataset, Split

SEARCH = ("text", "image", "unseen")
LEVEL = ClassifierLevel(
    {SEARCH: {name: 0.1 * k for k, name in enumerate(AP_DEFINITIONS)}},
    {SEARCH: {name: 0.2 * k for k, name in enumerate(AP_DEFINITIONS)}},
    ("By trees.",),
)


@pytest.fixture
def key(planted):
    return classifier_level_key(*planted)


def test_a_saved_level_is_found_by_its_data_and_split(tmp_path, planted, key):
    data, split = planted
    store = RunStore(tmp_path)
    assert store.classifier_level(key) is None
    store.save_classifier_level(key, LEVEL)
    assert RunStore(tmp_path).classifier_level(key) == LEVEL
    other = Split(split.train[1:], split.queries)
    assert store.classifier_level(classifier_level_key(data, other)) is None
    assert store.classifier_level(classifier_level_key(data.take(np.arange(50)), split)) is None
    assert store.listing().runs == store.listing().damaged == ()
    runs = MemoryRuns()
    assert runs.classifier_level(key) is None
    runs.save_classifier_level(key, LEVEL)
    assert runs.classifier_level(key) == LEVEL


@pytest.mark.parametrize("content", [b"", b"{", b'{"searches": 3}', b'{"searches": [], "told": []}', b"\xff"])
def test_a_damaged_file_counts_as_missing(tmp_path, key, content):
    store = RunStore(tmp_path)
    store.save_classifier_level(key, LEVEL)
    (file,) = (tmp_path / "ceilings").iterdir()
    file.write_bytes(content)
    assert store.classifier_level(key) is None


def synthetic(items, dimensions, classes, several=False):
    labels = np.eye(classes, dtype=bool)[np.arange(items) % classes]
    if several:
        labels |= np.eye(classes, dtype=bool)[np.arange(1, items + 1) % classes]
    X = np.ones((items, dimensions), np.float32)
    split = Split(np.arange(items * 3 // 4), np.arange(items * 3 // 4, items))
    return MultimodalDataset("made", {"image": X, "text": X}, labels), split


def test_costly_classifiers_are_refused_with_the_cost(planted):
    check_classifier_cost(*planted, Limits(1, 2))
    many = synthetic(8_000, 20, 500, several=True)  # each leaf has yes and no of 500 classes
    assert estimate_classifier_cost(*many).bytes > 20 * GB
    with pytest.raises(InputError, match=r"would take about \d+\.\d GB and .* limit here is 4\.0 GB"):
        check_classifier_cost(*many, Limits(4, 60))

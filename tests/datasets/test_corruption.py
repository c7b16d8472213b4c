"""Corrupted training items: the right share of them, and nothing else, is changed."""

from dataclasses import replace

import numpy as np
import pytest

from smfh.datasets import CORRUPTIONS, corrupt
from smfh.datasets.planted import Planted
from smfh.hashing import METHODS
from smfh.retrieval.evaluation import evaluate
from smfh.types import InputError

SHARE = 0.3
each_corruption = pytest.mark.parametrize("name", CORRUPTIONS)


def dense(data):
    return {t: X.toarray() if hasattr(X, "toarray") else X for t, X in data.modalities.items()}


@each_corruption
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_corruption_follows_its_seed_and_leaves_queries_and_true_labels_alone(name, is_sparse):
    clean, split = Planted(sparse_text=is_sparse).load()
    data, changed = Planted(sparse_text=is_sparse, **{name: SHARE}).load()
    again, _ = Planted(sparse_text=is_sparse, **{name: SHARE}).load()
    other, rows = Planted(sparse_text=is_sparse, **{name: SHARE}, corruption_seed=1).load()
    assert data.fingerprint == again.fingerprint
    assert (data.fingerprint, changed.fingerprint) != (other.fingerprint, rows.fingerprint)
    assert np.array_equal(data.labels, clean.labels)
    assert np.array_equal(changed.queries, split.queries)
    for t, X in dense(data).items():
        assert np.array_equal(X[split.queries], dense(clean)[t][split.queries])


def test_wrong_labels_share_none_with_the_true_ones_and_larger_shares_contain_smaller_ones():
    data, split = Planted(labels_per_item=2).load()
    changed = []
    for share in (0.2, 0.6):
        wrong, _ = corrupt(data, split, {"wrong_labels": share})
        given = wrong.for_training().labels
        rows = np.flatnonzero((given != data.labels).any(axis=1))
        assert len(rows) == round(share * len(split.train))
        assert not (given & data.labels)[rows].any()
        assert set(rows) <= set(split.train)
        changed.append(set(rows))
    assert changed[0] < changed[1]


def test_unpaired_items_keep_their_first_modality_and_exchange_the_others():
    data, split = Planted(modalities=3).load()
    mixed, _ = corrupt(data, split, {"unpaired": SHARE})
    moved = np.flatnonzero((mixed.modalities["text"] != data.modalities["text"]).any(axis=1))
    assert len(moved) == round(SHARE * len(split.train))
    assert np.array_equal(mixed.modalities["image"], data.modalities["image"])
    for t in ("text", "sound"):
        assert np.array_equal(np.sort(mixed.modalities[t], axis=0), np.sort(data.modalities[t], axis=0))


@pytest.mark.parametrize("is_sparse", [False, True])
def test_an_item_with_a_missing_modality_keeps_the_others(is_sparse):
    data, split = Planted(sparse_text=is_sparse).load()
    before, after = dense(data), dense(corrupt(data, split, {"missing_modality": SHARE})[0])
    lost = np.stack([(before[t] != after[t]).any(axis=1) for t in before])
    assert lost.sum() == lost.any(axis=0).sum() == round(SHARE * len(split.train))
    assert lost.any(axis=1).all()
    for t, of_modality in zip(before, lost, strict=True):
        assert len(np.unique(after[t][of_modality], axis=0)) == 1


def test_unseen_classes_have_no_training_items_and_two_classes_stay():
    data, split = Planted(classes=5).load()
    for share, seen in ((0.4, 3), (1.0, 2)):
        _, left = corrupt(data, split, {"unseen_classes": share})
        assert data.labels[left.train].any(axis=0).sum() == seen
        assert data.labels[left.queries].any(axis=0).sum() == 5
    everywhere = replace(data, labels=np.hstack([np.ones((len(data), 1), bool), data.labels]), class_names=())
    with pytest.raises(InputError, match="leaves no training item"):
        corrupt(everywhere, split, {"unseen_classes": 0.7})


def test_training_uses_the_wrong_labels_and_scoring_the_true_ones():
    data, split = Planted(noise=0.5).load()
    wrong, _ = corrupt(data, split, {"wrong_labels": 0.8})
    method = METHODS["dch"](bits=16)
    clean_model, wrong_model = (method.fit(one.take(split.train)) for one in (data, wrong))
    by_hand = method.fit(replace(wrong, labels=wrong.training_labels, training_labels=None).take(split.train))
    for t, codes in wrong_model.database_codes.items():
        assert np.array_equal(codes, by_hand.database_codes[t])
        assert not np.array_equal(codes, clean_model.database_codes[t])
    scores = evaluate(wrong_model, wrong, split, "text", "image")
    assert scores.headline == evaluate(wrong_model, data, split, "text", "image").headline

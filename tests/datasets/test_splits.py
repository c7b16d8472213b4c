"""Splits: drawn, carved, and read from files."""

import numpy as np
import pytest
import scipy.io

from smfh.datasets import carve_validation, read_split, validation_as_queries
from smfh.datasets.planted import Planted
from smfh.datasets.splits import random_split, resolve_split
from smfh.types import InputError, Split


def test_validation_rows_come_from_the_training_rows():
    split = random_split(100, 0.8, seed=0)
    carved = carve_validation(split, 0.25, seed=1)
    assert len(carved.validation) == 20
    assert sorted(np.concatenate([carved.train, carved.validation])) == split.train.tolist()
    assert np.array_equal(carved.queries, split.queries)
    assert np.array_equal(validation_as_queries(carved).queries, carved.validation)


def test_the_default_is_the_official_split_if_there_is_one():
    official = Split(train=np.array([0, 1]), queries=np.array([2]))
    assert resolve_split("default", 0, 3, official) is official
    assert len(resolve_split("default", 0, 100).train) == 75
    with pytest.raises(InputError, match="no official split"):
        resolve_split("official", 0, 100)


def load_nothing():
    raise AssertionError("row numbers need no data")


def check(path, message=""):
    """The file has rows 4 and 2 for training, and query 1; or it is refused."""
    if message:
        with pytest.raises(InputError, match=message):
            read_split(path, load_nothing)
    else:
        split = read_split(path, load_nothing)
        assert (split.train.tolist(), split.queries.tolist()) == ([4, 2], [1])


def test_row_numbers_in_npz_are_counted_from_0(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, train=np.array([4, 2]), test=np.array([1]))
    check(path)
    np.savez(path, train=np.array([4, 2]), other=np.array([1]))
    check(path, r"lacks test; it has train \(2\), other \(1\)")
    np.savez(path, train=np.array([0.5]), test=np.array([1]))
    check(path, "whole numbers")
    path.write_bytes(b"PK not really")
    check(path, r"rows\.npz is ")


def test_row_numbers_in_mat_are_counted_from_1(tmp_path):
    path = tmp_path / "rows.mat"
    scipy.io.savemat(path, {"sampleInds": np.array([[5.0, 3.0]]), "queryInds": np.array([[2]])})
    check(path)
    scipy.io.savemat(path, {"train": np.array([0, 1]), "test": np.array([2])})
    check(path, "start at -1")


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_a_table_of_rows_and_parts(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    path.write_text("row\tpart\n4\tTrain\n1\ttest\n2\ttrain\n")
    check(path)
    path.write_text("row,part\n4,train\n1,tomorrow\n")
    check(path, "train or test; got 'tomorrow'")
    path.write_text("number,part\n4,train\n")
    check(path, "columns row and part; it has number, part")


@pytest.fixture
def shared(tmp_path):
    """The planted rows in another order, at unit length, as authors share them; and the order."""
    data, _ = Planted(items=120).load()
    order = np.random.default_rng(1).permutation(len(data))[:100]
    scaled = {t: X[order] / np.linalg.norm(X[order], axis=1, keepdims=True) for t, X in data.modalities.items()}
    parts = {"tr": slice(70), "te": slice(70, None)}
    variables = {f"{t[0].upper()}_{part}": scaled[t][rows] for t in scaled for part, rows in parts.items()}
    labels = data.labels[order].argmax(axis=1)[:, None] + 1
    variables |= {f"L_{part}": labels[rows] for part, rows in parts.items()}
    return data, order, variables, tmp_path / "shared.mat"


def test_rows_are_matched_whatever_their_order_and_length(shared):
    data, order, variables, path = shared
    scipy.io.savemat(path, variables)
    split = read_split(path, lambda: data)
    assert split.train.tolist() == order[:70].tolist()
    assert split.queries.tolist() == order[70:].tolist()


def test_rows_that_cannot_be_matched_are_refused(shared):
    data, _, variables, path = shared
    image, text = variables["I_te"], variables["T_te"]
    other = np.concatenate([image[:3], image[3:4, ::-1], image[4:]])
    twice = np.r_[:3, 2, 4 : len(image)]
    for changed, message in (
        ({"I_te": other}, r"Row 74 of shared\.mat is not in planted"),
        ({"I_te": image[twice], "T_te": text[twice]}, "or occurs twice"),
        ({name: X[:, :3] for name, X in variables.items()}, "both need a modality with the same"),
    ):
        scipy.io.savemat(path, variables | changed)
        with pytest.raises(InputError, match=message):
            read_split(path, lambda: data)

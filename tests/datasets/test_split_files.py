"""Splits from files: row numbers in four formats, and rows that are looked for."""

import numpy as np
import pytest
import scipy.io

from smfh.datasets import read_split
from smfh.datasets.planted import Planted
from smfh.types import InputError


def never():
    raise AssertionError("row numbers need no data")


def test_row_numbers_of_npz_are_counted_from_0(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, train=np.array([4, 2]), test=np.array([1]))
    split = read_split(path, never)
    assert split.train.tolist() == [4, 2]
    assert split.queries.tolist() == [1]
    np.savez(path, train=np.array([4, 2]), other=np.array([1]))
    with pytest.raises(InputError, match=r"lacks test; it has train \(2\), other \(1\)"):
        read_split(path, never)
    np.savez(path, train=np.array([0.5]), test=np.array([1]))
    with pytest.raises(InputError, match="whole numbers"):
        read_split(path, never)
    path.write_bytes(b"PK not really")
    with pytest.raises(InputError, match=r"rows\.npz is "):
        read_split(path, never)


def test_row_numbers_of_mat_are_counted_from_1(tmp_path):
    path = tmp_path / "rows.mat"
    scipy.io.savemat(path, {"sampleInds": np.array([[5.0, 3.0]]), "queryInds": np.array([[2], [1]])})
    split = read_split(path, never)
    assert split.train.tolist() == [4, 2]
    assert split.queries.tolist() == [1, 0]
    scipy.io.savemat(path, {"train": np.array([0, 1]), "test": np.array([2])})
    with pytest.raises(InputError, match="start at -1"):
        read_split(path, never)


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_a_table_of_rows_and_parts(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    path.write_text("row\tpart\n4\tTrain\n1\ttest\n2\ttrain\n")
    split = read_split(path, never)
    assert split.train.tolist() == [4, 2]
    assert split.queries.tolist() == [1]
    path.write_text("row,part\n4,train\n1,tomorrow\n")
    with pytest.raises(InputError, match="train or test; got 'tomorrow'"):
        read_split(path, never)
    path.write_text("number,part\n4,train\n")
    with pytest.raises(InputError, match="columns row and part; it has number, part"):
        read_split(path, never)


@pytest.fixture
def shared(tmp_path):
    """The planted rows in another order, at unit length, as authors share them; and the order."""
    data, _ = Planted(items=120).load()
    order = np.random.default_rng(1).permutation(len(data))[:100]
    scaled = {
        t: X[order] / np.linalg.norm(X[order], axis=1, keepdims=True) for t, X in data.modalities.items()
    }
    parts = {"tr": slice(70), "te": slice(70, None)}
    variables = {f"{t[0].upper()}_{part}": scaled[t][rows] for t in scaled for part, rows in parts.items()}
    labels = data.labels[order].argmax(axis=1)[:, None] + 1
    variables |= {f"L_{part}": labels[rows] for part, rows in parts.items()}
    return data, order, variables, tmp_path / "shared.mat"


def test_rows_are_found_again_whatever_their_order_and_length(shared):
    data, order, variables, path = shared
    scipy.io.savemat(path, variables)
    split = read_split(path, lambda: data)
    assert split.train.tolist() == order[:70].tolist()
    assert split.queries.tolist() == order[70:].tolist()


def test_rows_that_are_not_there_are_refused(shared):
    data, _, variables, path = shared
    changed = variables["I_te"].copy()
    changed[3] = changed[3, ::-1]
    scipy.io.savemat(path, variables | {"I_te": changed})
    with pytest.raises(InputError, match=r"Row 74 of shared\.mat is not a row of planted"):
        read_split(path, lambda: data)
    twice = variables["I_te"].copy(), variables["T_te"].copy()
    for part in twice:
        part[3] = part[2]
    scipy.io.savemat(path, variables | {"I_te": twice[0], "T_te": twice[1]})
    with pytest.raises(InputError, match="or is there twice"):
        read_split(path, lambda: data)
    narrow = {name: X[:, :3] for name, X in variables.items()}
    scipy.io.savemat(path, narrow)
    with pytest.raises(InputError, match="must share a modality of the same"):
        read_split(path, lambda: data)

"""Conversion of features and labels in all common forms."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from smfh.types import InputError, MultimodalDataset, as_labels, as_matrix

COUNTS = np.array([[0, 2, 0], [1, 0, 3], [0, 0, 0], [4, 0, 5]])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("form", ["array", "matrix"])
def test_sparse_matrices_of_every_kind_become_csr(kind, form):
    X = as_matrix("text", getattr(sparse, f"{kind}_{form}")(COUNTS.astype(np.float32)))
    assert isinstance(X, sparse.csr_array)
    assert X.dtype == np.float32
    assert X.toarray().tolist() == COUNTS.tolist()


def test_duplicate_cells_of_a_sparse_matrix_are_summed():
    twice = sparse.csr_array((np.ones(2, dtype=np.float32), [1, 1], [0, 2, 2]), shape=(2, 3))
    assert as_matrix("text", twice).data.tolist() == [2]
    assert twice.data.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("given", "kept"), [("f4", "f4"), ("f8", "f8"), ("g", "f4"), ("i8", "f4"), ("u1", "f4"), ("?", "f4")]
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, pd.DataFrame, np.ndarray.tolist])
def test_float32_and_float64_stay_and_other_numbers_become_float32(given, kept, form):
    X = as_matrix("image", form((COUNTS > 0).astype(given)))
    assert X.dtype == (kept if form is not np.ndarray.tolist else X.dtype)
    assert (X.toarray() if sparse.issparse(X) else X).tolist() == (COUNTS > 0).tolist()


@pytest.mark.parametrize(
    "given", [COUNTS * 1j, COUNTS.astype(str), COUNTS[0], None, [[1], [1, 2]], pd.DataFrame({"a": ["x"]})]
)
def test_other_things_than_real_matrices_are_rejected(given):
    with pytest.raises(InputError):
        as_matrix("image", given)


def test_nothing_is_copied_and_only_the_view_is_read_only():
    dense, thin = COUNTS.astype(np.float32), sparse.csr_array(COUNTS.astype(np.float64))
    labels = np.eye(4, dtype=bool)
    data = MultimodalDataset("own", {"image": dense, "text": thin}, labels)
    for ours, theirs in (
        (data.modalities["image"], dense),
        (data.modalities["text"].data, thin.data),
        (data.modalities["text"].indices, thin.indices),
        (data.modalities["text"].indptr, thin.indptr),
        (data.labels, labels),
    ):
        assert np.shares_memory(ours, theirs)
        assert theirs.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            ours[0] = 1


MULTI_HOT = np.array([[1, 0], [1, 1], [0, 0], [0, 1]])


@pytest.mark.parametrize("kind", [bool, int, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.coo_array, pd.DataFrame])
def test_multi_hot_labels_in_every_form(form, kind):
    labels, names = as_labels(form(MULTI_HOT.astype(kind)))
    assert labels.dtype == np.bool_
    assert labels.tolist() == MULTI_HOT.astype(bool).tolist()
    assert names == ("0", "1")


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["dog", "cat", "dog"], ("cat", "dog")),
        (np.array(["dog", "cat", "dog"], dtype=object), ("cat", "dog")),
        (np.array(["dog", "cat", "dog"], dtype=np.dtypes.StringDType()), ("cat", "dog")),
        (pd.Series(["dog", "cat", "dog"], dtype="category"), ("cat", "dog")),
        ([11, 7, 11], ("7", "11")),
        (pd.Series([11, 7, 11], dtype="Int64"), ("7", "11")),
        ([11.0, 7.0, 11.0], ("7", "11")),
        ([True, False, True], ("False", "True")),
    ],
)
def test_one_class_per_item(given, names):
    labels, found = as_labels(given)
    assert found == names
    assert labels.tolist() == [[False, True], [True, False], [False, True]]


@pytest.mark.parametrize(
    "given", [[[2, 0], [0, 1]], [[0.5, 0.5]], [0.5, 1.0], [np.nan, 1.0], ["a", None], [1j, 2j], None, [["a"]]]
)
def test_invalid_labels_are_rejected(given):
    with pytest.raises(InputError, match=r"Labels must be|The class of each item must be"):
        as_labels(given)

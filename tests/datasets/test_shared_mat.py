"""MIRFlickr-25K and IAPR TC-12 on miniatures in their usual layouts."""

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from smfh.datasets import DATASETS
from smfh.datasets.shared_mat import SharedMat
from smfh.hashing import CVH
from smfh.types import InputError, Split

SETS = [name for name, source in DATASETS.items() if issubclass(source, SharedMat)]
each_set = pytest.mark.parametrize("name", SETS)


@each_set
def test_the_split_of_the_file_is_the_official_one(name, shared_file, miniature, in_parts):
    source, (image, text, labels) = DATASETS[name](), miniature
    scipy.io.savemat(shared_file, in_parts | {"V_tr": image[:30], "V_te": image[30:], "param": {"bits": 16}})
    assert source.missing() == []
    data, split = source.load()
    assert data.name == name
    assert list(data.modalities) == ["image", "text"]
    np.testing.assert_array_equal(data.modalities["image"], image.astype(np.float32))
    np.testing.assert_array_equal(data.modalities["text"], text)
    np.testing.assert_array_equal(data.labels, labels > 0)
    assert data.class_names == ("1", "2", "3", "4", "5")
    np.testing.assert_array_equal(split.train, np.arange(30))
    np.testing.assert_array_equal(split.queries, np.arange(30, 40))
    again, drawn = source.load("random", seed=1)
    assert (len(drawn.train), len(drawn.queries)) == (30, 10)
    assert not np.array_equal(drawn.train, split.train)
    assert again.fingerprint == data.fingerprint
    given = Split(np.arange(5), np.arange(5, 9))
    assert source.load(given)[1] is given
    hasher = CVH(bits=8).fit(data.take(split.train))
    assert len(hasher.search("text", data.modalities["text"][split.queries], "image").rows) == 10


@each_set
def test_a_file_without_a_split_with_sparse_and_signed_features(name, shared_file, miniature):
    image, text, _ = miniature
    classes = np.arange(40)[:, None] % 3 + 1
    scipy.io.savemat(shared_file, {"XAll": image - 0.5, "YAll": sparse.csc_array(text), "LAll": classes})
    data, split = DATASETS[name]().load()
    np.testing.assert_allclose(data.modalities["image"], image - 0.5, rtol=1e-6)  # signs are not split
    assert isinstance(data.modalities["text"], sparse.csr_array)
    np.testing.assert_array_equal(data.labels, classes == [1, 2, 3])
    assert (len(split.train), len(split.queries)) == (30, 10)


@each_set
def test_problems_of_the_file_are_described(name, shared_file, in_parts):
    source, path = DATASETS[name](), shared_file
    assert path.name in source.missing()[0]
    with pytest.raises(InputError, match="needs"):
        source.load()
    in_parts["I_te"][2, 1] = np.nan
    scipy.io.savemat(path, in_parts)
    with pytest.raises(InputError, match=r"Row 33 of .*: image has NaN"):
        source.load()

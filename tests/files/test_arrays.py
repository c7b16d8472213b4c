"""What is written is read, and a failed write changes nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from smfh.files import read_npz, write_npz

arrays = hnp.arrays(
    dtype=st.sampled_from([np.float32, np.float64, np.uint64, np.int8, np.bool_]),
    shape=hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4),
)


@settings(max_examples=50, deadline=None)
@given(array=arrays, column_major=st.booleans())
def test_what_is_written_is_read(array, column_major, tmp_path_factory):
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    write_npz(path, {"a": np.asfortranarray(array) if column_major else array, "b": np.arange(3)})
    back = read_npz(path)
    assert back["b"].tolist() == [0, 1, 2]
    assert back["a"].dtype == array.dtype
    np.testing.assert_array_equal(back["a"], array)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, {"a": np.arange(3)})
    with pytest.raises(ValueError, match="Object arrays"):
        write_npz(path, {"a": np.array([{}], dtype=object)})
    assert read_npz(path)["a"].tolist() == [0, 1, 2]
    assert list(tmp_path.iterdir()) == [path]

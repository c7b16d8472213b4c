"""The .npz reader, handed what nobody should be handed."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from smfh.npz import MAX_MEMBERS, read_npz, write_npz
from smfh.types import InputError

arrays = hnp.arrays(
    dtype=st.sampled_from([np.float32, np.float64, np.uint64, np.int8, np.bool_]),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


def stored(**members: bytes) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    file.seek(0)
    return file


def npy(array, **options) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


@settings(max_examples=50, deadline=None)
@given(array=arrays, column_major=st.booleans())
def test_what_is_written_is_read(array, column_major, tmp_path_factory):
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    write_npz(path, {"a": np.asfortranarray(array) if column_major else array, "b": np.arange(3)})
    back = read_npz(path)
    assert back["b"].tolist() == [0, 1, 2]
    assert back["a"].dtype == array.dtype
    np.testing.assert_array_equal(back["a"], array)


def test_a_header_that_asks_for_terabytes_gets_nothing():
    honest = npy(np.zeros(4))
    lying = honest.replace(b"'shape': (4,), }" + b" " * 12, b"'shape': (400000000000,), }" + b" ")
    assert len(lying) == len(honest)
    tracemalloc.start()
    with pytest.raises(InputError, match="promises 3200000000000 bytes"):
        read_npz(stored(**{"a.npy": lying}))
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_pickled_objects_are_never_opened():
    file = stored(**{"a.npy": npy(np.array([{}], dtype=object), allow_pickle=True)})
    with pytest.raises(InputError, match="Python objects"):
        read_npz(file)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"a.npy": b"not an array"}, "cannot be read"),
        ({"a.npy": b""}, "cannot be read"),
        ({"a.txt": b"hello"}, "not a .npy array"),
        ({"../../a": npy(np.zeros(1))}, "not a .npy array"),
        ({f"{i}.npy": npy(np.zeros(1)) for i in range(MAX_MEMBERS + 1)}, "at most"),
        ({"a.npy": npy(np.zeros(9), version=(3, 0))}, "1.0 and 2.0"),
        ({"a.npy": npy(np.zeros(9))[:-1]}, "damaged"),
    ],
)
def test_strange_archives_are_refused_by_name(members, message):
    with pytest.raises(InputError, match=message):
        read_npz(stored(**members))


def test_a_bomb_is_refused_before_it_is_unpacked():
    bomb = stored(**{"a.npy": npy(np.zeros(4_000_000))})
    assert bomb.getbuffer().nbytes < 100_000
    with pytest.raises(InputError, match="would need 30 MB; at most 1 MB"):
        read_npz(bomb, max_bytes=1 << 20)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_damage_anywhere_is_an_input_error_or_harmless(data):
    whole = stored(**{"a.npy": npy(np.arange(50.0)), "b.npy": npy(np.arange(5))}).getvalue()
    cut = data.draw(st.integers(0, len(whole)))
    byte = data.draw(st.integers(0, 255))
    broken = whole[:cut] + bytes([byte]) + whole[cut + 1 :]
    try:
        read_npz(io.BytesIO(broken))
    except InputError as error:
        assert "The file" in str(error)  # noqa: PT017
    with pytest.raises(InputError):
        read_npz(io.BytesIO(whole[: cut // 2]))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, {"a": np.arange(3)})
    with pytest.raises(ValueError, match="Object arrays"):
        write_npz(path, {"a": np.array([{}], dtype=object)})
    assert read_npz(path)["a"].tolist() == [0, 1, 2]
    assert list(tmp_path.iterdir()) == [path]

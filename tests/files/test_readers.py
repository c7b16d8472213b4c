"""Readers return what was written; hostile files are refused in plain words and in little memory."""

import csv
import errno
import io
import json
import pickle
import struct
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import scipy.io
from campaign.cases import measure
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pyarrow import parquet
from scipy import sparse

from smfh.files import ArchiveLimits, open_archive, read_mat, read_npz, read_table, write_npz
from smfh.files.parquet_footer import column_chunks
from smfh.types import InputError

MAT_HEAD = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x100) + b"IM"
MI_INT8, MI_INT32, MI_UINT32, MI_DOUBLE, MI_MATRIX, MI_COMPRESSED = 1, 5, 6, 9, 14, 15
MX_CELL, MX_SPARSE, MX_DOUBLE = 1, 5, 6


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def npy_header(descr, shape):
    """A .npy file of version 1 with this header and no data."""
    text = shape if descr is None else f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}"
    header = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def zipped(members, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def mat(**variables):
    file = io.BytesIO()
    scipy.io.savemat(file, variables)
    return file.getvalue()


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def opening(kind, shape, name="x"):
    """The three elements with which every matrix begins: flags, shape, name."""
    return (
        element(MI_UINT32, struct.pack("<II", kind, 0))
        + element(MI_INT32, struct.pack("<2i", *shape))
        + element(MI_INT8, name.encode())
    )


def crafted(kind, shape, *elements):
    return MAT_HEAD + element(MI_MATRIX, opening(kind, shape) + b"".join(elements))


def crafted_sparse(rows, column_ends):
    indices = [element(MI_INT32, struct.pack(f"<{len(part)}i", *part)) for part in (rows, column_ends)]
    return crafted(MX_SPARSE, (4, 4), *indices, element(MI_DOUBLE, bytes(24)))


def nested_cells(depth):
    """Cells in cells: SciPy's parser would recurse in C until its stack overflows."""
    inside = b""
    for _ in range(depth):
        inside = element(MI_MATRIX, opening(MX_CELL, (1, 1)) + inside)
    return MAT_HEAD + inside


def compressed_bomb():
    """100 MB of zeros in 100 kB, behind a header that looks harmless."""
    inside = element(MI_MATRIX, opening(MX_DOUBLE, (1, 2)) + struct.pack("<II", MI_DOUBLE, 0xFFFF0000))
    data = zlib.compress(inside + bytes(100 << 20), 9)
    return MAT_HEAD + struct.pack("<II", MI_COMPRESSED, len(data)) + data


def cells(*values):
    column = np.empty((len(values), 1), dtype=object)
    column[:, 0] = values
    return column


HOSTILE_MAT = {
    "cells in cells": (nested_cells(1000), "nested too deeply"),
    "cells without end": (crafted(MX_CELL, (1 << 15, 1 << 15)), "the limit is 500,000"),
    "shape of terabytes": (
        crafted(MX_DOUBLE, (1 << 30, 1 << 30), element(MI_DOUBLE, bytes(8))),
        "the limit is 500,000 rows",
    ),
    "negative shape": (crafted(MX_DOUBLE, (-1, -2), element(MI_DOUBLE, bytes(16))), "damaged"),
    "element of 4 GB": (crafted(MX_DOUBLE, (1, 2), struct.pack("<II", MI_DOUBLE, 0xFFFFFFF0)), "damaged|memory"),
    "compressed bomb": (compressed_bomb(), "unpacked, needs 64.0 MB; the limit is 64.0 MB"),
    "sparse rows outside": (crafted_sparse((1 << 30, -5, 7), (0, 1, 2, 3, 3)), "damaged"),
    "sparse columns outside": (crafted_sparse((0, 1, 2), (0, 1 << 30, -7, 3, 3)), "damaged"),
    "truncated": (mat(x=np.ones((50, 50)))[:-1000], "truncated"),
    "truncated in its header": (MAT_HEAD[:60], "damaged"),
    "version 7.3": (b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n", "damaged"),
    "not a .mat file": (b"hello " * 50, "damaged"),
    "empty": (b"", "empty"),
    "complex": (mat(x=np.eye(2) * 1j), r"no matrix of real numbers; it has x \(2 × 2\)"),
    "mixed cells": (mat(x=np.array([[np.eye(2), "a"]], dtype=object)), r"it has x \(cell, 1 × 2\)"),
}


class TestMat:
    @pytest.mark.parametrize("version", ["4", "5"])
    def test_matrices_are_read_as_written(self, version):
        x, tags = (np.arange(6.0).reshape(2, 3), sparse.random_array((30, 20), density=0.1, rng=1, format="csc"))
        file = io.BytesIO()
        scipy.io.savemat(file, {"x": x, "tags": tags}, format=version)
        variables, ignored = read_mat(file.getvalue())
        np.testing.assert_array_equal(variables["x"], x)
        assert isinstance(variables["tags"], sparse.csr_array)
        np.testing.assert_array_equal(variables["tags"].toarray(), tags.toarray())
        assert ignored == ()

    @pytest.mark.parametrize("compressed", [True, False])
    def test_cells_and_strings_are_read_and_other_variables_are_listed(self, compressed):
        views = np.empty((1, 2), dtype=object)
        views[0, :] = [np.eye(3), sparse.csc_array(np.tri(3))]
        written = {
            "cells": cells("Katze", "dog", np.array(["a", "bc"], dtype=object)),
            "X": views,
            "mixed": np.array([[np.eye(2), "a"]], dtype=object),
            "names": np.array(["cat", "dog"]),
            "numbers": np.array([[1.0, 20.0]], dtype=object),
            "model": {"depth": 3},
            "cube": np.ones((2, 2, 2)),
        }
        file = io.BytesIO()
        scipy.io.savemat(file, written, do_compression=compressed)
        variables, ignored = read_mat(file.getvalue())
        assert list(variables["cells"]) == ["Katze", "dog", "a|bc"]
        assert list(variables["names"]) == ["cat", "dog"]
        assert list(variables["numbers"]) == ["1", "20"]
        np.testing.assert_array_equal(variables["X (1)"], np.eye(3))
        np.testing.assert_array_equal(variables["X (2)"].toarray(), np.tri(3))
        assert ignored == ("mixed (cell, 1 × 2)", "model (struct, 1 × 1)", "cube (2 × 2 × 2)")

    def test_the_limit_applies_to_strings_too(self):
        strings = np.array([["x" * 10_000], *[["y"]] * 999], dtype=object)  # 40 MB: each as wide as the longest
        with pytest.raises(InputError, match=r"strings needs 38\.1 MB; the limit is 4\.0 MB"):
            read_mat(mat(strings=strings), max_bytes=1 << 22)

    @pytest.mark.parametrize("case", HOSTILE_MAT)
    def test_hostile_files_are_refused(self, case):
        content, message = HOSTILE_MAT[case]
        with pytest.raises(InputError, match=message):
            read_mat(content, name="bad.mat", max_bytes=1 << 26)


HOSTILE_NPY = {
    "terabytes": (npy_header("<f8", (1_000_000, 1_000_000)), "needs 7,629,394.5 MB"),
    "more than the file": (npy_header("<f8", (100, 100)), "truncated"),
    "many empty strings": (npy_header("<U0", (1_000_000, 1_000_000)), "the limit is"),
    "negative": (npy_header("<f8", (-5, 5)), "shape"),
    "a boolean size": (npy_header("|u1", (0, False)), "damaged"),
    "many empty rows": (npy_header("<f8", (9223372036854775807, 0)), "the limit is"),
    "more than 64 bits": (npy_header("|u1", (0, 99999999999999999999999)), "the limit is"),
    "empty strings": (npy_header("<U0", (2,)), "damaged"),
    "no character": (npy(np.array([0x110000], "<u4").view("<U1")), "0x110000, which is not a Unicode"),
    "no character, other order": (npy(np.array([0xFFFFFFFF], ">u4").view(">U1")), "0xffffffff, which"),
    "half a character": (npy(np.array([0x61, 0xDFFF], "<u4").view("<U2")), "0xdfff, which is not"),
    "pickled": (npy(np.array([{"a": 1}], dtype=object)), "pickled"),
    "structured": (npy(np.zeros(3, dtype=[("a", "f8")])), "real numbers"),
    "complex": (npy(np.zeros(3, dtype=complex)), "real numbers"),
    "cube": (npy(np.zeros((2, 2, 2))), "vector or a matrix"),
    "code": (npy_header(None, "__import__('os').abort()"), "header"),
    "deep literal": (npy_header(None, "(" * 100), "header"),
    "long header": (b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xFFFFFFFF) + b" " * 100, "header"),
    "truncated": (npy(np.ones((50, 50)))[:-1000], "truncated"),
    "truncated in its header": (npy(np.ones(3))[:20], "header"),
    "only a pickle": (pickle.dumps([1, 2, 3]), "header"),
    "empty": (b"", "damaged"),
}
ARRAYS = hnp.arrays(
    dtype=st.sampled_from([np.float32, np.float64, np.uint64, np.int8, np.bool_]),
    shape=hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=4),
)


class TestNpy:
    @settings(max_examples=50, deadline=None)
    @given(array=ARRAYS, column_major=st.booleans())
    def test_arrays_are_read_as_written(self, array, column_major, tmp_path_factory):
        path = tmp_path_factory.mktemp("npz") / "a.npz"
        written = np.asfortranarray(array) if column_major else array
        write_npz(path, {"a": written, "b": np.array(["ä", "日本"])})
        arrays = read_npz(path)
        assert arrays["b"].tolist() == ["ä", "日本"]
        assert arrays["a"].dtype == array.dtype
        np.testing.assert_array_equal(arrays["a"], array)

    @pytest.mark.parametrize("case", HOSTILE_NPY)
    def test_hostile_files_are_refused(self, case):
        content, message = HOSTILE_NPY[case]
        with pytest.raises(InputError, match=rf"x(\.npy)? in bad.npz.*{message}"):
            read_npz(zipped({"x.npy": content}), name="bad.npz")

    def test_the_limit_applies_to_all_members_together_before_they_are_unpacked(self):
        content = npz(a=np.zeros(1000), b=np.zeros(1000))
        assert len(read_npz(content, max_bytes=16_000)) == 2
        with pytest.raises(InputError, match="unpacked, needs"):
            read_npz(content, max_bytes=15_999)
        content = npz(a=np.zeros(1 << 20), b=np.zeros(1 << 20))
        with pytest.raises(InputError, match=r"^big\.npz, unpacked, needs 16\.0 MB; the limit is 10\.0 MB"):
            read_npz(content, name="big.npz", max_bytes=10 << 20)
        assert len(read_npz(content, ["a"], max_bytes=10 << 20)) == 1
        with pytest.raises(InputError, match="lacks z; it has a, b"):
            read_npz(content, ["z"])


def patched(content, marker, offset, fmt, *values):
    """The archive with other values at this offset from the last such marker."""
    changed = bytearray(content)
    struct.pack_into(fmt, changed, content.rfind(marker) + offset, *values)
    return bytes(changed)


ONE_MEMBER, TWO_MEGABYTES = zipped({"a": b"1"}), {"a": bytes(1 << 20), "b": bytes(1 << 20)}
HOSTILE_ZIP = {
    "bomb": (zipped({"zeros": bytes(70 << 20)}), "zeros in bad.zip expands 1,02[0-9]-fold"),
    "too much together": (zipped(TWO_MEGABYTES, zipfile.ZIP_STORED), "expands to 2.0 MB"),
    "too many": (zipped({str(i): b"" for i in range(101)}), "has 101 files"),
    "oversized directory": (
        patched(ONE_MEMBER, b"PK\x05\x06", 12, "<I", 0xFFFFFFF0),
        "list of files in .* is too long",
    ),
    "encrypted": (patched(ONE_MEMBER, b"PK\x01\x02", 8, "<H", 1), "encrypted"),
    "method without a bound": (zipped({"a": b"1"}, zipfile.ZIP_BZIP2), "method 12"),
    "truncated": (zipped({"a": bytes(range(256)) * 9})[:-30], "truncated"),
    "not a .zip file": (b"hello " * 50, "not a .zip"),
    "empty": (b"", "empty"),
}


class TestArchive:
    @pytest.mark.parametrize("case", HOSTILE_ZIP)
    def test_hostile_archives_are_refused(self, case):
        content, message = HOSTILE_ZIP[case]
        limits = ArchiveLimits(members=100, expanded=(1 << 20) + 100 if "together" in case else 1 << 30)
        with pytest.raises(InputError, match=message), open_archive(content, "bad.zip", limits):
            pass

    def test_all_reasons_are_listed(self):
        content = zipped({"a": b"1" * 50, "b": b"2" * 50}, zipfile.ZIP_BZIP2)
        with pytest.raises(InputError) as caught, open_archive(content, limits=ArchiveLimits(1, 99)):
            pass
        assert len(caught.value.problems) == 4

    def test_member_names_are_keys_and_never_paths(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        names = ["../outside", "/etc/absolute", "C:\\windows", "a/../../b"]
        with open_archive(zipped(dict.fromkeys(names, b"data"))) as archive:
            assert [archive.read(name) for name in archive.members] == [b"data"] * 4
        assert not list(tmp_path.iterdir())
        assert not (tmp_path.parent / "outside").exists()

    def test_a_wrong_size_is_detected(self):
        content = patched(zipped({"a": b"1" * 1000}), b"PK\x01\x02", 24, "<I", 10)
        with open_archive(content) as archive, pytest.raises(InputError, match="is damaged or truncated"):
            archive.read("a")

    def test_a_repeated_name_is_refused(self):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a", "1")
            with pytest.warns(UserWarning, match="Duplicate"):
                archive.writestr("a", "2")
        with pytest.raises(InputError, match="more than once"), open_archive(file.getvalue()):
            pass


class TestTable:
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_cells_by_heading(self, delimiter, end):
        lines = ["file,caption,x", 'a.png,"two\nlines",1', "", " b.png , =1+1 , 2.5e-3", ""]
        text = end.join(lines).replace(",", delimiter)
        table = read_table(b"\xef\xbb\xbf" + text.encode())
        assert table.header == ("file", "caption", "x")
        contents = table.read(["file", "caption"], {"numbers": ["x"]})
        assert contents.numbers == [2, 4]
        assert contents.cells == {"file": ["a.png", "b.png"], "caption": ["two\nlines", "=1+1"]}
        np.testing.assert_array_equal(contents.matrices["numbers"], np.float32([[1], [2.5e-3]]))
        assert contents.problems == {}

    def test_every_row_with_a_cell_that_is_not_a_finite_number_is_listed(self):
        table = read_table(b"a,b\n1,nan\nx,1e999\n1e39,\n-inf\n1,2\n", "bad.csv")
        contents = table.read([], {"x": ["a", "b"]})
        assert contents.problems == {
            0: "column 'b': expected a finite number; got 'nan'",
            1: "column 'a': expected a finite number; got 'x'",
            2: "column 'a': expected a finite number; got '1e39'",
            3: "it has 1 cells; the header has 2",
        }
        np.testing.assert_array_equal(contents.matrices["x"][4], [1, 2])

    def test_a_table_is_parsed_once_whatever_its_columns(self, monkeypatch):
        parsed = []
        monkeypatch.setattr(csv, "reader", lambda *a, _real=csv.reader, **k: parsed.append(1) or _real(*a, **k))
        names = [f"m{number}_{k}" for number in range(500) for k in range(3)]
        table = read_table("\n".join([",".join(names), *[",".join("1" * 1500)] * 3]).encode())
        contents = table.read([], {f"m{n}": names[3 * n : 3 * n + 3] for n in range(500)})
        assert len(contents.matrices) == 500
        assert len(parsed) == 2  # the header and all rows

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "empty"),
            (b"\n\n", "row of column names"),
            (b"a,b,a\n", "more than one column 'a'"),
            ("a,b\nä,ö\n".encode("latin-1"), "UTF-8"),
            ("a,b\n1,2\n".encode("utf-16")[:-1], "UTF-8"),
            (b"x," * 20_001, "20,002 columns"),
            (b"a,b\n" + b"x" * 200_000 + b",1\n", "field larger"),
        ],
    )
    def test_bad_tables_are_refused(self, content, message):
        with pytest.raises(InputError, match=message):
            read_table(content).read([])


@pytest.mark.parametrize("line", [b'{"a": [' + b"[]," * 200_001 + b"[]]}", b'{"a": "' + b"x" * (1 << 22) + b'"}'])
def test_a_line_of_too_many_values_or_characters_is_not_parsed(line, monkeypatch):
    parsed, really = [], json.loads
    monkeypatch.setattr(json, "loads", lambda text: parsed.append(len(text)) or really(text))
    contents = read_table(b'{"a": 1}\n' + line + b'\n{"a": 2}\n', "a.jsonl").read(["a"])
    assert (contents.cells["a"], list(contents.problems)) == ([1, "", 2], [1])
    assert max(parsed) < 10


def test_lists_in_cells_count_as_characters(monkeypatch):
    monkeypatch.setattr("smfh.files.table.MAX_CHARACTERS", 10_000)
    with pytest.raises(InputError, match="more than 10,000 characters"):
        read_table(b'{"a": [' + b"[]," * 200 + b"[]]}\n", "a.jsonl").read(["a"])


def parquet_file(**columns):
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file, row_group_size=2)
    return file.getvalue()


class TestParquet:
    def test_the_footer_is_read_as_pyarrow_reads_it(self):
        content = parquet_file(
            text=["a", None, "猫" * 20], vector=[[1.5, 2.0]] * 3, flag=[True, False, None], inner=[{"x": b"1"}] * 3
        )
        known = parquet.ParquetFile(io.BytesIO(content)).metadata
        groups = [known.row_group(number) for number in range(known.num_row_groups)]
        columns = [group.column(number) for group in groups for number in range(group.num_columns)]
        assert column_chunks(io.BytesIO(content), "a.parquet") == [
            (c.path_in_schema, c.physical_type == "BYTE_ARRAY", c.num_values, c.total_uncompressed_size)
            for c in columns
        ]

    @settings(max_examples=300, deadline=None)
    @given(st.data())
    def test_any_changed_byte_of_the_footer_is_read_or_refused(self, data):
        content = bytearray(parquet_file(text=["a", "b"], vector=[[1.5, 2.0]] * 2))
        at = data.draw(st.integers(len(content) - 700, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
        with suppress(InputError):
            table = read_table(bytes(content), "a.parquet")
            table.read(["text"] if "text" in table.header else [])

    @pytest.mark.parametrize(
        ("footer", "message"),
        [
            (b"\x49\xf7" + b"\xff" * 9 + b"\x01", "damaged"),  # a list of 2^63 doubles
            (b"\x15" + b"\xff" * 5000, "a number is too long"),
            (b"\x4c" * 5000, "damaged"),
        ],
    )
    def test_hostile_footers_are_refused(self, footer, message):
        content = b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"
        with pytest.raises(InputError, match=message):
            read_table(content, "a.parquet")


class BrokenDisk(io.BytesIO):
    """A file whose disk fails when it is read."""

    def read(self, *size):
        raise OSError(errno.EIO, "Input/output error")


def read_members(path):
    with open_archive(path) as archive:
        return [archive.read(member) for member in archive.members]


@pytest.mark.parametrize("read", [read_table, read_members, read_npz, read_mat])
def test_a_failing_disk_is_reported(tmp_path, monkeypatch, read):
    path = tmp_path / "file"
    path.write_bytes(b"something")
    monkeypatch.setattr(Path, "open", lambda self, mode: BrokenDisk(b"something"))
    with pytest.raises(InputError, match=r"file cannot be read: Input/output error\."):
        read(path)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
def test_hostile_files_take_little_memory():
    """The files unpack to gigabytes."""
    readers = [(read_npz, zipped({"x.npy": content})) for content, _ in HOSTILE_NPY.values()]
    readers += [(lambda content: read_mat(content, max_bytes=1 << 24), content) for content, _ in HOSTILE_MAT.values()]
    readers += [(read_members, content) for content, _ in HOSTILE_ZIP.values()]

    def read_all():
        for read, content in readers:
            with suppress(InputError):
                read(content)

    read_mat(mat(x=np.eye(3)))
    _, megabytes, _ = measure(read_all)
    assert megabytes < 64


def test_of_two_mat_variables_with_one_name_none_is_read_if_one_is_a_structure():
    """SciPy would read both; a damaged structure ended its process."""
    structure, matrices = io.BytesIO(), io.BytesIO()
    scipy.io.savemat(structure, {"labels": {"a": 1.0}})
    scipy.io.savemat(matrices, {"labels": np.eye(2), "x": np.eye(3)})
    contents = read_mat(structure.getvalue() + matrices.getvalue()[128:])
    assert list(contents.variables) == ["x"]

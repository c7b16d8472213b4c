"""Each hostile file ends in an InputError that says what is wrong, and takes little memory."""

import errno
import io
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import smfh
from smfh.files import ArchiveLimits, guarded, open_archive, read_mat, read_npy, read_npz, read_table
from smfh.types import InputError

MAT_HEAD = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x100) + b"IM"
ROOT = Path(smfh.__file__).parents[1]
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


def npy_header(text):
    """A .npy file of version 1 with this header and no data."""
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


def nested_cells(depth):
    """Cells in cells: SciPy's reader recurses in C until its stack overflows."""
    level = struct.pack("<II", MI_MATRIX, 0x7FFFFFFF) + opening(MX_CELL, (1, 1), "")
    return MAT_HEAD + element(MI_MATRIX, opening(MX_CELL, (1, 1)) + level * depth)


def compressed_bomb():
    """100 MB of zeros in 100 kB, behind a header that looks harmless."""
    inside = element(MI_MATRIX, opening(MX_DOUBLE, (1, 2)) + struct.pack("<II", MI_DOUBLE, 0xFFFF0000))
    data = zlib.compress(inside + bytes(100 << 20), 9)
    return MAT_HEAD + struct.pack("<II", MI_COMPRESSED, len(data)) + data


NO_MEMORY = "memory" if sys.platform == "linux" else "damaged|memory"  # others do not enforce the limit

HOSTILE_MAT = {
    "cells in cells": (nested_cells(100_000), "crash"),
    "shape of terabytes": (crafted(MX_DOUBLE, (1 << 30, 1 << 30)), "at most 64 MB"),
    "negative shape": (crafted(MX_DOUBLE, (-1, -2), element(MI_DOUBLE, bytes(16))), "damaged"),
    "element of 4 GB": (crafted(MX_DOUBLE, (1, 2), struct.pack("<II", MI_DOUBLE, 0xFFFFFFF0)), NO_MEMORY),
    "compressed bomb": (compressed_bomb(), NO_MEMORY),
    "sparse rows outside": (
        crafted(
            MX_SPARSE,
            (4, 4),
            element(MI_INT32, struct.pack("<3i", 1 << 30, -5, 7)),
            element(MI_INT32, struct.pack("<5i", 0, 1, 2, 3, 3)),
            element(MI_DOUBLE, bytes(24)),
        ),
        "damaged",
    ),
    "sparse columns outside": (
        crafted(
            MX_SPARSE,
            (4, 4),
            element(MI_INT32, struct.pack("<3i", 0, 1, 2)),
            element(MI_INT32, struct.pack("<5i", 0, 1 << 30, -7, 3, 3)),
            element(MI_DOUBLE, bytes(24)),
        ),
        "damaged",
    ),
    "truncated": (mat(x=np.ones((50, 50)))[:-1000], "truncated"),
    "cut in its head": (MAT_HEAD[:60], "damaged"),
    "version 7.3": (b"MATLAB 7.3 MAT-file".ljust(512) + b"\x89HDF\r\n\x1a\n", "-v7"),
    "no .mat at all": (b"hello " * 50, "damaged"),
    "empty": (b"", "empty"),
}


@pytest.mark.slow  # a process for each file
class TestMat:
    def test_matrices_come_back_as_they_were(self):
        x, tags = (
            np.arange(6.0).reshape(2, 3),
            sparse.random_array((30, 20), density=0.1, rng=1, format="csc"),
        )
        read, left_out = read_mat(mat(x=x, tags=tags, model={"depth": 3}, cube=np.ones((2, 2, 2))))
        assert sorted(read) == ["tags", "x"]
        np.testing.assert_array_equal(read["x"], x)
        assert isinstance(read["tags"], sparse.csr_array)
        np.testing.assert_array_equal(read["tags"].toarray(), tags.toarray())
        assert left_out == ("model (struct, 1 × 1)", "cube (2 × 2 × 2)")

    def test_cells_and_words_are_read(self):
        cells = np.empty((3, 1), dtype=object)
        cells[:, 0] = ["Katze", "dog", np.array(["a", "bc"], dtype=object)]
        views = np.empty((1, 2), dtype=object)
        views[0, :] = [np.eye(3), sparse.csc_array(np.tri(3))]
        mixed = np.array([[np.eye(2), "a"]], dtype=object)
        names = np.array(["cat", "dog"])
        numbers = np.array([[1.0, 20.0]], dtype=object)
        read, left_out = read_mat(mat(cells=cells, X=views, mixed=mixed, names=names, numbers=numbers))
        assert list(read["cells"]) == ["Katze", "dog", "a|bc"]
        assert list(read["names"]) == ["cat", "dog"]
        assert list(read["numbers"]) == ["1", "20"]
        np.testing.assert_array_equal(read["X (1)"], np.eye(3))
        np.testing.assert_array_equal(read["X (2)"].toarray(), np.tri(3))
        assert left_out == ("mixed (cell, 1 × 2)",)

    def test_where_nothing_can_be_read_it_says_what_is_there(self):
        with pytest.raises(InputError, match=r"it has model \(struct, 1 × 1\), cube \(2 × 2 × 2\)"):
            read_mat(mat(model={"depth": 3}, cube=np.ones((2, 2, 2))))

    def test_names_choose_and_absent_ones_are_told(self, tmp_path):
        path = tmp_path / "two.mat"
        path.write_bytes(mat(x=np.eye(2), y=np.eye(3)))
        assert list(read_mat(path, ["y"]).variables) == ["y"]
        with pytest.raises(InputError, match=r"two\.mat: it lacks z; it has x \(2 × 2\), y \(3 × 3\)"):
            read_mat(path, ["z"])

    def test_an_upload_never_comes_to_a_disk(self, tmp_path, monkeypatch):
        for name in ("TMPDIR", "TEMP", "TMP"):
            monkeypatch.setenv(name, str(tmp_path / "nowhere"))
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
        monkeypatch.chdir(tmp_path)
        read, _ = read_mat(mat(x=np.eye(300)))
        np.testing.assert_array_equal(read["x"], np.eye(300))
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.skipif(sys.platform != "linux", reason="others do not enforce the limit")
    def test_the_child_cannot_write_a_file(self, tmp_path):
        write = "limit_process(1 << 32); open('file', 'wb', 0).write(b'private')"
        command = [sys.executable, "-c", f"from smfh.files.mat_child import limit_process; {write}"]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert b"File too large" in ended.stderr
        assert not any(file.stat().st_size for file in tmp_path.iterdir())

    def test_the_limit_holds_for_words_too_and_for_all_variables_together(self):
        words = np.array([["x" * 10_000], *[["y"]] * 999], dtype=object)  # 40 MB, each as wide as the longest
        with pytest.raises(InputError, match=r"its matrices ask for 38 MB; at most 4 MB are read"):
            read_mat(mat(words=words), max_bytes=1 << 22)

    @pytest.mark.parametrize("case", HOSTILE_MAT)
    def test_hostile_files_are_refused(self, case):
        content, said = HOSTILE_MAT[case]
        with pytest.raises(InputError, match=said):
            read_mat(content, ["x"], name="bad.mat", max_bytes=1 << 26)

    @pytest.mark.parametrize("value", [np.eye(2) * 1j, "words", np.array([[1, "a"]], dtype=object)])
    def test_only_real_numbers_are_taken(self, value):
        with pytest.raises(InputError, match="x must be a matrix of real numbers"):
            read_mat(mat(x=value), ["x"])

    def test_what_takes_too_long_is_ended(self):
        with pytest.raises(InputError, match=r"not read within 0\.01 s"):
            read_mat(mat(x=np.eye(2)), seconds=0.01)

    def test_a_missing_file_is_told_without_its_folder(self, tmp_path):
        with pytest.raises(InputError, match=r"^absent\.mat cannot be opened: No such file"):
            read_mat(tmp_path / "absent.mat")


HOSTILE_NPY = {
    "terabytes": (
        npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000)}"),
        "asks for 7,629,394.5 MB",
    ),
    "more than the file": (
        npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (100, 100)}"),
        "truncated",
    ),
    "empty words, many of them": (
        npy_header("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000, 1000000)}"),
        "asks for",
    ),
    "negative": (npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-5, 5)}"), "shape"),
    "truth as a number": (
        npy_header("{'descr': '|u1', 'fortran_order': False, 'shape': (0, False)}"),
        "damaged",
    ),
    "nothing, many times": (
        npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 0)}"),
        "asks for",
    ),
    "nothing, more often than can be counted": (
        npy_header("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 99999999999999999999999)}"),
        "asks for",
    ),
    "empty words": (npy_header("{'descr': '<U0', 'fortran_order': False, 'shape': (2,)}"), "damaged"),
    "no character": (npy(np.array([0x110000], "<u4").view("<U1")), "character number 0x110000"),
    "no character, other order": (npy(np.array([0xFFFFFFFF], ">u4").view(">U1")), "number 0xffffffff"),
    "half a character": (npy(np.array([0x61, 0xDFFF], "<u4").view("<U2")), "character number 0xdfff"),
    "pickled": (npy(np.array([{"a": 1}], dtype=object)), "pickled"),
    "structured": (npy(np.zeros(3, dtype=[("a", "f8")])), "real numbers"),
    "complex": (npy(np.zeros(3, dtype=complex)), "real numbers"),
    "cube": (npy(np.zeros((2, 2, 2))), "vector or a matrix"),
    "no literal": (npy_header("__import__('os').abort()"), "header"),
    "deep literal": (npy_header("(" * 100), "header"),
    "long header": (b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xFFFFFFFF) + b" " * 100, "header"),
    "truncated": (npy(np.ones((50, 50)))[:-1000], "truncated"),
    "cut in its header": (npy(np.ones(3))[:20], "header"),
    "pickle alone": (pickle.dumps([1, 2, 3]), "header"),
    "empty": (b"", "empty"),
}


class TestNpy:
    @pytest.mark.parametrize("array", [np.eye(3), np.ones((5, 2)).T, np.array(["ä", "日本"])])
    def test_arrays_come_back_as_they_were(self, array):
        np.testing.assert_array_equal(read_npy(npy(array)), array)
        np.testing.assert_array_equal(read_npz(npz(x=array))["x"], array)

    @pytest.mark.parametrize("case", HOSTILE_NPY)
    def test_hostile_files_are_refused(self, case):
        content, said = HOSTILE_NPY[case]
        with pytest.raises(InputError, match=said):
            read_npy(content, name="bad.npy")

    @pytest.mark.parametrize("case", [case for case in HOSTILE_NPY if case != "empty"])
    def test_hostile_members_are_refused(self, case):
        content, said = HOSTILE_NPY[case]
        with pytest.raises(InputError, match=rf"x(\.npy)? in bad.npz.*{said}"):
            read_npz(zipped({"x.npy": content}), name="bad.npz")

    def test_all_bad_members_are_listed(self):
        content = zipped({f"{i}.npy": case for i, (case, _) in enumerate(HOSTILE_NPY.values())})
        with pytest.raises(InputError) as caught:
            read_npz(content)
        assert len(caught.value.problems) == len(HOSTILE_NPY)

    def test_the_limit_holds_for_all_members_together(self):
        content = npz(a=np.zeros(1000), b=np.zeros(1000))
        assert len(read_npz(content, max_bytes=16_000)) == 2
        with pytest.raises(InputError, match="b in"):
            read_npz(content, max_bytes=15_999)

    def test_a_sum_that_is_too_large_is_told_before_anything_is_unpacked(self):
        content = npz(a=np.zeros(1 << 20), b=np.zeros(1 << 20))
        assert len(content) < 1 << 15
        with pytest.raises(InputError, match=r"^big\.npz unpacks to 16\.0 MB of arrays; at most 10\.0 MB"):
            read_npz(content, name="big.npz", max_bytes=10 << 20)
        assert len(read_npz(content, ["a"], max_bytes=10 << 20)) == 1

    def test_absent_names_are_told(self):
        with pytest.raises(InputError, match="lacks z; it has a"):
            read_npz(npz(a=np.zeros(2)), ["z"])

    @settings(max_examples=150, deadline=None)
    @given(at=st.integers(0, 400), byte=st.integers(0, 255))
    def test_any_changed_byte_is_read_or_refused(self, at, byte):
        content = bytearray(npz(x=np.arange(30.0), y=np.eye(4)))
        content[at % len(content)] = byte
        try:
            read_npz(bytes(content))
        except InputError:
            return


def patched(content, offset, fmt, *values):
    changed = bytearray(content)
    struct.pack_into(fmt, changed, offset, *values)
    return bytes(changed)


def overgrown_directory():
    """An end record that announces a directory of 4 GB."""
    content = zipped({"a": b"1"})
    return patched(content, content.rfind(b"PK\x05\x06") + 12, "<I", 0xFFFFFFF0)


def encrypted():
    content = zipped({"a": b"1"})
    return patched(content, content.rfind(b"PK\x01\x02") + 8, "<H", 1)


HOSTILE_ZIP = {
    "bomb": (zipped({"zeros": bytes(70 << 20)}), "zeros in bad.zip expands 1,02[0-9]-fold"),
    "too much in all": (
        zipped({"a": bytes(1 << 20), "b": bytes(1 << 20)}, zipfile.ZIP_STORED),
        "expands to 2.0 MB",
    ),
    "too many": (zipped({str(i): b"" for i in range(101)}), "holds 101 files"),
    "overgrown directory": (overgrown_directory(), "too large a directory"),
    "encrypted": (encrypted(), "encrypted"),
    "unbounded method": (zipped({"a": b"1"}, zipfile.ZIP_BZIP2), "method 12"),
    "truncated": (zipped({"a": bytes(range(256)) * 9})[:-30], "truncated"),
    "no zip at all": (b"hello " * 50, "not a .zip"),
    "empty": (b"", "empty"),
}


class TestArchive:
    @pytest.mark.parametrize("case", HOSTILE_ZIP)
    def test_hostile_archives_are_refused(self, case):
        content, said = HOSTILE_ZIP[case]
        limits = ArchiveLimits(members=100, expanded=(1 << 20) + 100 if "all" in case else 1 << 30)
        with pytest.raises(InputError, match=said), open_archive(content, "bad.zip", limits):
            pass

    def test_all_reasons_are_listed(self):
        content = zipped({"a": b"1" * 50, "b": b"2" * 50}, zipfile.ZIP_BZIP2)
        limits = ArchiveLimits(members=1, expanded=99)
        with pytest.raises(InputError) as caught, open_archive(content, limits=limits):
            pass
        assert len(caught.value.problems) == 4

    def test_names_that_climb_are_keys_and_write_nothing(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        names = ["../outside", "/etc/absolute", "C:\\windows", "a/../../b"]
        with open_archive(zipped(dict.fromkeys(names, b"data"))) as archive:
            assert [archive.read(name) for name in archive.members] == [b"data"] * 4
        assert not list(tmp_path.iterdir())
        assert not (tmp_path.parent / "outside").exists()

    def test_a_size_that_lies_is_noticed(self):
        content = zipped({"a": b"1" * 1000})
        content = patched(content, content.rfind(b"PK\x01\x02") + 24, "<I", 10)
        with (
            open_archive(content, "bad.zip") as archive,
            pytest.raises(InputError, match="is damaged or truncated"),
        ):
            archive.read("a")

    def test_a_name_that_stands_twice_is_refused(self):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a", "1")
            with pytest.warns(UserWarning, match="Duplicate"):
                archive.writestr("a", "2")
        with pytest.raises(InputError, match="more than once"), open_archive(file.getvalue()):
            pass

    @settings(max_examples=150, deadline=None)
    @given(at=st.integers(0, 400), byte=st.integers(0, 255))
    def test_any_changed_byte_is_read_or_refused(self, at, byte):
        content = bytearray(zipped({"a": b"hello" * 20, "b": bytes(range(100))}))
        content[at % len(content)] = byte
        try:
            with open_archive(bytes(content)) as archive:
                for member in archive.members:
                    archive.read(member)
        except InputError:
            return


class TestTable:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_cells_by_heading(self, delimiter):
        text = 'file,caption\na.png,"two\nlines"\n\n b.png , =1+1 \n'.replace(",", delimiter)
        table = read_table(b"\xef\xbb\xbf" + text.encode())
        assert table.header == ("file", "caption")
        assert [number for number, _ in table.rows()] == [2, 4]
        assert table.column("file") == ["a.png", "b.png"]
        assert table.column("caption") == ["two\nlines", "=1+1"]
        assert table.problems() == []

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_every_kind_of_line_end(self, end):
        table = read_table(end.join(["a,b", "1,2", "3,4", ""]).encode())
        np.testing.assert_array_equal(table.numbers(["a", "b"]), [[1, 2], [3, 4]])

    def test_ragged_rows_are_listed_with_their_numbers(self):
        table = read_table(b"a,b\n1,2\n1\n1,2,3\n", "bad.csv")
        assert table.problems() == [
            "Row 3 of bad.csv has 1 cells; the header has 2.",
            "Row 4 of bad.csv has 3 cells; the header has 2.",
        ]

    def test_numbers(self):
        table = read_table(b"a,b,c\n1,x, 2.5\n-3,y,1e-3\n")
        np.testing.assert_array_equal(table.numbers(["a", "c"]), np.float32([[1, 2.5], [-3, 1e-3]]))

    def test_every_cell_that_is_no_finite_number_is_told(self):
        with pytest.raises(InputError) as caught:
            read_table(b"a,b\n1,nan\nx,1e999\n1e39,\n-inf\n", "bad.csv").numbers(["a", "b"])
        assert [problem.split(":")[0] for problem in caught.value.problems] == [
            "Row 2 of bad.csv, column 'b'",
            "Row 3 of bad.csv, column 'a'",
            "Row 3 of bad.csv, column 'b'",
            "Row 4 of bad.csv, column 'a'",
            "Row 4 of bad.csv, column 'b'",
            "Row 5 of bad.csv, column 'a'",
            "Row 5 of bad.csv, column 'b'",
        ]

    def test_many_problems_are_shortened(self):
        with pytest.raises(InputError) as caught:
            read_table(b"a\n" + b"x\n" * 1000).numbers(["a"])
        assert caught.value.problems[-1] == "… and 980 more problems."

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "empty"),
            (b"\n\n", "headings"),
            (b"a,b,a\n", "'a' more than once"),
            ("a,b\nä,ö\n".encode("latin-1"), "UTF-8"),
            ("a,b\n1,2\n".encode("utf-16"), "UTF-8"),
            (b"x," * 20_001, "20,002 columns"),
        ],
    )
    def test_bad_tables_are_refused(self, content, said):
        with pytest.raises(InputError, match=said):
            read_table(content)

    @pytest.mark.parametrize("content", [b"a,b\n" + b"x" * 200_000 + b",1\n", b'a,b\n"open'])
    def test_bad_rows_are_refused_or_read(self, content):
        table = read_table(content)
        if len(content) > 1000:
            with pytest.raises(InputError, match="field larger"):
                table.column("a")
        else:
            assert len(table.problems()) == 1


class BrokenDisk(io.BytesIO):
    """A file whose disk fails when it is read."""

    def read(self, *size):
        raise OSError(errno.EIO, "Input/output error")


def read_members(path):
    with open_archive(path) as archive:
        return [archive.read(member) for member in archive.members]


@pytest.mark.parametrize("read", [read_table, read_members, read_npz, read_npy, read_mat])
def test_a_disk_that_fails_is_told_in_words(tmp_path, monkeypatch, read):
    path = tmp_path / "file"
    path.write_bytes(b"something")
    monkeypatch.setattr(Path, "open", lambda self, mode: BrokenDisk(b"something"))
    with pytest.raises(InputError, match=r"file cannot be read: Input/output error\."):
        read(path)


def test_too_little_memory_is_told_in_words():
    with pytest.raises(InputError, match=r"^big\.npz needs more memory than there is"), guarded("big.npz"):
        raise MemoryError


MEASURE = """
import sys
from pathlib import Path
from smfh import files as readers
from smfh.types import InputError

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before = peak()
for line in sys.argv[1:]:
    path = Path(line)
    try:
        if path.name.startswith("npy"):
            readers.read_npy(path)
        else:
            with readers.open_archive(path) as archive:
                [archive.read(member) for member in archive.members]
    except InputError:
        continue
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
def test_hostile_files_take_little_memory(tmp_path):
    for kind, cases in {"npy": HOSTILE_NPY, "zip": HOSTILE_ZIP}.items():
        for number, (content, _) in enumerate(cases.values()):
            (tmp_path / f"{kind}{number}").write_bytes(content)
    files = sorted(map(str, tmp_path.iterdir()))
    command = [sys.executable, "-c", MEASURE, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert int(done.stdout) < 64 << 10  # kB: the files unpack to gigabytes

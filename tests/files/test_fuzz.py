"""Thousands of changed files, the same in every run: each is read, or refused with an InputError."""

import io
import zipfile

import numpy as np
import pytest
import scipy.io

from smfh.datasets.own import OwnData, example_archive
from smfh.files import Table, open_archive, read_mat, read_npy, read_npz, read_table
from smfh.types import InputError

pytestmark = pytest.mark.slow

SIGNS = [  # that mean something to one parser or another
    *b"True -1 0 99999999999999999999 1e999 nan <U3 |O |V8 ( ' , \" ; labels image:1 PK\5\6 PK\1\2".split(
        b" "
    ),
    *(b"\r", b"\n\n", b"\0" * 4, "😀".encode()),
    *(b"\xff" * 4, b"\x7f" + b"\xff" * 3, b"\xff" * 3 + b"\x7f", b"\xd8\x00"),
]


def change(content: bytes, rng: np.random.Generator) -> bytes:
    """One to four small things done to the file: a byte, a sign, a piece lost, doubled or moved."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        start = int(rng.integers(len(changed)))
        end = start + int(rng.integers(1, 40))
        kind = rng.integers(6)
        if kind == 0:
            changed[start] = rng.integers(256)
        elif kind == 1:
            changed[start] ^= 1 << rng.integers(8)
        elif kind == 2:
            sign = SIGNS[rng.integers(len(SIGNS))]
            changed[start : start + len(sign) * int(rng.integers(2))] = sign
        elif kind == 3:
            del changed[start:end]
        elif kind == 4:
            changed[start:start] = changed[start:end]
        else:
            piece = changed[start:end]
            del changed[start:end]
            place = int(rng.integers(len(changed) + 1))
            changed[place:place] = piece
        if not changed:
            break
    return bytes(changed)


def arrays() -> dict[str, np.ndarray]:
    rng, words = np.random.default_rng(0), np.array(["cat|pet", "dog", "猫", "ä"] * 2)
    features = {"image": rng.random((8, 3)), "text": rng.integers(0, 3, (8, 2))}
    return features | {"labels": words, "captions": words}


def saved(save) -> bytes:
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def write_members(file: io.BytesIO, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)


def read_all(content: bytes) -> None:
    with open_archive(content) as archive:
        for member in archive.members:
            archive.read(member)


def numbers_of(table: Table) -> np.ndarray:
    table.problems()
    return table.numbers(list(table.header))


NUMBERS = {name: array for name, array in arrays().items() if array.dtype.kind in "fi"}
TABLE = b"image:1,image:2,text:1,caption,labels\n" + b'1,2.5,3,"a, cat",a|b\n-4,5e-3,6,dog,b\n' * 3
NPY = [saved(lambda file, array=array: np.save(file, array)) for array in arrays().values()]
NPZ = saved(lambda file: np.savez(file, **arrays()))
MAT = saved(lambda file: scipy.io.savemat(file, NUMBERS | {"labels": np.arange(8)}))
READERS = {  # files to change, who reads them (none: a preview of own data), how often
    ".npy": (NPY, read_npy, 3000),
    ".npz": ([NPZ], read_npz, 1500),
    ".zip": ([example_archive()], read_all, 1000),
    ".csv": ([TABLE], lambda content: numbers_of(read_table(content)), 2000),
    ".mat": ([MAT], read_mat, 20),  # each in a process of its own
    "own .npz": ([NPZ], None, 2000),
    "own .zip": ([example_archive()], None, 500),
    "own .csv": ([TABLE], None, 2000),
    "own .mat": ([MAT], None, 20),
}


@pytest.mark.filterwarnings("ignore")  # of parsers about what is odd in a file
@pytest.mark.parametrize("kind", READERS)
def test_a_changed_file_is_read_or_refused(kind):
    contents, read, times = READERS[kind]
    rng = np.random.default_rng(1)
    refused = 0
    for number in range(times):
        content = change(contents[number % len(contents)], rng)
        try:
            if read is None:
                refused += bool(OwnData(content, kind.replace("own ", "mine")).preview().problems)
            else:
                read(content)
        except InputError:
            refused += 1
    assert 0 < refused < times


@pytest.mark.filterwarnings("ignore")
def test_own_data_of_changed_arrays_or_cells_loads_or_is_refused():
    """The archive itself is sound, so that no checksum keeps the change from whoever reads the arrays."""
    rng = np.random.default_rng(2)
    loaded, times = 0, 2000
    for number in range(times):
        members = dict(zip(arrays(), NPY, strict=True))
        name = list(members)[number % len(members)]
        members[name] = change(members[name], rng)
        archive = saved(lambda file, members=members: write_members(file, members))
        for source in (OwnData(archive, "mine.npz"), OwnData(change(TABLE, rng), "mine.csv")):
            try:
                source.load()
                loaded += 1
            except InputError:
                assert source.preview().problems
    assert 0 < loaded < 2 * times

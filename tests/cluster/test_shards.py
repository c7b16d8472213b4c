"""Shards: what is written is read back, and refused by name where it is not what was written."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from smfh.cluster import Folder, fit_shards, read_manifest, stream_files, stream_source, write_shards
from smfh.cluster.manifest import read_rows
from smfh.cluster.workers import ThisProcess
from smfh.cluster.writing import Rows, regroup
from smfh.datasets import make_source
from smfh.datasets.planted import Planted
from smfh.hashing import make_method
from smfh.hashing.products import ROWS
from smfh.types import InputError

TINY = make_method("smfh", bits=4, iterations=1)


@pytest.fixture
def folder(tmp_path) -> Folder:
    """Shards of the planted set."""
    source = Planted(items=400, sparse_text=True)
    write_shards(stream_source(source, "default", 0, None), Folder(str(tmp_path / "shards")))
    return Folder(str(tmp_path / "shards"))


def rows_in(folder: Folder):
    manifest = read_manifest(folder)
    parts = [read_rows(folder, manifest, part) for part in manifest.parts]
    stack = {
        t: (sparse.vstack if sparse.issparse(x) else np.concatenate)([X[t] for X, _ in parts])
        for t, x in parts[0][0].items()
    }
    return stack, np.concatenate([labels for _, labels in parts])


def test_a_data_set_is_kept_as_it_is(folder):
    data, split = Planted(items=400, sparse_text=True).load()
    X, labels = rows_in(folder)
    train = data.take(split.train)
    np.testing.assert_array_equal(labels, train.labels)
    np.testing.assert_array_equal(X["image"], train.modalities["image"])
    np.testing.assert_array_equal(X["text"].toarray(), train.modalities["text"].toarray())
    manifest = read_manifest(folder)
    assert manifest.sizes == tuple(train.labels.sum(axis=0))
    assert manifest.queries.rows == len(split.queries)


def test_an_address_of_fsspec_serves_like_a_path(tmp_path):
    pytest.importorskip("fsspec")
    address = f"file://{tmp_path}/shards"
    write_shards(stream_source(Planted(items=200), "default", 0, None), Folder(address))
    there, here = (fit_shards(TINY, a, ThisProcess()) for a in (address, str(tmp_path / "shards")))
    assert there.codes_sha256 == here.codes_sha256


def test_rows_are_regrouped_whatever_they_come_in(rng):
    X, labels = rng.random((23, 3)), rng.random((23, 2)) < 0.5
    thin = sparse.csr_array(X * (X > 0.5))
    chunks = [Rows((X[a:b], thin[a:b]), labels[a:b]) for a, b in ((0, 5), (5, 5), (5, 19), (19, 23))]
    groups = list(regroup(chunks, 7))
    assert [len(group.labels) for group in groups] == [7, 7, 7, 2]
    np.testing.assert_array_equal(np.concatenate([group.X[0] for group in groups]), X)
    np.testing.assert_array_equal(sparse.vstack([group.X[1] for group in groups]).toarray(), thin.toarray())


def test_synthetic_items_do_not_depend_on_the_parts(tmp_path):
    source = make_source("synthetic")
    for name, rows in (("a", ROWS), ("b", 2 * ROWS)):
        stream = stream_source(source, "default", 0, ROWS + 100)
        write_shards(stream, Folder(str(tmp_path / name)), rows)
    (one, labels), (other, same) = (rows_in(Folder(str(tmp_path / name))) for name in "ab")
    np.testing.assert_array_equal(labels, same)
    np.testing.assert_array_equal(one["image"], other["image"])
    assert (one["text"] != other["text"]).nnz == 0
    assert len(read_manifest(Folder(str(tmp_path / "a"))).parts) == 2


@pytest.mark.parametrize("kind", ["folder", "npz", "parquet"])
def test_files_of_any_size_are_read_as_they_go(tmp_path, rng, kind):
    image, text = rng.random((60, 5)).astype(np.float32), rng.random((60, 3)).astype(np.float32)
    hot = np.eye(3, dtype=bool)[rng.integers(3, size=60)]
    path = tmp_path / {"folder": "mine", "npz": "mine.npz", "parquet": "mine.parquet"}[kind]
    if kind == "folder":
        path.mkdir()
        for name, array in (("image", image), ("text", text), ("labels", hot)):
            np.save(path / f"{name}.npy", array)
    elif kind == "npz":
        np.savez_compressed(path, image=image, text=text, labels=hot)
    else:
        columns = {
            "image": pa.array(list(image)),
            "text": pa.FixedSizeListArray.from_arrays(pa.array(text.reshape(-1)), 3),
            "labels": pa.array([[f"class {k}" for k in np.flatnonzero(row)] for row in hot]),
        }
        parquet.write_table(pa.table(columns), path)
    shards = Folder(str(tmp_path / "shards"))
    manifest = write_shards(stream_files(path, seed=0), shards)
    X, labels = rows_in(shards)
    asking = np.sort(np.random.default_rng(0).choice(60, manifest.queries.rows, replace=False))
    training = np.setdiff1d(np.arange(60), asking)
    np.testing.assert_array_equal(X["image"], image[training])
    np.testing.assert_array_equal(X["text"], text[training])
    np.testing.assert_array_equal(labels, hot[training])


def spoil(folder: Folder, what: str) -> None:
    part = Path(folder.address) / "part-00000"
    if what == "missing":
        (part / "0.npy").unlink()
    elif what == "torn":
        (part / "0.npy").write_bytes((part / "0.npy").read_bytes()[:-8])
    elif what == "changed":
        content = bytearray((part / "labels.npy").read_bytes())
        content[-1] ^= 1
        (part / "labels.npy").write_bytes(content)
    else:
        (part.parent / "part-00009").mkdir()


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("missing", r"part-00000/0\.npy is missing"),
        ("torn", r"part-00000/0\.npy is torn"),
        ("changed", r"part-00000/labels\.npy was changed"),
        ("foreign", r"part-00009 is not in the manifest"),
    ],
)
def test_what_is_not_as_it_was_written_is_refused_by_name_before_anything_starts(folder, what, named):
    spoil(folder, what)
    steps = []
    with pytest.raises(InputError, match=named):
        fit_shards(TINY, folder.address, ThisProcess(), on_step=steps.append)
    assert steps == []


def test_a_manifest_that_is_none_is_refused(folder, tmp_path):
    manifest = Path(folder.address) / "manifest.json"
    said = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(said | {"version": 7}))
    with pytest.raises(InputError, match="version 7"):
        read_manifest(folder)
    manifest.write_text("{")
    with pytest.raises(InputError, match="torn"):
        read_manifest(folder)
    manifest.write_text("{}")
    with pytest.raises(InputError, match="not one of shards"):
        read_manifest(folder)
    with pytest.raises(InputError, match="no shards"):
        read_manifest(Folder(str(tmp_path)))


def test_shards_are_not_written_over_and_parts_are_whole_blocks(folder):
    stream = stream_source(Planted(items=50), "default", 0, None)
    with pytest.raises(InputError, match="already"):
        write_shards(stream, folder)
    with pytest.raises(InputError, match=f"multiple of {ROWS} rows"):
        write_shards(stream, Folder(folder.address + "2"), 1000)

"""Shards: what is written is read back, and refused by name where it is not what was written."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from smfh.__main__ import main
from smfh.cluster import (
    Folder,
    fit_shards,
    read_manifest,
    score_shards,
    stream_files,
    stream_source,
    write_shards,
)
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


def test_a_path_holds_though_a_worker_stands_in_another_folder(folder, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()

    class Elsewhere(ThisProcess):
        def map(self, task, arguments):
            with monkeypatch.context() as there:
                there.chdir(tmp_path / "elsewhere")
                return super().map(task, arguments)

    monkeypatch.chdir(tmp_path)
    assert fit_shards(TINY, "shards", Elsewhere()).codes_sha256
    assert not list((tmp_path / "elsewhere").iterdir())


def test_where_labels_are_asked_for_no_feature_is_opened(folder, monkeypatch):
    pytest.importorskip("fsspec")
    method = make_method("smfh-plus", bits=4, iterations=1, rounds=1, anchors=0)
    opened, array = {}, Folder.array

    class Watched(ThisProcess):
        def map(self, task, arguments):
            def open_array(inside, name):
                opened.setdefault(task.__name__, set()).add(name)
                return array(inside, name)

            with monkeypatch.context() as patch:
                patch.setattr(Folder, "array", open_array)
                return super().map(task, arguments)

    score_shards(fit_shards(method, f"file://{folder.address}", Watched()), Watched())
    codes = {"part-00000.npy"}
    assert "0.npy" in opened["run_parts"]
    for task in ("sweep_part", "rank_part", "sum_precisions"):
        assert opened[task] == codes | {"labels.npy"}


def test_the_first_row_of_every_part_is_counted_once(folder):
    manifest = read_manifest(folder)
    assert manifest.starts == (0, manifest.items)
    assert manifest.starts is manifest.starts


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
        stream = stream_source(source, "default", 0, ROWS + 1000)
        write_shards(stream, Folder(str(tmp_path / name)), rows)
    (one, labels), (other, same) = (rows_in(Folder(str(tmp_path / name))) for name in "ab")
    np.testing.assert_array_equal(labels, same)
    np.testing.assert_array_equal(one["image"], other["image"])
    assert (one["text"] != other["text"]).nnz == 0
    assert len(read_manifest(Folder(str(tmp_path / "a"))).parts) == 2


def test_synthetic_items_in_shards_are_those_in_memory(tmp_path):
    items, folder = ROWS + 2000, Folder(str(tmp_path / "shards"))
    write_shards(stream_source(make_source("synthetic"), "default", 0, items), folder)
    data, split = make_source("synthetic", items=items).load()
    train, asking = data.take(split.train), data.take(split.queries)
    X, labels = rows_in(folder)
    np.testing.assert_array_equal(labels, train.labels)
    np.testing.assert_array_equal(X["image"], train.modalities["image"])
    assert (X["text"] != train.modalities["text"]).nnz == 0
    manifest = read_manifest(folder)
    X, labels = read_rows(folder, manifest, manifest.queries)
    np.testing.assert_array_equal(labels, asking.labels)
    np.testing.assert_array_equal(X["image"], asking.modalities["image"])
    with pytest.raises(InputError, match="a split of its own"):
        stream_source(make_source("synthetic"), "random", 0, items)


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


@pytest.fixture
def matrices(rng):
    """Of sixty items: two modalities and their labels, as words."""
    image, text = rng.random((60, 5)).astype(np.float32), rng.random((60, 3)).astype(np.float32)
    return {"image": image, "text": text, "labels": rng.choice(["cat", "dog", "owl"], 60)}


def shard(path: Path, to: Path, *options: str) -> int:
    return main(["shard", str(path), "--to", str(to), *options])


def test_a_file_in_the_usual_parts_is_sharded_as_it_is_fitted(tmp_path, matrices):
    parts = {"tr": slice(0, 40), "te": slice(40, 60)}
    names = {"I": "image", "T": "text", "L": "labels"}
    usual = {f"{n}_{p}": matrices[name][rows] for n, name in names.items() for p, rows in parts.items()}
    np.savez(tmp_path / "mine.npz", **usual)
    assert shard(tmp_path / "mine.npz", tmp_path / "shards") == 0
    X, _ = rows_in(folder := Folder(str(tmp_path / "shards")))
    np.testing.assert_array_equal(X["image"], matrices["image"][:40])
    assert read_manifest(folder).queries.rows == 20


def test_a_file_with_captions_or_stored_by_columns_is_sharded_too(tmp_path, matrices):
    np.savez(tmp_path / "told.npz", **matrices, captions=np.array(["a word"] * 60))
    np.savez(tmp_path / "turned.npz", **matrices | {"image": np.asfortranarray(matrices["image"])})
    for name in ("told", "turned"):
        assert shard(tmp_path / f"{name}.npz", tmp_path / name) == 0
        manifest = read_manifest(Folder(str(tmp_path / name)))
        assert [m.name for m in manifest.modalities] == ["image", "text"]
        assert manifest.items + manifest.queries.rows == 60


def test_the_first_items_of_a_file_are_taken_if_no_more_are_wanted(tmp_path, matrices):
    np.savez(tmp_path / "mine.npz", **matrices)
    for name, options in (("all", ()), ("some", ("--items", "7"))):
        assert shard(tmp_path / "mine.npz", tmp_path / name, *options) == 0
    (every, _), (some, labels) = (rows_in(Folder(str(tmp_path / name))) for name in ("all", "some"))
    assert len(labels) == 7
    np.testing.assert_array_equal(some["image"], every["image"][:7])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--split", "random"], "--split-seed draws its queries"),
        (["--option", "items=5"], "has no --option; got items=5"),
    ],
)
def test_what_a_file_cannot_honour_is_refused(tmp_path, matrices, options, said, capsys):
    np.savez(tmp_path / "mine.npz", **matrices)
    assert shard(tmp_path / "mine.npz", tmp_path / "shards", *options) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "shards").exists()


def test_a_missing_label_is_no_class(tmp_path, matrices):
    labels = [None, ["cat", None], *([str(label)] for label in matrices["labels"][2:])]
    columns = {name: pa.array(list(matrices[name])) for name in ("image", "text")}
    parquet.write_table(pa.table(columns | {"labels": pa.array(labels)}), tmp_path / "a.parquet")
    stream = stream_files(tmp_path / "a.parquet", seed=3)
    assert stream.class_names == ("cat", "dog", "owl")
    manifest = write_shards(stream, Folder(str(tmp_path / "shards")))
    assert manifest.unlabelled == 1


@pytest.mark.parametrize("rows", [50, 70])
def test_a_modality_of_more_or_fewer_rows_than_labels_is_refused_with_both_counts(tmp_path, matrices, rows):
    for name, array in (matrices | {"image": np.ones((rows, 4))}).items():
        np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(InputError, match=f"image has {rows} rows; there are labels for 60"):
        stream_files(tmp_path, seed=0)


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

"""Shards are read back as they were written; damaged ones are refused by name."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from smfh.__main__ import main
from smfh.datasets import make_source
from smfh.datasets.planted import Planted
from smfh.engine import Folder, fit_shards, read_manifest, stream_files, stream_source, write_shards
from smfh.engine.engine import ThisProcess
from smfh.engine.fitting import hash_codes
from smfh.engine.shards import Rows, Stream, read_rows
from smfh.hashing import make_method
from smfh.hashing.blocks import ROWS
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


def test_an_fsspec_address_works_like_a_path(tmp_path):
    address = f"file://{tmp_path}/shards"
    write_shards(stream_source(Planted(items=200), "default", 0, None), Folder(address))
    there, here = (fit_shards(TINY, a, ThisProcess()) for a in (address, str(tmp_path / "shards")))
    assert there.codes_sha256 == here.codes_sha256


def test_signed_shards_train_as_in_memory_or_are_refused(tmp_path):
    data, split = Planted(items=200).load()
    signed = replace(data, modalities={t: X - X.mean(axis=0) for t, X in data.modalities.items()})
    parts = signed.take(split.train), signed.take(split.queries)
    train, queries = (Rows(tuple(part.modalities.values()), part.labels) for part in parts)
    stream = Stream("signed", tuple(signed.modalities), signed.class_names, [train], queries)
    write_shards(stream, Folder(str(tmp_path)))
    for name, values in (("smfh-plus", {"anchors": 20}), ("cmfh", {})):
        method = make_method(name, bits=8, iterations=2, **values)
        codes = method.fit(signed.take(split.train)).database_codes
        assert fit_shards(method, str(tmp_path), ThisProcess()).codes_sha256 == hash_codes(codes.values())
    with pytest.raises(InputError, match="SMFH needs features ≥ 0, but these have negative values: image, text"):
        fit_shards(make_method("smfh", bits=8), str(tmp_path), ThisProcess())


@pytest.mark.parametrize("blocks", [1, 2])
def test_synthetic_items_in_shards_equal_those_in_memory(tmp_path, blocks):
    items, folder = ROWS + 2000, Folder(str(tmp_path / "shards"))
    stream = stream_source(make_source("synthetic"), "default", 0, items)
    manifest = write_shards(stream, folder, blocks * ROWS)
    assert len(manifest.parts) == 3 - blocks
    data, split = make_source("synthetic", items=items).load()
    found = rows_in(folder), read_rows(folder, manifest, manifest.queries)
    for (X, labels), rows in zip(found, (split.train, split.queries), strict=True):
        np.testing.assert_array_equal(labels, data.labels[rows])
        np.testing.assert_array_equal(X["image"], data.modalities["image"][rows])
        assert (X["text"] != data.modalities["text"][rows]).nnz == 0
    with pytest.raises(InputError, match="fixed split"):
        stream_source(make_source("synthetic"), "random", 0, items)


@pytest.mark.parametrize("kind", ["", ".npz", ".parquet"])
def test_files_are_streamed(tmp_path, matrices, kind):
    path = tmp_path / f"mine{kind}"
    if not kind:
        path.mkdir()
        for name, array in matrices.items():
            np.save(path / f"{name}.npy", array)
    elif kind == ".npz":
        np.savez_compressed(path, **matrices)
    else:
        columns = {name: pa.array(list(array)) for name, array in matrices.items()}
        columns["text"] = pa.FixedSizeListArray.from_arrays(pa.array(matrices["text"].reshape(-1)), 3)
        parquet.write_table(pa.table(columns), path)
    shards = Folder(str(tmp_path / "shards"))
    manifest = write_shards(stream_files(path, seed=0), shards)
    X, labels = rows_in(shards)
    queries = np.sort(np.random.default_rng(0).choice(60, manifest.queries.rows, replace=False))
    training = np.setdiff1d(np.arange(60), queries)
    for name in ("image", "text"):
        np.testing.assert_array_equal(X[name], matrices[name][training])
    words = np.array(read_manifest(shards).class_names)[labels.argmax(axis=1)]
    np.testing.assert_array_equal(words, matrices["labels"][training])


@pytest.fixture
def matrices(rng):
    """Of sixty items: two modalities and their labels, as words."""
    image, text = rng.random((60, 5)).astype(np.float32), rng.random((60, 3)).astype(np.float32)
    return {"image": image, "text": text, "labels": rng.choice(["cat", "dog", "owl"], 60)}


def shard(path: Path, to: Path, *options: str) -> int:
    return main(["shard", str(path), "--to", str(to), *options])


def test_a_file_with_its_own_split_keeps_it(tmp_path, matrices):
    parts = {"tr": slice(0, 40), "te": slice(40, 60)}
    names = {"I": "image", "T": "text", "L": "labels"}
    usual = {f"{n}_{p}": matrices[name][rows] for n, name in names.items() for p, rows in parts.items()}
    np.savez(tmp_path / "mine.npz", **usual)
    assert shard(tmp_path / "mine.npz", tmp_path / "shards") == 0
    X, _ = rows_in(folder := Folder(str(tmp_path / "shards")))
    np.testing.assert_array_equal(X["image"], matrices["image"][:40])
    assert read_manifest(folder).queries.rows == 20


def test_a_file_with_captions_or_fortran_order_is_accepted(tmp_path, matrices):
    turned = {"image": np.asfortranarray(matrices["image"]), "captions": np.array(["a word"] * 60)}
    np.savez(tmp_path / "mine.npz", **matrices | turned)
    assert shard(tmp_path / "mine.npz", tmp_path / "shards") == 0
    manifest = read_manifest(Folder(str(tmp_path / "shards")))
    assert [m.name for m in manifest.modalities] == ["image", "text"]
    assert manifest.items + manifest.queries.rows == 60


def test_items_limits_the_training_items_of_a_file(tmp_path, matrices):
    np.savez(tmp_path / "mine.npz", **matrices)
    for name, options in (("all", ()), ("some", ("--items", "7"))):
        assert shard(tmp_path / "mine.npz", tmp_path / name, *options) == 0
    (every, _), (some, labels) = (rows_in(Folder(str(tmp_path / name))) for name in ("all", "some"))
    assert len(labels) == 7
    np.testing.assert_array_equal(some["image"], every["image"][:7])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split", "random"], "--split-seed chooses its held-out queries"),
        (["--option", "items=5"], "--option items=5 works only with a built-in data set"),
    ],
)
def test_options_that_do_not_apply_to_a_file_are_refused(tmp_path, matrices, options, message, capsys):
    np.savez(tmp_path / "mine.npz", **matrices)
    assert shard(tmp_path / "mine.npz", tmp_path / "shards", *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "shards").exists()


@pytest.mark.parametrize("rows", [50, 70])
def test_different_numbers_of_rows_are_refused_with_both_numbers(tmp_path, matrices, rows):
    for name, array in (matrices | {"image": np.ones((rows, 4))}).items():
        np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(InputError, match=f"image has {rows} rows; there are labels for 60"):
        stream_files(tmp_path, seed=0)


def change_last_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "spoil", "named"),
    [
        ("part-00000/0.npy", Path.unlink, "is missing"),
        ("part-00000/0.npy", lambda file: file.write_bytes(file.read_bytes()[:-8]), "is truncated"),
        ("part-00000/labels.npy", change_last_bit, "was changed"),
        ("part-00009", Path.mkdir, ".*is not in the manifest"),
    ],
)
def test_damaged_shards_are_refused_by_name_before_training(folder, name, spoil, named):
    spoil(Path(folder.address) / name)
    steps = []
    with pytest.raises(InputError, match=f"{name} {named}"):
        fit_shards(TINY, folder.address, ThisProcess(), on_step=steps.append)
    assert steps == []


def test_an_invalid_manifest_is_refused(folder, tmp_path):
    manifest = Path(folder.address) / "manifest.json"
    message = json.loads(manifest.read_text())
    seventh = json.dumps(message | {"version": 7})
    for text, problem in ((seventh, "smfh-shards 7"), ("{", "damaged"), ("{}", "not a valid list of shards")):
        manifest.write_text(text)
        with pytest.raises(InputError, match=problem):
            read_manifest(folder)
    with pytest.raises(InputError, match="no shards"):
        read_manifest(Folder(str(tmp_path)))


def test_shards_are_not_overwritten_and_parts_are_multiples_of_a_block(folder):
    stream = stream_source(Planted(items=50), "default", 0, None)
    with pytest.raises(InputError, match="already"):
        write_shards(stream, folder)
    with pytest.raises(InputError, match=f"multiple of {ROWS}"):
        write_shards(stream, Folder(folder.address + "2"), 1000)

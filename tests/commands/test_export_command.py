"""The command export: its files, and the models and file names that it refuses."""

import pytest

from smfh.__main__ import main
from smfh.datasets import Planted
from smfh.hashing import make_method, save_hasher

FORMATS = ["parquet", "pgvector"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    data, split = Planted().load()
    path = tmp_path_factory.mktemp("model") / "m.npz"
    save_hasher(make_method("cvh", bits=8).fit(data.take(split.train)), path)
    return path


def export(model, to, out, *more):
    return main(["export", str(model), "--to", to, "--out", str(out), "--dataset", "planted", *more])


@pytest.mark.parametrize("name", ["codes", "codes.v2.table"])
@pytest.mark.parametrize("to", FORMATS)
def test_any_file_name_is_accepted(model, tmp_path, capsys, to, name):
    assert export(model, to, tmp_path / name) == 0
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert capsys.readouterr().out.startswith(f"{tmp_path / name}: ")


@pytest.mark.parametrize(("name", "second"), [("m.faiss", "m.ivf.faiss"), ("a.v2.bin", "a.v2.ivf.bin")])
@pytest.mark.extra
def test_faiss_writes_two_indexes(model, tmp_path, name, second):
    pytest.importorskip("faiss", reason="faiss is not installed: python -m pip install faiss-cpu")
    assert export(model, "faiss", tmp_path / name) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([name, second])


def test_missing_folders_and_the_model_itself_are_refused_as_output(model, tmp_path, capsys):
    for out in (tmp_path / "none" / "codes", tmp_path):
        assert export(model, "parquet", out) == 2
        assert f"--out needs a file name in a folder that exists; got {out}" in capsys.readouterr().err
    before = model.read_bytes()
    assert export(model, "parquet", model) == 2
    assert "--out is the model file itself" in capsys.readouterr().err
    assert model.read_bytes() == before


def test_search_engines_have_hamming_distance_only(model, tmp_path, capsys):
    assert export(model, "parquet", tmp_path / "codes", "--distance", "hamming") == 0
    capsys.readouterr()
    assert export(model, "parquet", tmp_path / "others", "--distance", "asymmetric") == 2
    assert "parquet searches by Hamming distance only" in capsys.readouterr().err


def test_a_model_trained_on_shards_is_refused_since_it_has_no_codes(tmp_path, capsys):
    shards, bare = str(tmp_path / "shards"), tmp_path / "bare.npz"
    assert main(["shard", "planted", "--to", shards]) == 0
    few = ["--bits", "8", "--iterations", "2", "--workers", "1"]
    assert main(["fit", "--shards", shards, "--method", "smfh", *few, "--save", str(bare)]) == 0
    capsys.readouterr()
    assert export(bare, "parquet", tmp_path / "codes") == 2
    assert "has no codes: it was trained on shards" in capsys.readouterr().err
    assert not (tmp_path / "codes").exists()

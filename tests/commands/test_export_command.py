"""export as a person meets it: any file name, and a reason for every refusal."""

import pytest

from smfh.__main__ import main
from smfh.datasets import Planted
from smfh.hashing import load_hasher, make_method, save_hasher

FORMATS = ["parquet", "pgvector"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    data, split = Planted().load()
    path = tmp_path_factory.mktemp("model") / "m.npz"
    save_hasher(make_method("cvh", bits=8).fit(data.take(split.train)), path)
    return path


def export(model, to, out, *more):
    return main(["export", str(model), "--to", to, "--out", str(out), "--dataset", "planted", *more])


@pytest.mark.parametrize("name", ["codes", "codes.dat", "codes.v2.table"])
@pytest.mark.parametrize("to", FORMATS)
def test_the_file_is_called_as_it_is_asked_for(model, tmp_path, capsys, to, name):
    assert export(model, to, tmp_path / name) == 0
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert capsys.readouterr().out.startswith(f"{tmp_path / name}: ")


@pytest.mark.parametrize(
    ("name", "beside"), [("m.faiss", "m.ivf.faiss"), ("codes", "codes.ivf"), ("a.v2.bin", "a.v2.ivf.bin")]
)
def test_the_index_of_lists_stands_beside_the_flat_one(model, tmp_path, name, beside):
    pytest.importorskip("faiss", reason="faiss is not installed: python -m pip install faiss-cpu")
    assert export(model, "faiss", tmp_path / name) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([name, beside])


def test_a_folder_that_is_not_there_a_folder_and_the_model_itself_are_no_file_to_write(
    model, tmp_path, capsys
):
    for out in (tmp_path / "none" / "codes", tmp_path):
        assert export(model, "parquet", out) == 2
        assert f"--out needs a file name in a folder that exists; got {out}" in capsys.readouterr().err
    before = model.read_bytes()
    assert export(model, "parquet", model) == 2
    assert "--out is the model itself" in capsys.readouterr().err
    assert model.read_bytes() == before


def test_a_model_of_shards_holds_no_codes_and_that_is_the_reason_told(tmp_path, capsys):
    shards, bare = str(tmp_path / "shards"), tmp_path / "bare.npz"
    assert main(["shard", "planted", "--to", shards]) == 0
    few = ["--bits", "8", "--iterations", "2", "--workers", "1"]
    assert main(["fit", "--shards", shards, "--method", "smfh", *few, "--save", str(bare)]) == 0
    capsys.readouterr()
    assert export(bare, "parquet", tmp_path / "codes") == 2
    told = capsys.readouterr().err
    assert "holds no codes: it was trained on shards, and the codes stay there" in told
    assert "other rows" not in told
    assert not (tmp_path / "codes").exists()


def test_help_says_which_modality_is_searched_in_which_format(capsys):
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "default: the first that is not --source for html, else the model's first" in told


@pytest.mark.parametrize("to", FORMATS)
def test_without_a_target_the_models_first_modality_is_exported(model, tmp_path, to):
    assert export(model, to, tmp_path / "usual") == 0
    assert export(model, to, tmp_path / "named", "--target", load_hasher(model).modalities[0]) == 0
    assert (tmp_path / "usual").read_bytes() == (tmp_path / "named").read_bytes()

"""The command line as a person meets it."""

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.io import savemat

from smfh.__main__ import COMMANDS, main
from smfh.datasets import DATASETS
from smfh.datasets.planted import Planted
from smfh.features.pictures import decode_image

FAST = ["--bits", "8", "--iterations", "3"]


def test_fit_prints_one_json_object(capsys):
    assert main(["fit", "planted", *FAST, "--seed", "4", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {key: report[key] for key in ("dataset", "method", "bits", "seed")} == {
        "dataset": "planted",
        "method": "smfh-plus",
        "bits": 8,
        "seed": 4,
    }
    assert report["seconds"] > 0
    assert report["scores"].keys() == {"text->image", "image->text"}
    for row in report["scores"].values():
        assert {"map", "map_all", "p_at_100", "map_tie_aware", "map_unseen", "map_all_unseen"} <= row.keys()
        assert 0 <= row["map"] <= 1


def test_map_all_is_that_of_the_whole_ranking_whichever_definition_is_asked_for(capsys):
    rows = {}
    for definition in ("found", "full"):
        assert main(["fit", "planted", *FAST, "--ap", definition, "--json"]) == 0
        rows[definition] = json.loads(capsys.readouterr().out)["scores"]["text->image"]
    for suffix in ("", "_unseen"):
        assert (
            rows["found"][f"map_all{suffix}"]
            == rows["full"][f"map_all{suffix}"]
            == rows["full"][f"map{suffix}"]
        )
    assert rows["found"]["map_all"] != rows["found"]["map"]


def test_every_parameter_can_be_given_by_name_and_by_letter(capsys):
    letters = ["--alpha", "3", "--mu", "4", "-m", "50", "--lambda", "0.7,0.3", "--beta", "0.1"]
    main(["fit", "planted", "--method", "smfh", *FAST, *letters, "--eta", "0.2", "--gamma", "0.3", "--json"])
    values = json.loads(capsys.readouterr().out)["parameters"]
    assert values == {
        "bits": 8,
        "graph_weight": 3.0,
        "projection_weight": 4.0,
        "graph_sample": 50,
        "modality_weights": [0.7, 0.3],
        "orthogonality_weight": 0.1,
        "smoothness": 0.2,
        "ridge": 0.3,
        "iterations": 3,
        "tolerance": 0.0,
        "seed": 0,
    }


def test_a_preset_is_a_start_that_options_override(capsys):
    main(["fit", "planted", "--preset", "linear", "--gamma", "0.5", *FAST, "--json"])
    values = json.loads(capsys.readouterr().out)["parameters"]
    assert (values["anchors"], values["ridge"]) == (0, 0.5)


def test_three_modalities_by_an_option_of_the_data(capsys):
    assert main(["fit", "planted", "--option", "modalities=3", "--option", "items=120", *FAST, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["scores"]) == 6


def test_a_saved_model_scores_the_same(capsys, tmp_path):
    model = str(tmp_path / "model.npz")
    main(["fit", "planted", *FAST, "--save", model, "--json"])
    fitted = json.loads(capsys.readouterr().out)
    assert main(["evaluate", model, "planted", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == fitted
    assert main(["evaluate", model, "planted", "--split-seed", "1"]) == 2
    assert "trained on other rows" in capsys.readouterr().err
    assert main(["evaluate", model, "planted", "--split-seed", "1", "--unseen-only"]) == 0
    assert "mAP unseen" in capsys.readouterr().out


def test_a_file_of_ones_own(capsys, tmp_path):
    data, split = Planted(items=60).load()
    path = tmp_path / "mine.mat"
    parts = {"tr": split.train, "te": split.queries}
    features = {"I": data.modalities["image"], "T": data.modalities["text"], "L": data.labels.astype(float)}
    savemat(path, {f"{name}_{part}": X[rows] for name, X in features.items() for part, rows in parts.items()})
    assert main(["fit", str(path), *FAST, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["items"] == {"train": len(split.train), "queries": len(split.queries)}
    assert main(["compare", str(path), "--methods", "cvh", "--bits", "8", "--seeds", "1", "--json"]) == 0
    assert [row["method"] for row in json.loads(capsys.readouterr().out)] == ["cvh", "cvh"]
    assert main(["fit", "planted", "--option", "items=60", *FAST, "--split", str(path), "--json"]) == 0
    matched = json.loads(capsys.readouterr().out)["scores"]
    assert matched["text->image"]["map"] == pytest.approx(printed["scores"]["text->image"]["map"])


def test_a_split_of_ones_own(capsys, tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, train=np.arange(300), test=np.arange(300, 330))
    assert main(["fit", "planted", *FAST, "--split", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == {"train": 300, "queries": 30}
    np.savez(path, train=np.arange(300), test=np.arange(300, 9999))
    assert main(["fit", "planted", "--split", str(path)]) == 2
    assert "names row 9998, but there are 400 items" in capsys.readouterr().err


def test_the_table_for_people_says_what_it_shows(capsys):
    main(["fit", "planted", *FAST, "--ap", "full"])
    text = capsys.readouterr().out
    for word in ("text->image", "chance", "in the whole ranking", "training items", "One split and one seed"):
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["fit", "atlantis"], [f"Unknown data set 'atlantis'; there are {', '.join(DATASETS)}."]),
        (["fit", "planted", "--method", "md5"], ["Unknown method 'md5'; there are "]),
        (
            ["fit", "planted", "--method", "cmfh", "--bits", "0", "--gamma", "x", "-m", "3"],
            ["bits (r)", "ridge must", "graph_sample"],
        ),
        (["fit", "planted", "--bits", "1025"], ["from 1 to 1,024; got 1025"]),
        (
            ["fit", "planted", "--method", "smfh", "-m", "0"],
            ["graph_sample (m) must be a whole number from 1"],
        ),
        (["fit", "planted", "--lambda", "0.5,0.6"], ["must sum to 1"]),
        (["fit", "planted", "--lambda", "a,b"], ["modality_weights (λ) must be a number"]),
        (["fit", "planted", "--preset", "gold"], ["Unknown preset of smfh-plus 'gold'"]),
        (
            ["fit", "planted", "--option", "colour=1"],
            ["Unknown option of planted 'colour'; there are classes,"],
        ),
        (
            ["fit", "planted", "--option", "items=many"],
            ["items must be a whole number, such as 400; got 'many'"],
        ),
        (["fit", "planted", "--split", "no.npz"], ["no.npz cannot be opened: No such file"]),
        (["fit", "planted", "--save", "model.txt"], ["ends in .npz"]),
        (["fit", "planted", "--data", "no/such/folder"], ["There is no folder no/such/folder"]),
        (["evaluate", "no.npz", "planted"], ["no.npz cannot be opened: No such file"]),
        (
            ["paper", "--methods", "md5", "--seeds", "0"],
            ["Unknown method 'md5'", "--seeds must be 1 or more"],
        ),
        (
            ["tune", "--datasets", "atlantis", "--goal", "luck"],
            ["Unknown data set 'atlantis'", "Unknown measure 'luck'; there are balanced"],
        ),
    ],
)
def test_bad_input_is_told_in_full_and_without_a_traceback(capsys, arguments, messages):
    assert main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "Traceback" not in told.err
    for message in messages:
        assert message in told.err
    assert all(line.startswith("error: ") for line in told.err.splitlines())


@pytest.mark.slow
@pytest.mark.usefixtures("wiki_folder")
def test_paper_as_json_and_csv(capsys):
    assert main(["paper", "--methods", "smfh", "--seeds", "1", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(rows) == 12
    assert main(["paper", "--methods", "smfh", "--seeds", "1", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)
    for cell, row in zip(cells, rows, strict=True):
        if cell["measure"] != "seconds":
            assert cell["mean"] == float(row["mean"])


def test_paper_takes_the_seed_of_the_split(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    few = ["paper", "--datasets", "planted", "--methods", "cvh", "--seeds", "1", "--json"]
    scores = []
    for seed in ("0", "1"):
        assert main([*few, "--split-seed", seed]) == 0
        cells = json.loads(capsys.readouterr().out)
        scores.append([cell["mean"] for cell in cells if cell["measure"] == "map"])
    assert scores[0] != scores[1]


def test_without_the_benchmarks_paper_says_where_they_belong(capsys, monkeypatch):
    monkeypatch.delenv("SMFH_DATA", raising=False)
    assert main(["paper"]) == 2
    assert "SMFH_DATA" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_examples(capsys, command):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"python -m smfh {command}" in capsys.readouterr().out.split("examples:")[1]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "smfh", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=os.environ)


def test_as_a_real_process_it_exits_with_2_on_bad_input():
    finished = run("fit", "atlantis")
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("error: Unknown data set")


def test_help_does_not_load_what_is_slow():
    code = (
        "import sys, smfh, smfh.__main__\n"
        "try: smfh.__main__.main(['--help'])\n"
        "except SystemExit: pass\n"
        "slow = ('numba', 'optuna', 'streamlit', 'sklearn', 'skimage', 'plotly')\n"
        "print([m for m in slow if m in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "[]"


def test_data_lists_every_set_and_looks_into_one(capsys, tmp_path):
    assert main(["data"]) == 0
    listed = capsys.readouterr().out
    for name in DATASETS:
        assert f"({name}): " in listed
    assert main(["data", "planted"]) == 0
    assert "class 0" in capsys.readouterr().out
    assert main(["data", "planted", "--sheet", str(tmp_path / "sheet.png")]) == 2
    assert "needs a set with pictures" in capsys.readouterr().err
    assert main(["data", "planted", "--fetch"]) == 2
    assert "cannot be fetched by program" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(bool(DATASETS["emoji"]().missing()), reason="the packages of Emoji are missing")
def test_a_contact_sheet_of_emoji(capsys, tmp_path):
    assert main(["data", "emoji", "--sheet", str(tmp_path / "sheet.png")]) == 0
    assert "People & Body" in capsys.readouterr().out
    pixels = decode_image((tmp_path / "sheet.png").read_bytes())
    assert pixels.shape[1] == 12 * 112
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 200


@pytest.mark.parametrize(
    ("to", "files"),
    [("faiss", ["m.faiss", "m.ivf.faiss"]), ("parquet", ["m.parquet"]), ("pgvector", ["m.sql"])],
)
def test_codes_of_a_saved_model_are_exported(capsys, tmp_path, to, files):
    if to == "faiss":
        pytest.importorskip("faiss", reason="faiss is not installed: python -m pip install faiss-cpu")
    model, out = str(tmp_path / "m.npz"), str(tmp_path / files[0])
    assert main(["fit", "planted", *FAST, "--save", model]) == 0
    capsys.readouterr()
    assert main(["export", model, "--to", to, "--out", out, "--dataset", "planted"]) == 0
    told = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert told == [str(tmp_path / file) for file in files]
    assert all((tmp_path / file).stat().st_size for file in files)
    assert main(["export", model, "--to", to, "--out", out, "--dataset", "planted", "--split-seed", "5"]) == 2
    assert "trained on other rows" in capsys.readouterr().err

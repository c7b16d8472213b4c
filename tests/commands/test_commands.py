"""The commands fit, evaluate, data and export, the errors of all commands, and their help."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from layouts import Items, class_folders
from PIL import Image
from scipy.io import savemat

from smfh.__main__ import COMMANDS, main
from smfh.datasets import DATASETS
from smfh.datasets.planted import Planted
from smfh.features.pictures import decode_image
from smfh.hashing import SMFHPlus, load_hasher
from smfh.retrieval.evaluation import evaluate
from smfh.runs import run_key

FAST = ["--bits", "8", "--iterations", "3"]


@pytest.fixture
def printed(capsys):
    """Run a command that succeeds and return the JSON object that it prints."""

    def run(*arguments):
        assert main([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_fit_takes_a_folder_of_pictures(printed, tmp_path):
    class_folders(tmp_path, Items(16))
    report = printed("fit", str(tmp_path), *FAST)
    assert report["dataset"] == "own"
    assert report["items"] == {"train": 12, "queries": 4}


@pytest.mark.parametrize("command", ["fit", "search", "data"])
def test_a_folder_has_its_features_stored_and_a_wrong_path_is_named(command, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path / "cache"))
    class_folders(tmp_path / "photos", Items(16))
    rest = {"fit": FAST, "search": ["circle", *FAST]}.get(command, [])
    assert main([command, str(tmp_path / "photos"), *rest]) == 0
    assert f"The features of the pictures are stored in {tmp_path / 'cache'}" in capsys.readouterr().err
    assert main([command, str(tmp_path / "photo"), *rest]) == 2
    assert f"There is no folder or file {tmp_path / 'photo'}." in capsys.readouterr().err


def test_data_without_labels_is_described(capsys, tmp_path):
    np.savez(tmp_path / "mine.npz", **Items(16).matrices)
    assert main(["data", str(tmp_path / "mine.npz")]) == 0
    assert "no labels: only the rank of an item's matching item can be scored" in capsys.readouterr().out


def test_app_opens_a_folder_only_on_this_computer(tmp_path, monkeypatch, capsys):
    started = []
    monkeypatch.setattr(os, "execv", lambda program, command: started.append(command))
    monkeypatch.setattr(os, "environ", dict(os.environ))
    assert main(["app", "--data", str(tmp_path)]) == 0
    assert os.environ["SMFH_OPEN"] == str(tmp_path)
    assert main(["app", "--data", str(tmp_path), "--address", "192.168.1.7"]) == 2
    assert main(["app", "--data", str(tmp_path / "absent")]) == 2
    assert capsys.readouterr().err.count("--data needs a folder or file on this machine") == 2
    assert len(started) == 1


def test_fit_prints_one_json_object(printed):
    report = printed("fit", "planted", *FAST, "--seed", "4")
    about = {key: report[key] for key in ("dataset", "method", "bits", "seed")}
    assert about == {"dataset": "planted", "method": "smfh-plus", "bits": 8, "seed": 4}
    assert report["seconds"] > 0
    assert report["scores"].keys() == {"text->image", "image->text"}
    names = ("map", "map_all", "p_at_100", "ndcg_at_100", "map_tie_aware", "map_worst", "map_best", "chance")
    for row in report["scores"].values():
        assert {f"{name}{suffix}" for name in names for suffix in ("", "_unseen")} <= row.keys()
        assert 0 <= row["map"] <= 1
        assert 1 <= row["distinct_codes"] <= report["items"]["train"]
        assert 1 <= row["distinct_codes_unseen"] <= report["items"]["queries"]
        assert 0 <= row["recall_at_1"] <= row["recall_at_5"] <= row["recall_at_10"] <= 1 <= row["median_rank"]
    assert report["distance"] == "hamming"
    assert re.fullmatch(
        r"ridge \S+ for images and \S+ for texts, chosen by ranking left-out training rows", report["note"]
    )


def test_all_commands_score_by_the_chosen_distance(printed, tmp_path):
    model = str(tmp_path / "model.npz")
    fit = printed("fit", "planted", *FAST, "--save", model, "--distance", "asymmetric")
    assert fit["distance"] == "asymmetric"
    assert printed("evaluate", model, "planted", "--distance", "asymmetric")["scores"] == fit["scores"]
    data, split = DATASETS["planted"]().load()
    expected = evaluate(load_hasher(Path(model)), data, split, "text", "image", distance="asymmetric")
    row = fit["scores"]["text->image"]
    assert (row["map"], row["ndcg_at_100"]) == (expected.mean_average_precision, expected.ndcg_at_100)
    compared = printed(
        *("compare", "planted", "--methods", "smfh-plus:iterations=3", "--bits", "8", "--seeds", "1"),
        *("--distance", "asymmetric"),
    )
    assert [one["mean"] for one in compared] == [one["map"] for one in fit["scores"].values()]
    assert {one["distance"] for one in compared} == {"asymmetric"}
    assert [one["distinct_codes"] for one in compared] == [one["distinct_codes"] for one in fit["scores"].values()]
    hamming = printed("fit", "planted", *FAST)["scores"]["text->image"]
    assert hamming["map_tie_aware"] != row["map_tie_aware"]


def test_a_run_trained_by_fit_is_found_by_the_pages_and_used_again(printed, store, capsys):
    report = printed("fit", "planted", *FAST)
    data, split = DATASETS["planted"]().load()
    record = store.find(run_key(data, split, SMFHPlus(bits=8, iterations=3)))
    assert record is not None
    assert record.headline("text", "image")["found"] == report["scores"]["text->image"]["map"]
    assert main(["fit", "planted", *FAST, "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out) == report  # it was not trained again
    assert "Using the saved run" in output.err


@pytest.mark.parametrize("option", ["--fresh", "--no-save"])
def test_a_fresh_fit_neither_reads_nor_saves_runs(printed, store, option):
    saved, fresh = printed("fit", "planted", *FAST), printed("fit", "planted", *FAST, option)
    assert fresh.pop("seconds") != saved.pop("seconds")
    assert fresh == saved
    printed("fit", "planted", *FAST, "--seed", "1", option)
    assert len(store.records()) == 1


def test_parameters_can_be_given_by_name_and_by_letter(printed):
    letters = ["--alpha", "3", "--mu", "4", "-m", "50", "--lambda", "0.7,0.3", "--beta", "0.1"]
    letters += ["--eta", "0.2", "--gamma", "0.3"]
    values = printed("fit", "planted", "--method", "smfh", *FAST, *letters)["parameters"]
    weights = {"graph_weight": 3.0, "projection_weight": 4.0, "orthogonality_weight": 0.1}
    weights |= {"smoothness": 0.2, "ridge": 0.3, "modality_weights": [0.7, 0.3]}
    assert values == weights | {"bits": 8, "graph_sample": 50, "iterations": 3, "tolerance": 0.0, "seed": 0}


def test_a_saved_model_has_the_same_scores(printed, capsys, tmp_path):
    model = str(tmp_path / "model.npz")
    fitted = printed("fit", "planted", *FAST, "--save", model)
    assert printed("evaluate", model, "planted") == fitted
    assert main(["evaluate", model, "planted", "--split-seed", "1"]) == 2
    assert "was not trained on the training items" in capsys.readouterr().err
    assert main(["evaluate", model, "planted", "--split-seed", "1", "--unseen-only"]) == 0
    assert "mAP unseen" in capsys.readouterr().out


def test_a_file_of_the_user_is_trained_and_compared_but_not_saved(printed, store, tmp_path):
    data, split = Planted(items=60).load()
    path = str(tmp_path / "mine.mat")
    parts = {"tr": split.train, "te": split.queries}
    features = {"I": data.modalities["image"], "T": data.modalities["text"], "L": data.labels.astype(float)}
    savemat(path, {f"{name}_{part}": X[rows] for name, X in features.items() for part, rows in parts.items()})
    report = printed("fit", path, *FAST)
    assert report["items"] == {"train": len(split.train), "queries": len(split.queries)}
    compared = printed("compare", path, "--methods", "cvh", "--bits", "8", "--seeds", "1")
    assert [row["method"] for row in compared] == ["cvh", "cvh"]
    assert store.records() == []
    matched = printed("fit", "planted", "--option", "items=60", *FAST, "--split", path)
    scores = (one["scores"]["text->image"]["map"] for one in (matched, report))
    assert next(scores) == pytest.approx(next(scores))


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ("fit atlantis", [f"Unknown data set 'atlantis'; choose from {', '.join(DATASETS)}."]),
        ("fit planted --method md5", ["Unknown method 'md5'; choose from "]),
        ("fit planted --method cmfh --bits 0 --gamma x -m 3", ["bits (r)", "ridge must", "graph_sample"]),
        ("fit planted --method smfh -m 0", ["graph_sample (m) must be a whole number from 1"]),
        ("fit planted --lambda 0.5,0.6", ["must sum to 1"]),
        ("fit planted --preset gold", ["Unknown preset of smfh-plus 'gold'"]),
        ("fit planted --option colour=1", ["Unknown option of planted 'colour'; choose from classes,"]),
        ("fit planted --option items=many", ["items must be a whole number, such as 400; got 'many'"]),
        ("fit planted --split no.npz", ["no.npz cannot be opened: No such file"]),
        ("fit planted --save model.txt", ["ends in .npz"]),
        ("fit planted --data no/such/folder", ["there is no folder no/such/folder"]),
        ("evaluate no.npz planted", ["no.npz cannot be opened: No such file"]),
        ("paper --datasets imagenet --methods md5 --seeds 0", ["'md5'", "'imagenet'", "--seeds must be 1"]),
        ("tune --datasets atlantis --goal luck", ["Unknown data set 'atlantis'", "Unknown measure 'luck'"]),
        ("compare planted --html no/such/folder/a.html", ["ends in .html in a folder that exists"]),
        ("compare planted --seeds 0 --bits 0", ["1 to 20 seeds; got 0", "bits (r)"]),
    ],
)
def test_one_error_lists_all_problems(capsys, arguments, messages):
    assert main(arguments.split()) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert all(line.startswith("error: ") for line in output.err.splitlines())
    for message in messages:
        assert message in output.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(capsys, command):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert f"python -m smfh {command}" in capsys.readouterr().out.split("examples:")[1]


def test_a_process_exits_with_2_on_wrong_input():
    command = [sys.executable, "-m", "smfh", "fit", "atlantis"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=os.environ)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("error: Unknown data set")


def test_help_does_not_import_slow_packages():
    code = (
        "import sys, smfh, smfh.__main__\ntry: smfh.__main__.main(['--help'])\nexcept SystemExit: pass\n"
        "slow = ('numba', 'optuna', 'streamlit', 'sklearn', 'skimage', 'plotly', 'pandas', 'distributed')\n"
        "print([m for m in slow if m in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "[]"


def test_data_lists_all_data_sets_and_describes_one(capsys, tmp_path):
    assert main(["data"]) == 0
    listed = capsys.readouterr().out
    assert all(f"({name}): " in listed for name in DATASETS)
    assert main(["data", "planted"]) == 0
    assert "class 0" in capsys.readouterr().out
    assert main(["data", "planted", "--sheet", str(tmp_path / "sheet.png")]) == 2
    assert "needs a data set with pictures" in capsys.readouterr().err
    assert main(["data", "planted", "--fetch"]) == 2
    assert "planted" in capsys.readouterr().err.lower()


@pytest.mark.slow
@pytest.mark.skipif(bool(DATASETS["emoji"]().missing()), reason="the packages of Emoji are missing")
def test_a_contact_sheet_of_emoji(capsys, tmp_path):
    assert main(["data", "emoji", "--sheet", str(tmp_path / "sheet.png")]) == 0
    assert "People & Body" in capsys.readouterr().out
    pixels = decode_image((tmp_path / "sheet.png").read_bytes())
    assert pixels.shape[1] == 12 * 112
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 200


def test_map_all_does_not_depend_on_the_chosen_definition(printed):
    found, full = (printed("fit", "planted", *FAST, "--ap", ap)["scores"]["text->image"] for ap in ("found", "full"))
    for suffix in ("", "_unseen"):
        assert found[f"map_all{suffix}"] == full[f"map_all{suffix}"] == full[f"map{suffix}"]
    assert found["map_all"] != found["map"]


def test_search_prints_results_and_how_words_are_interpreted(printed, capsys, tmp_path):
    fast = ["--bits", "16", "--iterations", "2", "--rounds", "1"]
    found = printed("search", "emoji", "sedan -police", *fast, "-k", "5")
    assert "car" in found["interpreted_as"]["sedan"]
    assert found["excluded"] == ["police"]
    assert len(found["results"]) == 5
    assert found["results"][0].keys() == {"row", "caption", "labels", "distance"}
    assert not any("police" in result["caption"] for result in found["results"])
    picture = tmp_path / "picture.png"
    Image.new("RGB", (32, 32), "red").save(picture)
    both = printed("search", "emoji", "pizza", "--image", str(picture), "--not", "face", *fast)
    assert both["results"][0]["caption"] == "pizza"
    assert both["is_unlike_all"]  # no drawing is a plain red square
    assert (both["exact_names"], both["containing_words"]) == (1, 0)
    alone = printed("search", "emoji", "--image", str(picture), "--not", "square circle", *fast)
    assert alone["excluded"] == ["square", "circle"]
    assert not any("square" in result["caption"] for result in alone["results"])
    assert printed("search", "emoji", "piza", *fast)["results"][0]["caption"] == "pizza"
    coffee = printed("search", "emoji", "coffee", *fast)
    assert (coffee["results"][0]["caption"], coffee["exact_names"]) == ("hot beverage", 0)
    assert printed("search", "emoji", "zzxqj", *fast)["is_guess"]
    assert main(["search", "emoji", "the", *fast]) == 0
    output = capsys.readouterr().out
    assert "No close match; these are guesses." in output
    assert "The database is all items" in output


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "Type words"),
        (["dog", "-k", "0"], "-k must be 1 to 100"),
        (["--image", "absent.png"], "there is no file absent.png"),
        (["!?"], "The query has no words"),
        (["sedan", "--exact-words"], "None of these words occurs"),
    ],
)
def test_a_search_that_cannot_be_made_is_refused(capsys, given, problem):
    assert main(["search", "emoji", *given]) == 2
    assert problem in capsys.readouterr().err

"""CLIP and SigLIP 2 as encoders of one's own pictures, with a tiny pair of networks for three colours."""

import json
import sys

import numpy as np
import pytest
from layouts import Items, put_pictures, table_of

from smfh.commands import app, fit, search
from smfh.datasets import user_pictures
from smfh.datasets.user_data import UserDataset
from smfh.features.embedding import EmbeddedPictures, EmbeddedTexts, load_model
from smfh.types import InputError

COLOURS = {"red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255)}
NEUTRAL = {  # what fastembed expects beside CLIP's pictures; values stay 0 to 1
    "image_processor_type": "CLIPImageProcessor",
    **{f"do_{step}": True for step in ("resize", "center_crop", "rescale", "normalize", "convert_rgb")},
    **{"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}, "resample": 3},
    **{"rescale_factor": 1 / 255, "image_mean": [0.0] * 3, "image_std": [1.0] * 3},
}


def write_pair(folder):
    """The features of a picture are 1 − its mean colour; those of words are the same for their colours."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed: python -m pip install onnx")
    pytest.importorskip("fastembed", reason="fastembed is not installed: python -m pip install fastembed")
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers

    def save(name, nodes, input, constants):
        output = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 3])
        fixed = [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()]
        graph = helper.make_graph(nodes, "tiny", [input], [output], fixed)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        (folder / name).parent.mkdir(parents=True)
        onnx.save(model, folder / name)

    pixels = helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["n", 3, 32, 32])
    mean = helper.make_node("ReduceMean", ["pixel_values"], ["mean"], axes=[2, 3], keepdims=0)
    rest = helper.make_node("Sub", ["white", "mean"], ["features"])
    save("vision/model.onnx", [mean, rest], pixels, {"white": np.ones(3, np.float32)})
    (folder / "vision/preprocessor_config.json").write_text(json.dumps(NEUTRAL))

    known = {"[PAD]": 0, "[UNK]": 1} | {word: k for k, word in enumerate(COLOURS, start=2)}
    table = np.zeros((len(known), 3), np.float32)
    table[2:] = 1 - np.array(list(COLOURS.values())) / 255
    table[1] = 0.01
    words = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "length"])
    look_up = helper.make_node("Gather", ["table", "input_ids"], ["each"])
    total = helper.make_node("ReduceMean", ["each"], ["features"], axes=[1], keepdims=0)
    save("text/model.onnx", [look_up, total], words, {"table": table})
    tokenizer = Tokenizer(models.WordLevel(known, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "text/tokenizer.json"))
    about = {"model_max_length": 77, "pad_token": "[PAD]", "unk_token": "[UNK]"}
    (folder / "text/tokenizer_config.json").write_text(json.dumps(about))
    (folder / "text/config.json").write_text(json.dumps({"pad_token_id": 0}))
    (folder / "text/special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]", "unk_token": "[UNK]"}))
    return f"clip={folder}"


@pytest.fixture
def encoder(tmp_path):
    yield write_pair(tmp_path / "model")
    load_model.cache_clear()


@pytest.fixture
def pictures(tmp_path):
    """Shapes in four colours, whose captions name the colour."""
    items = Items(64)
    put_pictures(tmp_path / "shapes", items)
    table_of(items).assign(text=items.colours, label=items.colours).to_csv(
        tmp_path / "shapes/metadata.csv", index=False
    )
    return tmp_path / "shapes"


@pytest.mark.extra
def test_pictures_and_words_share_a_space(encoder):
    squares = [np.full((40, 60, 3), colour, dtype=np.uint8) for colour in COLOURS.values()]
    image, text = EmbeddedPictures(encoder).encode(squares), EmbeddedTexts(encoder).encode(list(COLOURS))
    assert image.shape == text.shape == (3, 3)
    np.testing.assert_allclose(np.linalg.norm(image, axis=1), 1, rtol=1e-5)
    assert (image @ text.T).argmax(axis=1).tolist() == [0, 1, 2]


@pytest.mark.extra
def test_a_folder_is_trained_and_searched_with_the_encoder(encoder, pictures, capsys, monkeypatch, run_command):
    data, _ = UserDataset(pictures, encoder=encoder).load()
    assert {name: X.shape[1] for name, X in data.modalities.items()} == {"image": 3, "text": 3}
    monkeypatch.setattr(user_pictures, "decode_picture", None)  # the second time, nothing is decoded
    again, _ = UserDataset(pictures, encoder=encoder).load()
    np.testing.assert_array_equal(again.modalities["image"], data.modalities["image"])
    run_command(search, str(pictures), "a blue thing", "--encoder", encoder, "--json", "--bits", "16")
    found = json.loads(capsys.readouterr().out)["results"]
    assert [item["labels"] for item in found] == [["blue"]] * 8
    picture = pictures / found[0]["file"]
    run_command(search, str(pictures), "--image", str(picture), "--encoder", encoder, "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["results"][0]["labels"] == ["blue"]
    assert not found["is_unlike_all"]


@pytest.mark.extra
def test_a_folder_without_a_model_is_refused_in_one_sentence(pictures, tmp_path):
    pytest.importorskip("fastembed", reason="fastembed is not installed: python -m pip install fastembed")
    (tmp_path / "empty").mkdir()
    (problem,) = UserDataset(pictures, encoder=f"clip={tmp_path / 'empty'}").preview().problems
    assert problem.startswith("There is no model of CLIP ViT-B/32 for pictures in")
    (tmp_path / "empty/model.onnx").write_bytes(b"no model")
    (problem,) = UserDataset(pictures, encoder=f"clip={tmp_path / 'empty'}").preview().problems
    assert "cannot be used: " in problem


def test_a_missing_package_is_reported_in_one_sentence(pictures, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed", None)
    load_model.cache_clear()
    (problem,) = UserDataset(pictures, encoder="clip").preview().problems
    install = 'python -m pip install "smfh-explorer[clip]"'
    assert problem == f"CLIP ViT-B/32 needs the package fastembed; install it with {install}."


def test_unknown_encoders_and_data_with_features_are_refused(run_command):
    with pytest.raises(InputError, match="Unknown encoder 'bert'; choose from clip, siglip2"):
        UserDataset(encoder="bert")
    with pytest.raises(InputError, match="Unknown encoder"):
        run_command(app, "--encoder", "bert")
    with pytest.raises(InputError, match="planted has its features"):
        run_command(fit, "planted", "--encoder", "clip")


@pytest.fixture
def run_command():
    """Run a command with these arguments."""
    from argparse import ArgumentParser

    def run(command, *arguments):
        command.add_arguments(parser := ArgumentParser())
        command.run(parser.parse_args(arguments))

    return run

"""The picture network: what it recognises, how its features compare with descriptors, and its file."""

import io
import pickle
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageEnhance
from skimage import data
from sklearn.datasets import load_sample_images

from smfh.features import network_remake
from smfh.features.image import ImageEncoder, fit_visual_words, measure
from smfh.features.network import FEATURES, FILE, SIDE, STEPS_PER_UNIT, network_features
from smfh.files.packages import missing_packages
from smfh.types import InputError

CATS, COFFEE = {281, 282, 283, 284, 285}, {504, 967, 968}  # classes of ImageNet: cats; mug, espresso, cup
PHOTOGRAPHS = ("astronaut", "camera", "chelsea", "coffee", "rocket", "coins", "brick", "grass")
missing = missing_packages(network_remake.PACKAGES, "network")


def class_probabilities(features) -> np.ndarray:
    """Return the probabilities of the 1,000 classes by the network's own classifier, stored in 8 bits."""
    with np.load(Path(__file__).with_name("imagenet_classifier.npz")) as head:
        margins = head["weights"] @ (features / STEPS_PER_UNIT) * head["scale"] + head["bias"]
    exponentials = np.exp(margins - margins.max())
    return exponentials / exponentials.sum()


@pytest.mark.parametrize(("photograph", "expected"), [("chelsea", CATS), ("coffee", COFFEE)])
def test_a_cat_and_a_cup_of_coffee_are_recognised(photograph, expected) -> None:
    probabilities = class_probabilities(network_features(getattr(data, photograph)()))
    assert int(probabilities.argmax()) in expected
    assert probabilities[list(expected)].sum() > 0.85


def photographs() -> list[Image.Image]:
    grey_or_rgb = [getattr(data, name)() for name in PHOTOGRAPHS] + load_sample_images().images
    return [Image.fromarray(pixels).convert("RGB") for pixels in grey_or_rgb]


def changed_crop(photograph: Image.Image, rng: np.random.Generator) -> np.ndarray:
    """Return a random square of a photograph, mirrored or not, in other colours, brighter or darker."""
    side = int(min(photograph.size) * rng.uniform(0.45, 0.85))
    left, top = (int(rng.integers(length - side + 1)) for length in photograph.size)
    hsv = np.array(photograph.crop((left, top, left + side, top + side)).resize((128, 128)).convert("HSV"))
    hsv[..., 0] += np.uint8(rng.integers(256))
    crop = Image.fromarray(hsv[:, :: rng.choice([-1, 1])], "HSV").convert("RGB")
    return np.asarray(ImageEnhance.Brightness(crop).enhance(rng.uniform(0.6, 1.4)))


def test_network_features_find_a_photograph_again_better_than_descriptors() -> None:
    rng, crops = np.random.default_rng(0), 8
    sources = photographs()
    measured = measure(changed_crop(photograph, rng) for photograph in sources for _ in range(crops))
    X = np.sqrt(ImageEncoder(fit_visual_words(measured)).features(measured))
    source = np.repeat(np.arange(len(sources)), crops)

    def precision(Z: np.ndarray) -> float:
        """Return the share of the five nearest crops that come from the same photograph."""
        unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
        similarity = unit @ unit.T
        np.fill_diagonal(similarity, -1)
        return float((source[np.argsort(-similarity)[:, :5]] == source[:, None]).mean())

    descriptors, network, both = (precision(part) for part in (X[:, :-FEATURES], X[:, -FEATURES:], X))
    assert network > descriptors + 0.2
    assert both > descriptors + 0.2


def test_the_file_is_small_and_has_its_licence() -> None:
    assert FILE.stat().st_size < 7_000_000
    licence = FILE.with_name("efficientnet_lite0_licence.txt").read_text("utf-8")
    assert "Apache License" in licence
    assert "ML Illustrated" in licence


def test_a_missing_file_is_reported(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("smfh.features.network.FILE", tmp_path / "missing.onnx")
    from smfh.features.network import load_network

    with pytest.raises(InputError, match=r"picture network .*missing\.onnx is missing"):
        load_network.__wrapped__()


def test_other_objects_in_a_file_of_weights_are_refused() -> None:
    with pytest.raises(InputError, match="tensors only"):
        network_remake.read_torch(io.BytesIO(pickle.dumps(print)))


@pytest.mark.slow
@pytest.mark.skipif(bool(missing), reason=" ".join(missing))
def test_the_file_equals_the_package() -> None:
    import onnxruntime

    rebuilt = network_remake.build(network_remake.read_package()).SerializeToString()
    x = np.random.default_rng(0).uniform(-1, 1, (1, 3, SIDE, SIDE)).astype(np.float32)
    sessions = [onnxruntime.InferenceSession(model) for model in (rebuilt, FILE.read_bytes())]
    first, second = (session.run(None, {"pictures": x})[0] for session in sessions)
    np.testing.assert_array_equal(first, second)

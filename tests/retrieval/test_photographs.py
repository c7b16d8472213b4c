"""Labels carry from photographs to words: with the network's features better than with descriptors alone."""

import numpy as np
import pytest
from skimage import data
from sklearn.datasets import load_sample_image

from smfh.features.image import ImageEncoder, fit_visual_words, measure
from smfh.features.network import FEATURES
from smfh.features.text import fit_tf_idf
from smfh.hashing import SMFHPlus
from smfh.retrieval.evaluation import evaluate
from smfh.types import MultimodalDataset, Split

PHOTOGRAPHS = {
    "astronaut woman suit flag": data.astronaut,
    "cat face fur whiskers": data.chelsea,
    "coffee cup spoon table": data.coffee,
    "rocket launch sky tower": data.rocket,
    "motorcycle wheel garage": lambda: data.stereo_motorcycle()[0],
    "temple roof china": lambda: load_sample_image("china.jpg"),
    "flower petal garden": lambda: load_sample_image("flower.jpg"),
    "galaxy star space": data.hubble_deep_field,
    "eye retina vein": data.retina,
    "tissue cell microscope": data.immunohistochemistry,
}
PICTURES, TRAINING = 10, 6  # crops of each photograph, and how many of them are for training
SHARES, LIGHTS = (0.35, 0.6), (0.3, 1.4)  # of the sides that a crop has, and of the light of each colour


@pytest.fixture(scope="module")
def photographs() -> tuple[MultimodalDataset, Split]:
    """Crops of ten photographs in changed light and colour, each with two or three words of its photograph."""
    rng, pictures, sentences = np.random.default_rng(0), [], []
    for words, load in PHOTOGRAPHS.items():
        pixels = load()
        for _ in range(PICTURES):
            size = (np.array(pixels.shape[:2]) * rng.uniform(*SHARES, 2)).astype(int)
            y, x = rng.integers(np.array(pixels.shape[:2]) - size)
            crop = pixels[y : y + size[0], x : x + size[1]] * rng.uniform(*LIGHTS, 3)
            pictures.append(crop.clip(0, 255).astype(np.uint8)[:, :: rng.choice([-1, 1])])
            sentences.append(" ".join(rng.choice(words.split(), 2, replace=False)))
    labels = np.repeat(np.eye(len(PHOTOGRAPHS), dtype=bool), PICTURES, axis=0)
    is_training = np.arange(len(labels)) % PICTURES < TRAINING
    split = Split(np.flatnonzero(is_training), np.flatnonzero(~is_training))
    measured = measure(pictures)
    X = ImageEncoder(fit_visual_words(measured.take(split.train), words=100)).features(measured)
    text = fit_tf_idf([sentences[row] for row in split.train]).encode(sentences)
    return MultimodalDataset("photographs", {"image": X, "text": text}, labels, tuple(PHOTOGRAPHS)), split


def test_network_features_find_words_better_than_descriptors_alone(photographs):
    both, split = photographs
    alone = {**both.modalities, "image": both.modalities["image"][:, :-FEATURES]}
    descriptors = MultimodalDataset("photographs", alone, both.labels, both.class_names)
    scores = []
    for known in (descriptors, both):
        hasher = SMFHPlus(bits=16, anchors=60).fit(known.take(split.train))
        scores.append(evaluate(hasher, known, split, "image", "text", "unseen").average_precision["found"].mean)
    assert scores[1] > scores[0] + 0.1

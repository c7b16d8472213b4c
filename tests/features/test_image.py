"""Image features by hand-made pictures: directions, colours, visual words."""

import io

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from smfh.features.image import (
    COLOURS,
    SIDE,
    WEIGHTS,
    ImageEncoder,
    Measurements,
    fit_visual_words,
    hog_features,
    measure,
    network_directions,
    patches,
)
from smfh.features.network import FEATURES
from smfh.types import InputError

Pixels = NDArray[np.uint8]


def plain(colour: tuple[int, int, int], size: int = 40) -> Pixels:
    return np.full((size, size, 3), colour, dtype=np.uint8)


def stripes(angle: float, size: int = SIDE) -> Pixels:
    """Dark and light waves that run across the given direction."""
    y, x = np.mgrid[:size, :size]
    wave = np.sin((x * np.cos(angle) + y * np.sin(angle)) * 0.6)
    return np.repeat((128 + 100 * wave)[:, :, None], 3, axis=2).astype(np.uint8)


def noise(seed: int, size: int = SIDE) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8)


def png(pixels: Pixels) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def measured() -> Measurements:
    pictures = [stripes(angle + 0.01 * i) for i in range(6) for angle in (0.2, 0.9, 1.6)]
    return measure([*pictures, *(noise(seed) for seed in range(6))])


def test_each_pixel_is_counted_under_its_colour() -> None:
    half = plain((255, 0, 0), SIDE)
    half[:, SIDE // 2 :] = (0, 0, 255)
    counts = measure([half, plain((255, 255, 255))]).colours.reshape(2, *COLOURS)
    # hue in 256ths: red 0, blue 170 → bins 0 and 10 of 16; white has no saturation and the highest value
    assert counts[0, 0, 2, 3] == counts[0, 10, 2, 3] == SIDE**2 / 2
    assert counts[1, 0, 0, 3] == SIDE**2
    assert counts.sum() == 2 * SIDE**2


def test_hog_distinguishes_directions() -> None:
    features = hog_features(measure([stripes(0.0), stripes(0.05), stripes(np.pi / 2)]))
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.9
    assert unit[0] @ unit[2] < 0.2


def test_hog_is_equal_for_a_picture_and_its_mirror_image() -> None:
    drawn = noise(1)
    picture, mirrored, turned = hog_features(measure([drawn, drawn[:, ::-1], drawn[::-1]]))
    # only the border differs, where a gradient is exactly horizontal
    assert np.linalg.norm(picture - mirrored) < 0.05 * np.linalg.norm(picture)
    assert np.linalg.norm(picture - turned) > 0.15 * np.linalg.norm(picture)


def test_blank_pictures_have_no_patches() -> None:
    blank = measure([plain((255, 255, 255))])
    assert len(patches(blank)[0]) == 0
    with pytest.raises(InputError, match="blank"):
        fit_visual_words(blank)


def test_visual_words_count_the_nearest_word_of_each_patch(measured: Measurements) -> None:
    words = fit_visual_words(measured, words=7)
    expected = np.zeros((len(measured), 7))
    for descriptor, picture in zip(*patches(measured), strict=True):
        expected[picture, ((words.codebook - descriptor) ** 2).sum(axis=1).argmin()] += 1
    np.testing.assert_array_equal(words.count(measured), expected)
    assert words.count(measured).sum() == len(patches(measured)[0])


def test_each_part_of_a_row_sums_to_its_weight(measured: Measurements) -> None:
    encoder = ImageEncoder(fit_visual_words(measured, words=5))
    X = encoder.features(measured)
    hog, words = 162, 5
    parts = np.split(X, [hog, hog + words, -FEATURES], axis=1)
    for part, weight in zip(parts, WEIGHTS, strict=True):
        np.testing.assert_allclose(part.sum(axis=1), weight, rtol=1e-5)
    assert X.dtype == np.float32
    assert (X >= 0).all()


def test_directions_of_network_features_are_found_in_the_rows(measured: Measurements) -> None:
    f = measured.network.astype(float)
    X = ImageEncoder(fit_visual_words(measured, words=5)).features(measured)
    expected = f / np.linalg.norm(f, axis=1, keepdims=True)
    np.testing.assert_allclose(network_directions(X), expected, atol=1e-5)


def test_all_unreadable_pictures_are_listed() -> None:
    file = png(noise(0))
    with pytest.raises(InputError) as caught:
        measure([file, file[: len(file) // 2], plain((0, 0, 0)), b"no picture", np.zeros((4, 4), np.uint8)])
    problems = caught.value.problems
    assert len(problems) == 3
    assert "Picture 2 is truncated" in problems[0]
    assert "Picture 4 is not a picture" in problems[1]
    assert "Picture 5 must be" in problems[2]

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image
from scipy import sparse

from smfh.features.image import (
    COLOURS,
    SIDE,
    ImageEncoder,
    Measurements,
    VisualWords,
    fit_visual_words,
    hog_features,
    measure,
    patches,
    split_signs,
)
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


def test_a_file_and_its_pixels_measure_the_same() -> None:
    both = measure([noise(0), png(noise(0))])
    np.testing.assert_array_equal(both.gradients[0], both.gradients[1])
    np.testing.assert_array_equal(both.colours[0], both.colours[1])


def test_each_pixel_is_counted_under_its_colour() -> None:
    half = plain((255, 0, 0), SIDE)
    half[:, SIDE // 2 :] = (0, 0, 255)
    counts = measure([half, plain((255, 255, 255))]).colours.reshape(2, *COLOURS)
    # hue in 256ths: red 0, blue 170 → bins 0 and 10 of 16; white has no saturation and the highest value
    assert counts[0, 0, 2, 3] == counts[0, 10, 2, 3] == SIDE**2 / 2
    assert counts[1, 0, 0, 3] == SIDE**2
    assert counts.sum() == 2 * SIDE**2


def test_hog_tells_directions_apart() -> None:
    features = hog_features(measure([stripes(0.0), stripes(0.05), stripes(np.pi / 2)]))
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    assert unit[0] @ unit[1] > 0.9
    assert unit[0] @ unit[2] < 0.2


def test_hog_takes_a_picture_and_its_mirror_image_for_one() -> None:
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


def test_visual_words_are_learnt_again_the_same_and_bring_like_pictures_together(
    measured: Measurements,
) -> None:
    words = fit_visual_words(measured, words=8)
    np.testing.assert_array_equal(words.codebook, fit_visual_words(measured, words=8).codebook)
    counts = words.count(measured)[:18]  # three directions in turn
    unit = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    similarity, direction = unit @ unit.T, np.arange(18) % 3
    same = direction[:, None] == direction[None, :]
    assert similarity[same].mean() > similarity[~same].mean() + 0.3


def test_fewer_patches_than_words_make_a_smaller_codebook() -> None:
    dot = plain((255, 255, 255), SIDE)
    dot[50:53, 50:53] = 0
    assert 1 <= len(fit_visual_words(measure([dot]), words=300).codebook) <= 4


def test_each_part_of_a_row_sums_to_its_weight(measured: Measurements) -> None:
    encoder = ImageEncoder(fit_visual_words(measured, words=5), 1.0, 0.5, 2.0)
    X = encoder.features(measured)
    hog, words = 162, 5
    parts = np.split(X, [hog, hog + words], axis=1)
    for part, weight in zip(parts, (1.0, 0.5, 2.0), strict=True):
        np.testing.assert_allclose(part.sum(axis=1), weight, rtol=1e-5)
    assert X.dtype == np.float32
    assert (X >= 0).all()


def test_a_part_without_weight_is_left_out(measured: Measurements) -> None:
    colours_alone = ImageEncoder(VisualWords(np.zeros((3, 36), dtype=np.float32)), 0, 0, 1)
    np.testing.assert_allclose(colours_alone.features(measured), measured.colours / SIDE**2, rtol=1e-6)


def test_a_blank_picture_is_encoded_by_its_colour_alone(measured: Measurements) -> None:
    encoder = ImageEncoder(fit_visual_words(measured, words=5))
    X = encoder.encode([plain((10, 200, 30))])
    assert np.isfinite(X).all()
    assert np.count_nonzero(X) == 1


def test_all_pictures_that_cannot_be_read_are_named() -> None:
    file = png(noise(0))
    with pytest.raises(InputError) as caught:
        measure([file, file[: len(file) // 2], plain((0, 0, 0)), b"no picture", np.zeros((4, 4), np.uint8)])
    problems = caught.value.problems
    assert len(problems) == 3
    assert "Picture 2 is truncated" in problems[0]
    assert "Picture 4 is not a picture" in problems[1]
    assert "Picture 5 must be" in problems[2]


def test_no_pictures_are_refused() -> None:
    with pytest.raises(InputError, match="no picture"):
        measure([])


@given(arrays(np.float64, (4, 3), elements=st.floats(-1e6, 1e6)))
def test_signs_are_split_and_nothing_is_lost(X: NDArray[np.float64]) -> None:
    halves = split_signs(X)
    positive, negative = np.split(halves, 2, axis=1)
    assert (halves >= 0).all()
    np.testing.assert_array_equal(positive - negative, X)
    assert not (positive * negative).any()
    np.testing.assert_array_equal(split_signs(sparse.csr_array(X)).toarray(), halves)

"""Pictures with captions → a data set, its features fitted on the training rows alone."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from smfh.datasets.source import OnProgress
from smfh.features.image import ImageEncoder, Measurements, fit_image_encoder, measure
from smfh.features.pictures import decode_image, thumbnail
from smfh.features.text import fit_bag_of_words
from smfh.files import shortened
from smfh.types import BoolArray, Encoder, FloatArray, InputError, IntArray, Matrix, MultimodalDataset

MAX_TOKENS = 5_000
BLOCK = 500  # pictures whose visual words are counted at once


def captioned_pictures(
    name: str,
    pictures: Sequence[str],
    read_picture: Callable[[str], bytes],
    captions: Mapping[str, Sequence[str]],
    labels: BoolArray,
    class_names: tuple[str, ...],
    train: IntArray,
    seed: int,
    on_progress: OnProgress | None = None,
) -> MultimodalDataset:
    """`pictures` names each row's file; `captions` has the texts of each further modality."""
    thumbnails: list[bytes] = []
    measured = measure(_decoded(pictures, read_picture, thumbnails, on_progress))
    image = fit_image_encoder(measured.take(train), seed=seed)
    modalities: dict[str, Matrix] = {"image": _features(image, measured)}
    encoders: dict[str, Encoder] = {"image": image}
    for modality, sentences in captions.items():
        encoder = fit_bag_of_words([sentences[row] for row in train], max_tokens=MAX_TOKENS)
        modalities[modality], encoders[modality] = encoder.encode(sentences), encoder
    shown = [" · ".join(texts) for texts in zip(*captions.values(), strict=True)]
    return MultimodalDataset(name, modalities, labels, class_names, shown, thumbnails, encoders)


def _decoded(
    pictures: Sequence[str],
    read_picture: Callable[[str], bytes],
    thumbnails: list[bytes],
    on_progress: OnProgress | None,
) -> Iterator[NDArray[np.uint8]]:
    """Each picture's pixels, while its thumbnail is set aside; at the end all that could not be read."""
    problems: list[str] = []
    for done, picture in enumerate(pictures, start=1):
        try:
            pixels = decode_image(read_picture(picture), picture)
        except InputError as error:
            problems += error.problems
            continue
        thumbnails.append(thumbnail(pixels))
        yield pixels
        if on_progress:
            on_progress(done / len(pictures), "Looking at the pictures")
    if problems:
        raise InputError(shortened(problems))


def _features(encoder: ImageEncoder, measured: Measurements) -> FloatArray:
    blocks = np.array_split(np.arange(len(measured)), -(-len(measured) // BLOCK))
    return np.vstack([encoder.features(measured.take(rows)) for rows in blocks]).astype(np.float32)

"""Features of pictures and texts from two networks with a common feature space, CLIP or SigLIP 2.

They need the optional package fastembed (`pip install ".[clip]"`). Models are ONNX files, which are
downloaded at their first use or read from a folder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from smfh.features.image import Picture
from smfh.features.maps import row_norms, scale_rows
from smfh.features.pictures import decode_image
from smfh.folders import cache_folder
from smfh.types import EPS, FloatArray, InputError, unknown

MAX_REASON_CHARACTERS = 120


class ModelPair(NamedTuple):
    """A network for pictures and one for texts, by their names in fastembed."""

    title: str
    pictures: str
    texts: str


MODELS = {
    "clip": ModelPair("CLIP ViT-B/32", "Qdrant/clip-ViT-B-32-vision", "Qdrant/clip-ViT-B-32-text"),
    "siglip2": ModelPair("SigLIP 2", "google/siglip2-base-patch16-224", "google/siglip2-base-patch16-224"),
}


def check_encoder(encoder: str) -> tuple[str, str]:
    """Split an encoder, written NAME or NAME=FOLDER, into its name and its folder ("" if not given).

    An unknown name raises InputError.
    """
    name, _, folder = encoder.partition("=")
    if name not in MODELS:
        raise unknown("encoder", name, [*MODELS, *(f"{known}=FOLDER" for known in MODELS)])
    return name, folder


@cache
def load_model(encoder: str, part: str) -> Any:
    """Return fastembed's model of an encoder for "pictures" or "texts".

    If the encoder has a folder, the model is read from its subfolder vision/ or text/ or, if there is none,
    from the folder itself. The files are those that fastembed stores.
    """
    name, folder = check_encoder(encoder)
    pair = MODELS[name]
    try:
        from fastembed import ImageEmbedding, TextEmbedding
        from loguru import logger
    except ImportError as error:
        install = 'python -m pip install "smfh-explorer[clip]"'
        raise InputError(f"{pair.title} needs the package fastembed; install it with {install}.") from error
    logger.disable("fastembed")  # it logs each attempt to download, with the path of the cache
    make, model = (ImageEmbedding, pair.pictures) if part == "pictures" else (TextEmbedding, pair.texts)
    options: dict[str, Any] = {"cache_dir": str(cache_folder() / "models")}
    if folder:
        inside = Path(folder).expanduser() / {"pictures": "vision", "texts": "text"}[part]
        found = inside if inside.is_dir() else Path(folder).expanduser()
        if not any([*found.glob("*.onnx"), *found.glob("onnx/*.onnx")]):
            raise InputError(
                f"There is no model of {pair.title} for {part} in {folder}; expected the files of {model} "
                f"as fastembed stores them, in {inside.name}/."
            )
        options["specific_model_path"] = str(found)
    try:
        return make(model, threads=1, providers=["CPUExecutionProvider"], **options)
    except Exception as error:  # fastembed, its downloads and onnxruntime raise many types of exceptions
        what = f"The model of {pair.title} for {part}"
        message = f"{what} cannot be downloaded. Without an internet connection, use {name}=FOLDER."
        if folder:
            reason = " ".join(str(error).split())[:MAX_REASON_CHARACTERS]
            message = f"{what} in {folder} cannot be used: {reason}."
        raise InputError(message) from error


def embed(encoder: str, part: str, items: Sequence[Any]) -> FloatArray:
    """Return f/‖f‖ for the features f of each item, (items, dimensions)."""
    features: FloatArray = np.stack(list(load_model(encoder, part).embed(list(items)))).astype(np.float32)
    if features.ndim != 2 or not np.isfinite(features).all():
        raise InputError(f"The encoder {encoder} returned no valid features for {part}.")
    return np.asarray(scale_rows(features, 1 / np.maximum(row_norms(features), EPS)))


@dataclass(frozen=True)
class EmbeddedPictures:
    """Encoder of pictures by one of MODELS."""

    encoder: str

    def encode(self, items: Sequence[Picture]) -> FloatArray:
        from PIL import Image

        pixels = [decode_image(item, "The picture") if isinstance(item, bytes) else item for item in items]
        return embed(self.encoder, "pictures", [Image.fromarray(one) for one in pixels])


@dataclass(frozen=True)
class EmbeddedTexts:
    """Encoder of sentences by one of MODELS."""

    encoder: str

    def encode(self, items: Sequence[str]) -> FloatArray:
        return embed(self.encoder, "texts", items)

"""Store the decoded pictures of a local folder on disk, so that the folder opens faster the next time."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

import numpy as np

from smfh.datasets.user_pictures import DecodedPicture
from smfh.features.image import BLOCKS, COLOURS, ORIENTATIONS, Measurements, stack
from smfh.features.network import FEATURES
from smfh.files import join_bytes, read_npz, split_bytes, write_npz
from smfh.folders import cache_folder
from smfh.types import InputError

VERSION = 1  # of the measurements
GRADIENTS = (BLOCKS, BLOCKS, 2, 2, ORIENTATIONS)
NAMES = ("digests", "thumbnails", "ends", "gradients", "colours", "network")
EMBEDDINGS = "embeddings"  # of the encoder, if one is used
STORE_SECONDS = 30.0  # between two writes while a folder is read
MAX_WRITE_SHARE = 0.1  # of the time spent on writing


def store_path(folder: Path, encoder: str = "") -> Path:
    """Return the file with the pictures of a folder; it may be deleted at any time."""
    what = str(folder.resolve()) + (f"\0{encoder}" if encoder else "")
    name = hashlib.sha256(what.encode(errors="replace")).hexdigest()[:24]
    return cache_folder() / "pictures" / f"{name}-{VERSION}.npz"


def read_store(folder: Path, encoder: str = "") -> dict[bytes, DecodedPicture]:
    """Return the stored pictures by the SHA-256 digest of their files; empty if there is no valid store."""
    try:
        arrays = read_npz(store_path(folder, encoder), [*NAMES, *([EMBEDDINGS] if encoder else [])])
        thumbnails = split_bytes(arrays["thumbnails"], arrays["ends"])
        shapes = {"digests": (32,), "gradients": GRADIENTS, "colours": (int(np.prod(COLOURS)),), "network": (FEATURES,)}
        rows = {name: arrays[name].reshape(len(thumbnails), *shape) for name, shape in shapes.items()}
        embeddings = arrays[EMBEDDINGS].reshape(len(thumbnails), -1) if encoder else [None] * len(thumbnails)
    except (InputError, ValueError, TypeError):
        return {}
    found = {}
    for row, (digest, thumbnail) in enumerate(zip(rows["digests"], thumbnails, strict=True)):
        parts = (rows[name][row : row + 1] for name in ("gradients", "colours", "network"))
        found[digest.tobytes()] = DecodedPicture(thumbnail, Measurements(*parts), embeddings[row])
    return found


@contextmanager
def storing(folder: Path, pictures: Mapping[bytes, DecodedPicture], encoder: str = "") -> Iterator[Callable[[], None]]:
    """Store new pictures in the end, also if reading is cancelled, and whenever the yielded function finds it is time.

    The process that reads may be killed, so a long reading is stored in between.
    """
    stored, last, pause = len(pictures), monotonic(), STORE_SECONDS

    def store_sometimes() -> None:
        nonlocal stored, last, pause
        if len(pictures) > stored and monotonic() - last > pause:
            began = monotonic()
            write_store(folder, pictures, encoder)
            stored, last = len(pictures), monotonic()
            pause = max(STORE_SECONDS, (last - began) / MAX_WRITE_SHARE)

    try:
        yield store_sometimes
    finally:
        if len(pictures) > stored:
            write_store(folder, pictures, encoder)


def write_store(folder: Path, pictures: Mapping[bytes, DecodedPicture], encoder: str = "") -> None:
    """Store the pictures of a folder; if the disk is full, store nothing and raise no error."""
    if not pictures:
        return
    measured = stack([picture.measurements for picture in pictures.values()])
    thumbnails, ends = join_bytes([picture.thumbnail for picture in pictures.values()])
    arrays = {
        "digests": np.frombuffer(b"".join(pictures), dtype=np.uint8).reshape(len(pictures), 32),
        "thumbnails": thumbnails,
        "ends": ends,
        "gradients": measured.gradients.reshape(len(pictures), -1),
        "colours": measured.colours,
        "network": measured.network,
    }
    if encoder:
        arrays[EMBEDDINGS] = np.stack([p.embedding for p in pictures.values() if p.embedding is not None])
    with suppress(OSError, InputError):
        store_path(folder, encoder).parent.mkdir(parents=True, exist_ok=True)
        write_npz(store_path(folder, encoder), arrays, level=1)

"""Store the decoded pictures of a local folder on disk, so that the folder opens faster the next time."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic

import numpy as np

from smfh.datasets.source import OnProgress
from smfh.datasets.user_pictures import DecodedPicture, PictureCache
from smfh.features.image import Measurements, stack
from smfh.files import join_bytes, read_npz, split_bytes, write_npz
from smfh.folders import cache_folder
from smfh.types import InputError

VERSION = 1  # of the measurements
STORE_SECONDS = 30.0  # at least, between two writes while a folder is read
MAX_WRITE_SHARE = 0.1  # of the time spent on writing


def store_path(folder: Path, encoder: str = "") -> Path:
    """Return the file with the pictures of a folder; it may be deleted at any time."""
    what = str(folder.resolve()) + (f"\0{encoder}" if encoder else "")
    name = hashlib.sha256(what.encode(errors="replace")).hexdigest()[:24]
    return cache_folder() / "pictures" / f"{name}-{VERSION}.npz"


@contextmanager
def storing(folder: Path, cache: PictureCache, on_progress: OnProgress) -> Iterator[OnProgress]:
    """Read the stored pictures into the cache; store new ones in the end, also if reading is cancelled.

    The process that reads may be killed, so the yielded progress function stores them in between, too.
    """
    pictures = cache.by_digest
    if not pictures:
        pictures.update(read_store(folder, cache.encoder))
    stored, last, pause = len(pictures), monotonic(), STORE_SECONDS

    def report(share: float, step: str) -> None:
        nonlocal stored, last, pause
        if len(pictures) > stored and monotonic() - last > pause:
            began = monotonic()
            write_store(folder, pictures, cache.encoder)
            stored, last = len(pictures), monotonic()
            pause = max(STORE_SECONDS, (last - began) / MAX_WRITE_SHARE)
        if on_progress:
            on_progress(share, step)

    try:
        yield report
    finally:
        if len(pictures) > stored:
            write_store(folder, pictures, cache.encoder)


def read_store(folder: Path, encoder: str = "") -> dict[bytes, DecodedPicture]:
    """Return the stored pictures by the SHA-256 digest of their files; empty if there is no valid store."""
    with suppress(InputError, ValueError, TypeError, KeyError):
        arrays = read_npz(store_path(folder, encoder))
        thumbnails = split_bytes(arrays["thumbnails"], arrays["ends"])
        measured = Measurements.from_arrays(arrays, len(thumbnails))
        embeddings = arrays["embeddings"] if encoder else [None] * len(thumbnails)
        digests = [digest.tobytes() for digest in arrays["digests"].reshape(len(thumbnails), 32)]
        parts = [measured.take(np.array([row])) for row in range(len(thumbnails))]
        return dict(zip(digests, map(DecodedPicture, thumbnails, parts, embeddings), strict=True))
    return {}


def write_store(folder: Path, pictures: Mapping[bytes, DecodedPicture], encoder: str = "") -> None:
    """Store the pictures of a folder; if the disk is full, store nothing and raise no error."""
    if not pictures:
        return
    arrays = stack([picture.measurements for picture in pictures.values()]).to_arrays()
    arrays["thumbnails"], arrays["ends"] = join_bytes([picture.thumbnail for picture in pictures.values()])
    arrays["digests"] = np.frombuffer(b"".join(pictures), dtype=np.uint8).reshape(-1, 32)
    if encoder:
        arrays["embeddings"] = np.stack([p.embedding for p in pictures.values() if p.embedding is not None])
    with suppress(OSError, InputError):
        store_path(folder, encoder).parent.mkdir(parents=True, exist_ok=True)
        write_npz(store_path(folder, encoder), arrays, level=1)

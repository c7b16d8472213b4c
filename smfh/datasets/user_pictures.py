"""Data sets of pictures with captions: decode each picture once, and fit features on the training rows.

Decoded pictures of a local folder are stored on disk, so that the folder opens faster the next time.
"""

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from smfh.datasets.source import OnProgress
from smfh.features.embedding import EmbeddedPictures, EmbeddedTexts
from smfh.features.image import ImageEncoder, Measurements, fit_visual_words, measure, stack
from smfh.features.pictures import decode_image, header_pixels, thumbnail
from smfh.features.text import fit_bag_of_words
from smfh.files import join_bytes, read_npz, split_bytes, write_npz
from smfh.folders import cache_folder
from smfh.types import Encoder, FloatArray, InputError, IntArray, Matrix, MultimodalDataset

MAX_TOKENS = 5_000
MAX_TOTAL_PIXELS = 1_000_000_000  # of an upload; decoding them takes half a minute
DECODED_SIDE = 512  # pixels; a larger picture is reduced while it is decoded
THE_PICTURE = "The picture"  # in messages, until its name is known
THREADS = min(os.cpu_count() or 1, 4)  # each may need 200 MB
STORE_VERSION = 1  # of the measurements in the files of stored pictures
STORE_SECONDS = 30.0  # at least, between two writes while a folder is read
MAX_WRITE_SHARE = 0.1  # of the time spent on writing


@dataclass(frozen=True, eq=False)
class DecodedPicture:
    """A picture's thumbnail, and the measurements from which its features are computed."""

    thumbnail: bytes
    measurements: Measurements
    embedding: FloatArray | None = None  # (dimensions,); None if the cache has no encoder


@dataclass(eq=False)
class PictureCache:
    """Decoded pictures by file name, so that none is decoded twice."""

    encoder: str = ""  # name of an encoder in `smfh.features.embedding`; "" for built-in features
    decoded: dict[str, DecodedPicture] = field(default_factory=dict)
    problems: dict[str, Sequence[str]] = field(default_factory=dict)  # of unusable pictures, by file name
    digests: dict[str, bytes] = field(default_factory=dict)  # SHA-256 of the files, by name
    by_digest: dict[bytes, DecodedPicture] = field(default_factory=dict)
    pixels: int = 0  # decoded so far

    def decode(
        self,
        names: Iterable[str],
        read: Callable[[str], bytes],
        max_pixels: float = MAX_TOTAL_PIXELS,
        on_progress: OnProgress = None,
    ) -> None:
        """Decode the pictures that are not in the cache yet, in parallel threads.

        Files with the same content are decoded only once. `read` returns the content of a file and is called
        in the order of `names`. A picture that would raise the total number of pixels above `max_pixels` is
        not decoded but listed as a problem.
        """
        known = self.decoded.keys() | self.problems.keys()
        new = [name for name in dict.fromkeys(names) if name not in known]
        started: dict[bytes, Future[DecodedPicture]] = {}
        waiting: deque[tuple[str, Future[DecodedPicture]]] = deque()
        began, done = monotonic(), 0

        def finish(most_waiting: int) -> None:
            nonlocal done
            while len(waiting) > most_waiting:
                name, future = waiting.popleft()
                try:
                    self.decoded[name] = self.by_digest[self.digests[name]] = future.result()
                except InputError as error:
                    self.problems[name] = [problem.replace(THE_PICTURE, name) for problem in error.problems]
                done += 1
                if on_progress:
                    left = (monotonic() - began) / done * (len(new) - done)
                    on_progress(done / len(new), f"Picture {done:,} of {len(new):,}, {left:,.0f} s left")

        with ThreadPoolExecutor(THREADS) as pool:
            try:
                for name in new:
                    try:
                        content = read(name)
                        self.digests[name] = digest = hashlib.sha256(content).digest()
                        if (stored := self.by_digest.get(digest)) is not None:
                            started[digest] = Future()
                            started[digest].set_result(stored)
                        elif digest not in started:
                            self._count_pixels(content, name, max_pixels)
                            started[digest] = pool.submit(decode_picture, content, self.encoder)
                        waiting.append((name, started[digest]))
                    except InputError as error:
                        self.problems[name] = error.problems
                        done += 1
                    finish(2 * THREADS)
                finish(0)
            except BaseException:  # for example, the job was cancelled
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _count_pixels(self, content: bytes, name: str, max_pixels: float) -> None:
        """Add the pixels of a picture to the total; raise InputError if the total would exceed the limit.

        A JPEG counts as a quarter of its pixels, because it is reduced while it is decoded.
        """
        pixels = header_pixels(content) // (4 if content.startswith(b"\xff\xd8") else 1)
        if self.pixels + pixels > max_pixels:
            limit = f"{max_pixels // 1_000_000:,.0f} million pixels"
            raise InputError(f"With {name}, the pictures exceed the limit of {limit} in total. Make them smaller.")
        self.pixels += pixels


def decode_picture(content: bytes, encoder: str = "") -> DecodedPicture:
    """Decode a picture, reduce it if it is large, and measure it."""
    pixels = decode_image(content, THE_PICTURE, side=DECODED_SIDE)
    embedding = EmbeddedPictures(encoder).encode([pixels])[0] if encoder else None
    return DecodedPicture(thumbnail(pixels), measure([pixels]), embedding)


def store_path(folder: Path, encoder: str = "") -> Path:
    """Return the file with the pictures of a folder; it may be deleted at any time."""
    what = str(folder.resolve()) + (f"\0{encoder}" if encoder else "")
    name = hashlib.sha256(what.encode(errors="replace")).hexdigest()[:24]
    return cache_folder() / "pictures" / f"{name}-{STORE_VERSION}.npz"


@contextmanager
def storing(folder: Path, cache: PictureCache, on_progress: OnProgress) -> Iterator[OnProgress]:
    """Read the stored pictures into the cache; store new ones at the end, even if reading is cancelled.

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
    """Store the decoded pictures of a folder; if the disk is full, store nothing and raise no error."""
    arrays = stack([picture.measurements for picture in pictures.values()]).to_arrays()
    arrays["thumbnails"], arrays["ends"] = join_bytes([picture.thumbnail for picture in pictures.values()])
    arrays["digests"] = np.frombuffer(b"".join(pictures), dtype=np.uint8).reshape(-1, 32)
    if encoder:
        arrays["embeddings"] = np.stack([p.embedding for p in pictures.values() if p.embedding is not None])
    with suppress(OSError, InputError):
        store_path(folder, encoder).parent.mkdir(parents=True, exist_ok=True)
        write_npz(store_path(folder, encoder), arrays, level=1)


def captioned_pictures(
    name: str,
    pictures: Sequence[DecodedPicture],
    captions: Mapping[str, Sequence[str]],
    labels: Any,
    train: IntArray,
    seed: int,
    encoder: str = "",
    **about: Any,
) -> MultimodalDataset:
    """Build a data set from one picture per row and, for each text modality, one caption per row.

    With an encoder, its two networks compute the features of pictures and captions. `about` are further
    fields of the data set, for example its class names.
    """
    modalities: dict[str, Matrix] = {}
    encoders: dict[str, Encoder] = {}
    if encoder:
        modalities["image"] = np.stack([p.embedding for p in pictures if p.embedding is not None])
        encoders["image"] = EmbeddedPictures(encoder)
    else:
        measured = stack([picture.measurements for picture in pictures])
        image = encoders["image"] = ImageEncoder(fit_visual_words(measured.take(train), seed=seed))
        modalities["image"] = image.features(measured)
    for modality, sentences in captions.items():
        known = [sentences[row] for row in train]
        text = EmbeddedTexts(encoder) if encoder else fit_bag_of_words(known, max_tokens=MAX_TOKENS)
        modalities[modality], encoders[modality] = text.encode(sentences), text
    joined = [" · ".join(texts) for texts in zip(*captions.values(), strict=True)]
    thumbnails = [picture.thumbnail for picture in pictures]
    looks: dict[str, Any] = {"captions": joined, "thumbnails": thumbnails, "encoders": encoders}
    return MultimodalDataset(name, modalities, labels, **looks, **about)

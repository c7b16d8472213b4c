"""Drawings → pictures and what is measured in them, done once and kept in the cache folder."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from smfh.datasets.cache import cache_folder
from smfh.datasets.emoji_catalogue import EmojiItem
from smfh.datasets.source import OnProgress
from smfh.features.image import BLOCKS, CELL, COLOURS, ORIENTATIONS, SIDE, Measurements, measure
from smfh.files import Array, read_npz, write_npz
from smfh.types import InputError

PIXELS = 128  # side of a thumbnail
VERSION = 1  # raise it when this module draws or measures differently
REPORT_EVERY = 20  # pictures
MAX_CACHE_BYTES = 1 << 28


@dataclass(frozen=True, eq=False)
class Sheet:
    """The pictures of a catalogue, in its order."""

    thumbnails: tuple[bytes, ...]  # PNG on white: dark outlines would vanish on a dark page
    measured: Measurements


def load_sheet(items: Sequence[EmojiItem], on_progress: OnProgress | None = None) -> Sheet:
    """From the cache if it is whole and of this recipe, else drawn anew and kept for the next time."""
    path, stamp = cache_folder() / "emoji.npz", recipe(items)
    if sheet := _cached(path, stamp, len(items)):
        return sheet
    sheet = draw_sheet(items, on_progress)
    with suppress(OSError):  # a cache that cannot be written costs time, not the data
        path.parent.mkdir(parents=True, exist_ok=True)
        write_npz(path, _arrays(sheet, stamp))
    return sheet


def recipe(items: Sequence[EmojiItem]) -> str:
    """Names everything that the pictures and their measurements depend on."""
    settings = {
        "version": VERSION,
        "packages": {package: version(package) for package in ("emosvg", "resvg-py", "scikit-image")},
        "pixels": PIXELS,
        "measured": [SIDE, CELL, ORIENTATIONS, *COLOURS],
        "drawings": [item.drawing.name for item in items],
    }
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def draw_sheet(items: Sequence[EmojiItem], on_progress: OnProgress | None = None) -> Sheet:
    thumbnails: list[bytes] = []

    def drawn() -> Iterator[bytes]:
        for number, item in enumerate(items):
            if on_progress is not None and number % REPORT_EVERY == 0:
                on_progress(number / len(items), f"Drawing emoji: {number:,} of {len(items):,}")
            thumbnails.append(rasterise(item.drawing))
            yield thumbnails[-1]

    measured = measure(drawn())
    if on_progress is not None:
        on_progress(1.0, f"{len(items):,} emoji are drawn")
    return Sheet(tuple(thumbnails), measured)


def rasterise(drawing: Path) -> bytes:
    """A PNG file of the drawing on white."""
    import resvg_py

    return resvg_py.svg_to_bytes(
        svg_path=str(drawing), width=PIXELS, height=PIXELS, background="white", skip_system_fonts=True
    )


def _arrays(sheet: Sheet, stamp: str) -> dict[str, Array]:
    arrays: dict[str, Array] = {
        "thumbnails": np.frombuffer(b"".join(sheet.thumbnails), dtype=np.uint8),
        "ends": np.cumsum([len(file) for file in sheet.thumbnails]),
        "gradients": sheet.measured.gradients.reshape(len(sheet.thumbnails), -1),
        "colours": sheet.measured.colours,
    }
    return arrays | {"stamp": np.array(stamp), "checksum": np.array(_checksum(arrays, stamp))}


def _checksum(arrays: dict[str, Array], stamp: str) -> str:
    digest = hashlib.sha256(stamp.encode())
    for name in ("thumbnails", "ends", "gradients", "colours"):
        digest.update(f"{name}{arrays[name].shape}{arrays[name].dtype}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()


def _cached(path: Path, stamp: str, count: int) -> Sheet | None:
    try:
        arrays = read_npz(path, max_bytes=MAX_CACHE_BYTES)
        if str(arrays["stamp"]) != stamp or str(arrays["checksum"]) != _checksum(arrays, stamp):
            return None
    except (InputError, KeyError):  # absent, damaged, or of another kind
        return None
    ends = arrays["ends"]
    if len(ends) != count:
        return None
    files, starts = arrays["thumbnails"].tobytes(), np.concatenate([[0], ends[:-1]])
    thumbnails = tuple(files[start:end] for start, end in zip(starts, ends, strict=True))
    gradients = arrays["gradients"].reshape(-1, BLOCKS, BLOCKS, 2, 2, ORIENTATIONS)
    return Sheet(thumbnails, Measurements(gradients, arrays["colours"]))

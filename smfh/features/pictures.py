"""Decode untrusted picture files, and make thumbnails and contact sheets."""

import io
import textwrap
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from smfh.types import InputError

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # decoded in memory, without other programs
MAX_PIXELS = 25_000_000
MAX_SCANS = 100  # of a progressive JPEG; each scan covers the whole picture, and ten are usual
MAX_SCANNED_PIXELS = 250_000_000  # scans × pixels


@cache
def picture_formats() -> tuple[str, ...]:
    """Return the formats that can be decoded, including HEIF if the package pillow-heif is installed."""
    if find_spec("pillow_heif") is None:
        return FORMATS
    from pillow_heif import register_heif_opener

    register_heif_opener()
    return (*FORMATS, "HEIF")


def decode_image(data: bytes, name: str = "picture", max_pixels: int = MAX_PIXELS, side: int = 0) -> NDArray[np.uint8]:
    """Decode a picture file to upright RGB pixels, height × width × 3; transparent pixels become white.

    The size in the header and the number of scans are checked before any pixel is decoded. If `side` is
    given, a large picture is reduced by a whole factor, so that no side becomes shorter than `side` pixels. A
    JPEG file may then have twice `max_pixels`, because it is reduced while it is decoded.
    """
    from PIL import Image, ImageOps

    if not data:
        raise InputError(f"{name} is empty; expected a picture file ({', '.join(FORMATS)}).")
    size = "too many pixels"
    try:
        with Image.open(io.BytesIO(data), formats=picture_formats()) as image:
            is_jpeg = image.format == "JPEG"
            max_pixels *= 2 if side and is_jpeg else 1
            if image.width * image.height > max_pixels:
                size = f"{image.width} × {image.height} pixels"
                raise Image.DecompressionBombError
            if is_jpeg:
                scans = data.count(b"\xff\xda")  # in compressed data, a zero follows each 0xff
                if scans > MAX_SCANS or scans * image.width * image.height > MAX_SCANNED_PIXELS:
                    raise InputError(
                        f"{name} is a JPEG file with {scans:,} scans; the limit is "
                        f"{MAX_SCANS}, and lower for large pictures."
                    )
                if side:
                    image.draft("RGB", (side, side))
            image.load()
            upright = ImageOps.exif_transpose(image)
            if side and (factor := min(upright.size) // side) > 1 and upright.mode in ("L", "RGB", "RGBA"):
                upright = upright.reduce(factor)
            if upright.mode.startswith("I"):  # Pillow would clip 16-bit grey at 255 instead of scaling it
                grey = np.clip(np.asarray(upright, dtype=np.int64) >> 8, 0, 255).astype(np.uint8)
                return np.repeat(grey[:, :, None], 3, axis=2)
            if upright.has_transparency_data:
                paper = Image.new("RGBA", upright.size, "white")
                upright = Image.alpha_composite(paper, upright.convert("RGBA"))
            return np.array(upright.convert("RGB"))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(
            f"{name} has {size}; the limit is {max_pixels:,} pixels (width × height). Make it smaller."
        ) from error
    except InputError:
        raise
    except Exception as error:  # on invalid data, decoders raise many types of exceptions
        message = f"{name} is not a picture that can be read; expected {', '.join(picture_formats())}."
        ends = {b"\x89PNG": b"IEND", b"\xff\xd8": b"\xff\xd9", b"GIF8": b"\x00;"}
        if end := next((end for start, end in ends.items() if data.startswith(start)), b""):
            message = f"{name} is damaged. Create or download it again."
        is_short = data[:4] == b"RIFF" and int.from_bytes(data[4:8], "little") + 8 > len(data)
        if is_short or end not in data:
            message = f"{name} is truncated: its end is missing after {len(data):,} bytes. Download it again."
        raise InputError(message) from error


def header_pixels(data: bytes) -> int:
    """Return width × height from the header of a picture file; 0 if it cannot be read."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=picture_formats()) as image:
            return image.width * image.height
    except Exception:  # `decode_image` reports the problem
        return 0


def thumbnail(picture: bytes | NDArray[np.uint8], size: int = 96) -> bytes:
    """Return the picture as a JPEG file, reduced to at most `size` pixels in width and height."""
    from PIL import Image

    pixels = decode_image(picture) if isinstance(picture, bytes) else picture
    image = Image.fromarray(pixels)
    image.thumbnail((size, size))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=88)
    return file.getvalue()


def contact_sheet(pictures: Sequence[bytes], names: Sequence[str], footer: str, columns: int = 12) -> bytes:
    """Return a PNG file that shows the pictures in rows, each above its name, and a footer."""
    from PIL import Image, ImageDraw, ImageFont

    cell, line = 112, 14
    rows = -(-len(pictures) // columns)
    sheet = Image.new("RGB", (columns * cell, rows * (cell + line) + 2 * line), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(11)
    for place, (picture, name) in enumerate(zip(pictures, names, strict=True)):
        left, top = place % columns * cell, place // columns * (cell + line)
        small = Image.fromarray(decode_image(picture, name))
        small.thumbnail((72, 72))
        sheet.paste(small, (left + (cell - small.width) // 2, top + 4))
        words = "\n".join(textwrap.wrap(name, 18)[:2])
        pen.multiline_text((left + cell // 2, top + 80), words, "black", font, anchor="ma", align="center")
    pen.text((8, rows * (cell + line) + 4), footer, "#555555", font)
    file = io.BytesIO()
    sheet.save(file, "PNG", optimize=True)
    return file.getvalue()

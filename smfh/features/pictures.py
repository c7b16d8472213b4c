"""Picture files, which may be anything, → pixels; pixels → a small file to look at."""

import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smfh.types import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # decoded in memory, with no outside program
MAX_PIXELS = 25_000_000


def decode_image(data: bytes, name: str = "picture", max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """The picture as height × width × 3 (RGB), upright, on white where it is transparent.

    Its size is read from the header and checked before any pixel is unpacked.
    """
    from PIL import Image, ImageOps

    if not data:
        raise InputError(f"{name} is empty: expected a picture file ({', '.join(FORMATS)}).")
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            width, height = image.size
            if width * height > max_pixels:
                raise _too_large(name, f"{width} × {height} pixels", max_pixels)
            image.load()
            return _rgb(ImageOps.exif_transpose(image))
    except InputError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(name, "far more pixels", max_pixels) from error
    except Exception as error:  # on bad bytes the decoders raise nearly anything
        raise InputError(_why_unreadable(data, name)) from error


def thumbnail(picture: bytes | NDArray[np.uint8], size: int = 96) -> bytes:
    """A JPEG file of the picture, at most `size` pixels wide and high, never enlarged."""
    from PIL import Image

    pixels = decode_image(picture) if isinstance(picture, bytes) else picture
    image = Image.fromarray(pixels)
    image.thumbnail((size, size))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=88)
    return file.getvalue()


def _rgb(image: "Image") -> NDArray[np.uint8]:
    from PIL import Image

    if image.mode.startswith("I"):  # Pillow would clip 16-bit grey at 255 instead of scaling it
        grey = np.clip(np.asarray(image, dtype=np.int64) >> 8, 0, 255).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(paper, image)
    return np.array(image.convert("RGB"))


def _too_large(name: str, came: str, max_pixels: int) -> InputError:
    return InputError(
        f"{name} has {came}; at most {max_pixels:,} pixels (width × height) are read. Save it smaller."
    )


def _why_unreadable(data: bytes, name: str) -> str:
    kinds = {b"\x89PNG": b"IEND", b"\xff\xd8": b"\xff\xd9", b"GIF8": b"\x00;"}
    for start, end in kinds.items():
        if data.startswith(start):
            if end not in data:
                return f"{name} is truncated: its end is missing after {len(data):,} bytes. Fetch it again."
            return f"{name} is damaged: it begins as a picture but cannot be decoded. Fetch it again."
    if data[:4] == b"RIFF" and int.from_bytes(data[4:8], "little") + 8 > len(data):
        return f"{name} is truncated: its end is missing after {len(data):,} bytes. Fetch it again."
    return f"{name} is not a picture that can be read: expected {', '.join(FORMATS)}."


def contact_sheet(pictures: Sequence[bytes], names: Sequence[str], footer: str, columns: int = 12) -> bytes:
    """A PNG file with the pictures in rows, each above its name, and a line below them all."""
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

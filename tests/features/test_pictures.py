"""Any bytes become pixels or an InputError; what is too large is refused before it is unpacked."""

import io
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import smfh
from smfh.features.pictures import FORMATS, decode_image, thumbnail
from smfh.types import InputError


def gradient(height=24, width=40):
    rows, columns = np.mgrid[:height, :width]
    return np.stack([rows * 9, columns * 5, rows * 0 + 60], axis=2).astype(np.uint8)


def saved(image, kind="PNG", **options):
    file = io.BytesIO()
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image)
    image.save(file, kind, **options)
    return file.getvalue()


def png(width, height, data):
    """A PNG file whose header may promise anything."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


BOMB = png(60_000, 60_000, zlib.compress(bytes(1 << 20), 9))  # 3.6 thousand million pixels in 1 kB
LARGE = png(8_000, 8_000, zlib.compress(bytes(8_001 * 8_000), 9))  # honest, but too large


def test_every_format_is_decoded():
    pixels = gradient()
    for kind in FORMATS:
        decoded = decode_image(saved(pixels, kind))
        assert decoded.shape == (24, 40, 3)
        assert decoded.dtype == np.uint8
        assert np.abs(decoded.astype(int) - pixels).mean() < 25  # JPEG and GIF lose a little
    np.testing.assert_array_equal(decode_image(saved(pixels, "PNG")), pixels)


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "CMYK"])
def test_every_mode_becomes_rgb(mode):
    kind = "JPEG" if mode == "CMYK" else "PNG"
    white = saved(Image.new("RGB", (6, 4), "white").convert(mode), kind)
    np.testing.assert_array_equal(decode_image(white), np.full((4, 6, 3), 255))


def test_transparent_parts_are_white():
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    image.putpixel((1, 0), (200, 0, 0, 255))
    np.testing.assert_array_equal(decode_image(saved(image)), [[[255, 255, 255], [200, 0, 0]]])


def test_sixteen_bit_grey_is_scaled():
    grey = np.array([[0, 0x8000, 0xFFFF]], dtype=np.uint16)
    np.testing.assert_array_equal(decode_image(saved(grey))[0, :, 0], [0, 128, 255])


def test_a_picture_taken_sideways_is_turned():
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90° to see it upright
    assert decode_image(saved(gradient(24, 40), "JPEG", exif=exif)).shape == (40, 24, 3)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BOMB, "bad.png has .* pixels; at most 25,000,000"),
        (LARGE, "bad.png has 8000 × 8000 pixels"),
        (saved(gradient())[:-40], "truncated"),
        (saved(gradient(), "JPEG")[:-200], "truncated"),
        (saved(gradient(), "WEBP", lossless=True)[:-20], "truncated"),
        (saved(gradient())[:20], "truncated"),
        (saved(gradient())[:45] + b"xxxx" + saved(gradient())[49:], "damaged"),
        (b"", "empty"),
        (b"<svg/>", "not a picture"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "not a picture"),  # would start Ghostscript
    ],
)
def test_bad_pictures_are_refused(data, said):
    with pytest.raises(InputError, match=said):
        decode_image(data, "bad.png")


@settings(max_examples=200, deadline=None)
@given(kind=st.sampled_from(FORMATS), at=st.integers(0, 300), byte=st.integers(0, 255))
def test_any_changed_byte_is_decoded_or_refused(kind, at, byte):
    data = bytearray(saved(gradient(8, 8), kind))
    data[at % len(data)] = byte
    try:
        assert decode_image(bytes(data), max_pixels=10_000).shape[2] == 3
    except InputError:
        return


def test_a_thumbnail_keeps_the_shape_and_never_grows():
    for picture in (gradient(240, 400), saved(gradient(240, 400))):
        with Image.open(io.BytesIO(thumbnail(picture, 100))) as small:
            assert small.size == (100, 60)
            assert small.format == "JPEG"
    assert decode_image(thumbnail(gradient(24, 40), 100)).shape == (24, 40, 3)


MEASURE = """
import sys
from pathlib import Path
from PIL import Image
from smfh.features.pictures import decode_image
from smfh.types import InputError

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

Image.init()
before = peak()
for path in sys.argv[1:]:
    try:
        decode_image(Path(path).read_bytes())
    except InputError:
        continue
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
def test_bombs_take_little_memory(tmp_path):
    for number, data in enumerate([BOMB, LARGE]):
        (tmp_path / str(number)).write_bytes(data)
    files = sorted(map(str, tmp_path.iterdir()))
    command = [sys.executable, "-c", MEASURE, *files]
    root = Path(smfh.__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    assert int(done.stdout) < 32 << 10  # kB: their pixels would take gigabytes

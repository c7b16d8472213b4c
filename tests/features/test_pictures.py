"""Any bytes become pixels or an InputError; what is too large is refused before it is unpacked."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

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


def test_a_picture_is_rotated_as_its_exif_data_says():
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90° to see it upright
    assert decode_image(saved(gradient(24, 40), "JPEG", exif=exif)).shape == (40, 24, 3)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (BOMB, "bad.png has .* pixels; the limit is 25,000,000"),
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
def test_bad_pictures_are_refused(data, message):
    with pytest.raises(InputError, match=message):
        decode_image(data, "bad.png")


def test_a_thumbnail_keeps_the_shape_and_never_grows():
    for picture in (gradient(240, 400), saved(gradient(240, 400))):
        with Image.open(io.BytesIO(thumbnail(picture, 100))) as small:
            assert small.size == (100, 60)
            assert small.format == "JPEG"
    assert decode_image(thumbnail(gradient(24, 40), 100)).shape == (24, 40, 3)


def test_a_jpeg_with_many_scans_is_refused():
    whole = saved(gradient(), "JPEG", progressive=True)
    scans = [at for at in range(len(whole)) if whole[at : at + 2] == b"\xff\xda"]
    last = whole[scans[-1] : -2]
    assert decode_image(whole).shape == (24, 40, 3)
    with pytest.raises(InputError, match="scans; the limit is 100"):
        decode_image(whole[:-2] + last * 100 + whole[-2:])


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_large_picture_is_reduced_but_not_below_the_side(kind):
    small = decode_image(saved(gradient(600, 900), kind, quality=95), side=200)
    assert small.shape[0] in (200, 300)
    assert small.shape[1] * 2 == small.shape[0] * 3
    assert decode_image(saved(gradient(150, 400), kind), side=200).shape == (150, 400, 3)

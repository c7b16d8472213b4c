"""The search page in one file: content, escaping, and rejected models."""

import base64
import gzip
import hashlib
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from smfh.datasets import Planted
from smfh.export import page as page_module
from smfh.export.page import MAX_PICTURE_BYTES, content_bytes, pictures_of, search_page
from smfh.features.text import fit_tf_idf
from smfh.hamming import DISTANCES
from smfh.hashing import make_method
from smfh.types import InputError, MultimodalDataset, Split

HOSTILE = "</script><script>alert(1)</script>{policy}"
SENTENCES = ["red cat", "red dog", "blue bird", "blue fish"] * 5


def spoken(name="own", dtype=np.float32):
    """Twenty items with words, numbers, and captions that mean harm."""
    encoder, rng = fit_tf_idf(SENTENCES), np.random.default_rng(0)
    X = encoder.encode(SENTENCES).astype(dtype)
    labels = np.array([sentence.split()[0] for sentence in SENTENCES])
    modalities = {"text": X, "image": rng.random((20, 5)).astype(dtype)}
    data = MultimodalDataset(name, modalities, labels, captions=[HOSTILE] * 20, encoders={"text": encoder})
    return data, Split(np.arange(16), np.arange(16, 20))


def test_the_page_states_its_distance():
    data, split = spoken()
    hasher = make_method("smfh", bits=8, iterations=3).fit(data.take(split.train))
    assert read(search_page(hasher, data, split))[0]["distance"] == "asymmetric"
    for distance, words in DISTANCES.items():
        header, _ = read(search_page(hasher, data, split, distance=distance))
        assert header["distance"] == distance
        assert header["ties"].startswith(words)
    with pytest.raises(InputError, match="Unknown distance 'cosine'"):
        search_page(hasher, data, split, distance="cosine")


def test_data_is_escaped_and_the_policy_allows_only_own_script_and_style():
    data, split = spoken(name=HOSTILE)
    page = search_page(make_method("cvh", bits=4).fit(data.take(split.train)), data, split)
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 2
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for kind, inside in (("script", r"<script>(.*)</script>"), ("style", r"<style>(.*)</style>")):
        digest = hashlib.sha256(re.search(inside, page, re.DOTALL)[1].encode()).digest()
        assert f"{kind}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "innerHTML" not in page
    assert "http://" not in page
    assert "https://" not in page


def test_large_pictures_are_made_smaller():
    file = io.BytesIO()
    noise = np.random.default_rng(0).integers(256, size=(300, 200, 3), dtype=np.uint8)
    Image.fromarray(noise).save(file, "BMP")
    light = io.BytesIO()
    Image.new("RGB", (8, 8)).save(light, "PNG")
    kinds, arrays = pictures_of([file.getvalue(), light.getvalue()])
    assert kinds == ["image/webp", "image/png"]
    starts = arrays["thumbnail_starts"].tolist()
    small = arrays["thumbnails"][starts[0] : starts[1]].tobytes()
    assert Image.open(io.BytesIO(small)).size == (85, 128)
    assert len(file.getvalue()) > MAX_PICTURE_BYTES
    assert arrays["thumbnails"][starts[1] : starts[2]].tobytes() == light.getvalue()


def test_too_large_a_page_is_rejected_before_any_work(monkeypatch):
    data, split = spoken()
    hasher = make_method("cvh", bits=4).fit(data.take(split.train))
    size = content_bytes(data, split, "text", "image", "likeness")
    monkeypatch.setattr(page_module, "MAX_BYTES", size)
    assert search_page(hasher, data, split)
    monkeypatch.setattr(page_module, "MAX_BYTES", size - 1)
    monkeypatch.setattr(page_module, "database_codes", None)  # not reached
    with pytest.raises(InputError, match="use fewer items, or keep ties in database order"):
        search_page(hasher, data, split)


def test_data_without_words_and_double_precision_are_rejected():
    data, split = Planted().load()
    hasher = make_method("cvh", bits=4).fit(data.take(split.train))
    with pytest.raises(InputError, match="Words cannot be a query in"):
        search_page(hasher, data, split)
    data, split = spoken(dtype=np.float64)
    hasher = make_method("cvh", bits=4).fit(data.take(split.train))
    with pytest.raises(InputError, match="single precision"):
        search_page(hasher, data, split)
    with pytest.raises(InputError, match="order of ties"):
        search_page(hasher, data, split, ties="none")


def read(page):
    """The header and the arrays of a page."""
    text = re.search(r'id="content">([^<]*)<', page)[1]
    plain = gzip.decompress(base64.b64decode(text))
    length = int.from_bytes(plain[:4], "little")
    header = json.loads(plain[4 : 4 + length])
    kinds = {"f32": "<f4", "f64": "<f8", "u32": "<u4", "u8": "u1"}
    arrays = {
        name: np.frombuffer(plain, kinds[kind], size, 4 + length + at)
        for name, (kind, at, size) in header["arrays"].items()
    }
    return header, arrays


def test_the_page_contains_words_arrays_and_codes():
    data, split = spoken()
    hasher = make_method("smfh", bits=40, iterations=3).fit(data.take(split.train))
    header, arrays = read(search_page(hasher, data, split))
    assert header["captions"] == [HOSTILE] * 16
    assert header["example"] == "bird"  # none of the caption's words is known; the first that is
    assert header["labels"][:4] == ["red", "red", "blue", "blue"]
    assert header["tokens"] == list(data.encoders["text"].vocabulary.tokens)
    assert header["map"] == {"power": 1.0, "unit_rows": False, "width": 1.0}
    octets = hasher.database_codes["image"].view(np.uint8)[:, :8]
    assert arrays["codes"].tobytes() == octets.tobytes()
    np.testing.assert_array_equal(arrays["projection"], hasher.functions["text"].projection.ravel())

"""The page in one file, as text: what is in it, what is escaped, what is refused."""

import base64
import gzip
import hashlib
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hostile_texts import TEXTS
from PIL import Image

from smfh.datasets import DATASETS, Planted
from smfh.export import page as page_module
from smfh.export.container import pack_content
from smfh.export.page import LIGHT, MOST_BYTES, assemble, content_bytes, pictures_of, search_page
from smfh.export.spelling import letter_ranges, mark_ranges, spelling_of
from smfh.features.text import Vocabulary, fit_tf_idf
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


def test_words_arrays_and_codes_are_in_it():
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


def test_ties_in_database_order_need_no_features_of_what_is_found():
    data, split = spoken()
    hasher = make_method("smfh", bits=8, iterations=3).fit(data.take(split.train))
    _, with_likeness = read(search_page(hasher, data, split))
    _, without = read(search_page(hasher, data, split, ties="database"))
    assert set(with_likeness) - set(without) == {"usual", "target_starts", "target_columns", "target_values"}


def test_nothing_of_the_data_becomes_markup_and_the_policy_knows_script_and_style():
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


def test_no_hostile_text_becomes_an_element_of_the_page():
    def elements(title: str, said: str) -> list[str]:
        found = []
        reader = HTMLParser()
        reader.handle_starttag = lambda tag, attributes: found.append(f"{tag} {dict(attributes)}")
        reader.feed(assemble(title, pack_content({"captions": [said], "labels": [said]}, {})))
        return found

    for text in TEXTS:
        assert elements(text, text) == elements("harmless", "harmless")


def test_the_same_model_makes_the_same_file():
    assert assemble("a", pack_content({}, {})) == assemble("a", pack_content({}, {}))


def test_arrays_stand_behind_the_header_each_where_a_number_of_eight_octets_may():
    given = {
        "few": np.arange(3, dtype=np.uint8),
        "none": np.empty(0, dtype=np.float64),
        "many": np.arange(5, dtype=np.float32),
        "last": np.array([0.5, -1.0]),
    }
    header, arrays = read(f'<script id="content">{pack_content({"a": "é"}, given)}</script>')
    assert header["a"] == "é"
    assert [at % 8 for _, at, _ in header["arrays"].values()] == [0, 0, 0, 0]
    for name, array in given.items():
        np.testing.assert_array_equal(arrays[name], array)


def test_heavy_pictures_become_small_ones():
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
    assert len(file.getvalue()) > LIGHT
    assert arrays["thumbnails"][starts[1] : starts[2]].tobytes() == light.getvalue()


def test_characters_are_told_as_python_reads_them():
    letters, marks = (ranges.reshape(-1, 2).tolist() for ranges in (letter_ranges(), mark_ranges()))
    assert [ord("0"), ord("9")] in letters
    assert [ord("a"), ord("z")] in letters
    assert [0x300, 0x36F] in marks
    spelling = spelling_of(Vocabulary(("dog", "snowman")))
    assert spelling["fold"]["ß"] == "ss"
    assert spelling["names"]["🐶"] == "dog face"
    assert "🚀" not in spelling["names"]


def test_what_a_page_would_hold_is_told_before_it_is_made():
    data, split = spoken()
    numbers = data.modalities["text"].nnz + data.modalities["image"].size
    whole = (8 * numbers + 20 * len(HOSTILE)) * 16 // 20
    assert content_bytes(data, split, "text", "image", "likeness") == whole
    without = content_bytes(data, split, "text", "image", "database")
    assert without == whole - 8 * data.modalities["image"].size * 16 // 20
    heavy, light = bytes(LIGHT + 1), bytes(10)
    seen = replace(data, thumbnails=[heavy, light] * 10)  # a heavy one is made light
    assert content_bytes(seen, split, "text", "image", "database") == without + 10 * (LIGHT + 10) * 16 // 20


def test_what_is_too_large_for_one_file_is_refused_in_words_before_any_work(monkeypatch):
    data, split = spoken()
    hasher = make_method("cvh", bits=4).fit(data.take(split.train))
    size = content_bytes(data, split, "text", "image", "likeness")
    monkeypatch.setattr(page_module, "MOST_BYTES", size)
    assert search_page(hasher, data, split)
    monkeypatch.setattr(page_module, "MOST_BYTES", size - 1)
    monkeypatch.setattr(page_module, "database_codes", None)  # nobody comes so far
    with pytest.raises(InputError, match="take fewer items, or let ties stay in database order"):
        search_page(hasher, data, split)


def test_emoji_is_far_from_too_large():
    data, split = DATASETS["emoji"]().load()
    size = content_bytes(data, split, "text", "image", "likeness")
    assert 5e6 < size < MOST_BYTES / 4


def test_what_has_no_words_and_what_is_double_is_refused():
    data, split = Planted().load()
    hasher = make_method("cvh", bits=4).fit(data.take(split.train))
    with pytest.raises(InputError, match="Words cannot be asked in"):
        search_page(hasher, data, split)
    data, split = spoken(dtype=np.float64)
    hasher = make_method("cvh", bits=4).fit(data.take(split.train))
    with pytest.raises(InputError, match="single precision"):
        search_page(hasher, data, split)
    with pytest.raises(InputError, match="order of ties"):
        search_page(hasher, data, split, ties="none")

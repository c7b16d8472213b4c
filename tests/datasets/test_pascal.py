"""PASCAL-Sentence on miniature folders in both public layouts, and with the real sentences."""

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import sparse

from smfh.datasets.pascal import PascalSentence, read_pairs
from smfh.types import InputError, Split

COLOURS = {"aeroplane": "skyblue", "bus": "red", "cat": "grey", "sheep": "white"}
EACH = 5
REAL = Path(os.environ.get("SMFH_DATA", "absent"), "pascal_sentence", "pascal_sentences.json")


def picture(category, number):
    image = Image.new("RGB", (64, 48), COLOURS[category])
    image.paste("black", (8 + number, 10, 30, 20 + 3 * number))
    file = io.BytesIO()
    image.save(file, "JPEG")
    return file.getvalue()


def sentences(category, number):
    return [f"A {category} seen in picture {number}.", f"This is the {category}!"]


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Pictures alone, as both layouts have them."""
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    for category in COLOURS:
        folder = tmp_path / "pascal_sentence/dataset" / category
        folder.mkdir(parents=True)
        for number in range(EACH):
            (folder / f"2008_00{number}.jpg").write_bytes(picture(category, number))
    return tmp_path / "pascal_sentence"


@pytest.fixture
def folders(root):
    """sentence/<category>/<image>.txt, one caption a line."""
    for category in COLOURS:
        (root / "sentence" / category).mkdir(parents=True)
        for number in range(EACH):
            text = "\n".join(sentences(category, number)) + "\n"
            (root / "sentence" / category / f"2008_00{number}.txt").write_text(text)
    return root


@pytest.fixture
def one_json(root):
    """{image name: {category, captions}}; image names are unique there, so each has its category in it."""
    entries = {}
    for category in COLOURS:
        for number in range(EACH):
            name = f"{category}_{number}.jpg"
            (root / "dataset" / category / f"2008_00{number}.jpg").rename(root / "dataset" / category / name)
            entries[name] = {"category": category, "captions": sentences(category, number)}
    (root / "pascal_sentences.json").write_text(json.dumps(entries))


@pytest.mark.parametrize("layout", ["folders", "one_json"])
def test_both_layouts_are_read(layout, request):
    request.getfixturevalue(layout)
    assert PascalSentence().missing() == []
    data, split = PascalSentence().load()
    assert len(data) == EACH * len(COLOURS)
    assert data.class_names == tuple(COLOURS)
    np.testing.assert_array_equal(data.labels.sum(axis=0), EACH)
    assert len(split.train) == 16
    assert isinstance(data.modalities["text"], sparse.csr_array)
    assert data.modalities["image"].dtype == np.float32
    assert data.captions[0] == "A aeroplane seen in picture 0.\nThis is the aeroplane!"
    for thumb, row in zip(data.thumbnails, data.labels, strict=True):
        with Image.open(io.BytesIO(thumb)) as shown:
            corner = np.array(shown.getpixel((60, 44)))
            wanted = Image.new("RGB", (1, 1), COLOURS[data.class_names[row.argmax()]]).getpixel((0, 0))
            assert np.abs(corner - wanted).max() < 12


def test_features_are_fitted_on_training_rows_alone(folders):
    text = folders / "sentence/bus/2008_003.txt"
    text.write_text("Only here stands zygomorphic.\n")
    row = [(pair.category, pair.image) for pair in read_pairs(folders)].index(("bus", "2008_003.jpg"))
    others = np.delete(np.arange(20), row)
    for split in (Split(np.append(others[4:], row), others[:4]), Split(others[4:], np.append(others[:4], row))):
        data, _ = PascalSentence().load(split)
        assert bool(data.encoders["text"].unknown_words("zygomorphic")) == (row not in split.train)


def test_missing_pictures_are_reported(folders):
    (folders / "dataset/cat/2008_002.jpg").unlink()
    (said,) = PascalSentence().missing()
    assert "1 of 20 pictures are missing, such as dataset/cat/2008_002.jpg" in said
    with pytest.raises(InputError, match="1 of 20 pictures"):
        PascalSentence().load()


def test_broken_pictures_are_all_named(folders):
    for name in ("dataset/cat/2008_001.jpg", "dataset/sheep/2008_004.jpg"):
        (folders / name).write_bytes((folders / name).read_bytes()[:200])
    with pytest.raises(InputError) as caught:
        PascalSentence().load()
    first, second = caught.value.problems
    assert first.startswith("cat/2008_001.jpg is truncated")
    assert second.startswith("sheep/2008_004.jpg is truncated")


def test_a_picture_without_sentences_is_reported(folders):
    (folders / "sentence/bus/2008_001.txt").write_text("\n \n")
    assert PascalSentence().missing() == ["bus/2008_001.jpg has no sentence."]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a.jpg": {"category": "cat", "capt', "truncated"),
        ("[" * 100_000, "damaged"),
        ("[1, 2]", "must map"),
        ('{"a.jpg": 3, "b.jpg": {"category": "cat"}}', "'a.jpg' must be.*\n.*'b.jpg' must be"),
        ('{"../../a.jpg": {"category": "cat", "captions": ["x"]}}', "file name"),
        ('{"a.jpg": {"category": "../cat", "captions": ["x"]}}', "file name"),
        ('{"a.jpg": {"category": "cat", "captions": [1]}}', "list of captions"),
    ],
)
def test_bad_json_is_refused(root, text, said):
    (root / "pascal_sentences.json").write_text(text)
    with pytest.raises(InputError, match=said):
        read_pairs(root)


@pytest.mark.skipif(not REAL.is_file(), reason="SMFH_DATA has no pascal_sentence/pascal_sentences.json")
class TestRealSentences:
    def test_all_sentences_are_read(self):
        pairs = read_pairs(REAL.parent)
        assert len(pairs) == 1_000
        assert len({pair.category for pair in pairs}) == 20
        assert {len(pair.sentences) for pair in pairs} == {4, 5, 6}

"""Every layout is read from a folder, from a .zip and from uploaded files, with the same result."""

import io
import re
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pytest
from layouts import LAYOUTS, MATRICES, PICTURES, SHAPES, Items, class_folders, put, put_pictures

import smfh
from smfh.datasets import user_pictures
from smfh.datasets.user_data import UserDataset
from smfh.datasets.user_pictures import PictureCache, store_path
from smfh.hashing import SMFHPlus
from smfh.retrieval.evaluation import evaluate
from smfh.retrieval.search import query_from_words, search

ITEMS = Items(16)
MANY_ITEMS = Items(208)
WITHOUT_CAPTIONS = ("class_folders", "split_class_folders")


@pytest.fixture
def folder(layout, tmp_path):
    LAYOUTS[layout](tmp_path, ITEMS)
    return tmp_path


def uploads_of(folder):
    """The files as a browser uploads them: with their folders."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return tuple((path.relative_to(folder).as_posix(), path.read_bytes()) for path in paths)


def zip_of(folder):
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        for name, content in uploads_of(folder):
            archive.writestr(name, content)
    return file.getvalue()


def by_picture(rows):
    """Labels and captions by thumbnail, since layouts list pictures in different orders."""
    texts = [tuple(captions) for captions in zip(*rows.captions.values(), strict=True)]
    found = zip([picture.thumbnail for picture in rows.pictures], rows.labels, texts, strict=True)
    return {thumbnail: (labels, captions) for thumbnail, labels, captions in found}


@pytest.fixture(scope="module")
def pictures():
    """Labels and captions as they were drawn."""
    from smfh.features.pictures import decode_image, thumbnail

    rows = zip(ITEMS.pictures, ITEMS.shapes, ITEMS.captions, strict=True)
    return {thumbnail(decode_image(one)): ((shape,), (text,)) for one, shape, text in rows}


@pytest.mark.parametrize("layout", PICTURES)
def test_pictures_have_their_captions_and_labels(layout, folder, pictures):
    expected = pictures
    if layout in WITHOUT_CAPTIONS:
        expected = {picture: (labels, labels) for picture, (labels, _) in pictures.items()}
    if "flickr" in layout:
        expected = {p: (labels, (f"{text}\n{text}",)) for p, (labels, (text,)) in pictures.items()}
    for source in (
        UserDataset(folder),
        UserDataset(zip_of(folder), "mine.zip"),
        UserDataset(uploads_of(folder), "mine"),
    ):
        rows = source.read()
        assert not rows.problems
        assert not rows.skipped
        assert by_picture(rows) == expected
        assert source.preview().problems == ()


@pytest.mark.parametrize("layout", MATRICES)
def test_matrices_have_their_labels(layout, folder):
    for source in (
        UserDataset(folder),
        UserDataset(zip_of(folder), "mine.zip"),
        UserDataset(uploads_of(folder), "mine"),
    ):
        assert source.preview().problems == ()
        data, _ = source.load()
        assert list(data.modalities) == ["image", "text"]
        for name, X in ITEMS.matrices.items():
            np.testing.assert_allclose(data.modalities[name], X, rtol=1e-6)
        assert data.class_names == tuple(sorted(SHAPES))
        assert [data.class_names[k] for k in data.labels.argmax(axis=1)] == ITEMS.shapes


@pytest.fixture(scope="module")
def decoded():
    """The pictures of all layouts below, decoded once."""
    return PictureCache()


def photographs(folder, items):
    put_pictures(folder, items)


@pytest.mark.slow
@pytest.mark.parametrize("make", [*LAYOUTS.values(), photographs], ids=lambda make: make.__name__)
def test_every_layout_is_trained_on_and_searched(make, tmp_path, decoded):
    make(tmp_path, MANY_ITEMS)
    source = UserDataset(zip_of(tmp_path), "mine.zip")
    source.remember(PictureCache(by_digest=decoded.by_digest))
    data, split = source.load()
    assert len(data) == len(MANY_ITEMS)
    hasher = SMFHPlus(bits=16, iterations=5).fit(data.take(split.train))
    for way in (("text", "image"), ("image", "text")):
        precision = evaluate(hasher, data, split, *way, "unseen").average_precision["found"]
        print(f"mAP, {' → '.join(way)}, unseen items: {precision.mean:.2f}; {precision.chance:.2f} by chance")
        assert precision.mean > precision.chance + 0.1
    if make.__name__ in PICTURES:
        results = search(hasher, data, split, query_from_words(data, "text", "circle"), "image", limit=8)
        found = sum("circle" in data.captions[row] for row in results.rows)
        print(f"{found} of 8 results for “circle” are circles")
        assert found >= 7


GUIDE = (Path(smfh.__file__).parents[1] / "assets/guide/your-own-data.md").read_text("utf-8")
EXAMPLES = re.findall(r"```layout\n(.*?)```", GUIDE, flags=re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_of_the_guide_is_read(example, tmp_path):
    """File names stand at the start of a line; the indented lines below are their contents."""
    for number, block in enumerate(re.findall(r"(?m)^(\S.*)\n((?:    .*\n)*)", example)):
        name, content = block[0], textwrap.dedent(block[1])
        put(tmp_path, name, ITEMS.pictures[number] if name.endswith(".png") else content)
    preview = UserDataset(tmp_path).preview()
    assert (preview.problems, preview.skipped, preview.items) == ((), (), 4)
    assert [name for name, _ in preview.modalities] == ["image", "text"]
    classes = dict(preview.classes)
    assert (classes["cat"], classes["dog"]) == (2, 2)


def test_pictures_of_a_folder_are_decoded_once_whatever_their_names(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "photos"
    class_folders(folder, ITEMS)
    first, _ = UserDataset(folder).load()
    decoded, really = [], user_pictures.decode_picture
    monkeypatch.setattr(user_pictures, "decode_picture", lambda file, _: decoded.append(1) or really(file))
    (folder / "shapes/circle").rename(folder / "shapes/disc")
    again, _ = UserDataset(folder).load()
    assert decoded == []
    np.testing.assert_array_equal(again.modalities["image"], first.modalities["image"])
    assert again.thumbnails == first.thumbnails
    put(folder, "shapes/disc/new.png", Items(1, seed=1).pictures[0])
    store_path(folder).write_bytes(store_path(folder).read_bytes()[:1000])
    assert len(UserDataset(folder).load()[0]) == len(ITEMS) + 1
    assert len(decoded) == len(ITEMS) + 1
    assert [path.parent.name for path in (tmp_path / "cache").rglob("*.npz")] == ["pictures"]


def test_uploads_are_not_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path / "cache"))
    class_folders(tmp_path / "photos", ITEMS)
    UserDataset(zip_of(tmp_path / "photos"), "mine.zip").load()
    assert not (tmp_path / "cache").exists()

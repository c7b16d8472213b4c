"""Wiki in its own files: the real ones where they are, and broken ones that the tests write."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from smfh.datasets import wiki
from smfh.datasets.wiki import CHECKSUMS, Wiki, read_caption, read_pairs
from smfh.features.pictures import decode_image
from smfh.types import InputError


def copy_of(wiki_folder, tmp_path, monkeypatch) -> Path:
    """A copy that a test may damage, with SMFH_DATA pointing at it."""
    shutil.copytree(wiki_folder, tmp_path / "wiki", copy_function=shutil.copyfile)
    (tmp_path / "wiki").chmod(0o755)
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    return tmp_path / "wiki"


@pytest.mark.usefixtures("wiki_folder")
def test_the_official_split_and_features():
    data, split = Wiki().load("official")
    assert (len(split.train), len(split.queries)) == (2173, 693)
    assert {name: X.shape[1] for name, X in data.modalities.items()} == {"image": 128, "text": 10}
    assert len(data.class_names) == 10
    assert (data.labels.sum(axis=1) == 1).all()
    for X in data.modalities.values():
        np.testing.assert_allclose(X.sum(axis=1), 1, atol=1e-5)


@pytest.mark.slow
@pytest.mark.usefixtures("wiki_folder")
def test_a_random_split_takes_three_quarters():
    _, split = Wiki().load("random", seed=3)
    assert len(split.train) == round(0.75 * 2866)


def test_a_damaged_list_names_its_lines(wiki_folder, tmp_path, monkeypatch):
    path = copy_of(wiki_folder, tmp_path, monkeypatch) / "trainset_txt_img_cat.list"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "only\ttwo", "a\tb\t11", *lines[3:]]))
    with pytest.raises(InputError) as caught:
        Wiki().load()
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "trainset_txt_img_cat.list, line 2",
        "trainset_txt_img_cat.list, line 3",
    ]


def test_a_missing_file_is_named(wiki_folder, tmp_path, monkeypatch):
    (copy_of(wiki_folder, tmp_path, monkeypatch) / "categories.list").unlink()
    with pytest.raises(InputError, match=r"expects categories\.list in wiki/"):
        Wiki().load()


@pytest.mark.usefixtures("small_wiki")
def test_an_item_is_called_by_the_names_of_its_files():
    data, _ = Wiki().load()
    assert list(data.captions) == [f"text{k}-1.2 / image{k}" for k in range(8)]
    assert data.thumbnails is None


def test_pictures_and_texts_are_shown_where_the_folder_has_them(illustrated_wiki):
    data, split = Wiki().load()
    assert data.captions[3] == "Section 3 <b> of it"
    assert [colour_of(data.thumbnails[row]) for row in (0, 1, 7)] == [0, 30, 210]
    assert colour_of(data.take(split.queries).thumbnails[0]) == 180
    (illustrated_wiki / "texts" / "text3-1.2.xml").unlink()
    assert Wiki().load()[0].captions[2:4] == ["Section 2 <b> of it", "text3-1.2 / image3"]
    (illustrated_wiki / "images" / "art" / "image0.jpg").unlink()
    assert Wiki().load()[0].thumbnails is None
    assert Wiki().load()[0].fingerprint == data.fingerprint


def colour_of(picture: bytes) -> int:
    """The grey of a picture of one colour, as far as JPEG keeps it, in steps of 30."""
    return 30 * round(float(decode_image(picture).mean()) / 30)


def test_a_long_text_is_cut_at_a_word(tmp_path):
    path = tmp_path / "a.xml"
    path.write_text(f"<text>{'word ' * 200}</text>")
    caption = read_caption(path)
    assert len(caption) <= 302
    assert caption.endswith("word …")
    path.write_text("no text in here")
    assert read_caption(path) == ""


@pytest.mark.parametrize("line", ["../../etc/passwd\tb\t1", "a\t/b\t1", "a\t..\t1", "\tb\t1"])
def test_identifiers_that_are_no_plain_names_are_refused(tmp_path, line):
    (tmp_path / "x.list").write_text(f"{line}\n")
    with pytest.raises(InputError, match="line 1"):
        read_pairs(tmp_path / "x.list", 10)


def test_fetching_unpacks_what_is_known_and_checks_it(wiki_folder, tmp_path, monkeypatch):
    archive = tmp_path / "wikipedia_dataset.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in CHECKSUMS:
            packed.write(wiki_folder / name, f"wikipedia_dataset/{name}")
        packed.writestr("wikipedia_dataset/images/art/nobody-asked.jpg", b"")
    target = tmp_path / "benchmarks"
    monkeypatch.setenv("SMFH_DATA", str(target))
    monkeypatch.setattr(wiki, "download", lambda url, path, on_progress: copied(archive, path))
    assert Wiki().fetch() == target / "wiki"
    assert sorted(path.name for path in (target / "wiki").iterdir()) == sorted(CHECKSUMS)
    assert not Wiki().missing()
    with zipfile.ZipFile(archive, "a") as packed, pytest.warns(UserWarning, match="Duplicate"):
        packed.writestr("wikipedia_dataset/categories.list", "art\n")
    with pytest.raises(InputError):
        Wiki().fetch()


def copied(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(source, target))

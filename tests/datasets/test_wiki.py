"""Wiki in its original files: the real ones if they are available, and damaged ones."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from smfh.__main__ import main
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


def test_damaged_lines_of_a_list_are_listed(wiki_folder, tmp_path, monkeypatch):
    path = copy_of(wiki_folder, tmp_path, monkeypatch) / "trainset_txt_img_cat.list"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "only\ttwo", "a\tb\t11", *lines[3:]]))
    with pytest.raises(InputError) as caught:
        Wiki().load()
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "trainset_txt_img_cat.list, line 2",
        "trainset_txt_img_cat.list, line 3",
    ]


@pytest.mark.usefixtures("small_wiki")
def test_without_texts_a_caption_is_the_names_of_the_files():
    data, _ = Wiki().load()
    assert list(data.captions) == [f"text{k}-1.2 / image{k}" for k in range(8)]
    assert data.thumbnails is None


def test_pictures_and_texts_are_used_if_they_are_available(illustrated_wiki):
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
def test_names_that_could_leave_the_folder_are_refused(tmp_path, line):
    (tmp_path / "x.list").write_text(f"{line}\n")
    with pytest.raises(InputError, match="line 1"):
        read_pairs(tmp_path / "x.list", 10)


@pytest.mark.parametrize("is_set", [True, False])
def test_wiki_is_downloaded_into_the_data_folder(wiki_folder, tmp_path, monkeypatch, user_data_folder, capsys, is_set):
    """Into SMFH_DATA or, if it is not set, the user's data folder, where the set is found afterwards."""
    archive = tmp_path / "wikipedia_dataset.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in CHECKSUMS:
            packed.write(wiki_folder / name, f"wikipedia_dataset/{name}")
        packed.writestr("wikipedia_dataset/images/art/unused.jpg", b"")
    target = tmp_path / "benchmarks" if is_set else user_data_folder
    monkeypatch.setenv("SMFH_DATA", str(target)) if is_set else monkeypatch.delenv("SMFH_DATA")
    monkeypatch.setattr(wiki, "download", lambda url, path, on_progress: copied(archive, path))
    assert Wiki().missing()
    assert main(["data"]) == 0
    assert f"Data folders: {target}" in capsys.readouterr().out
    assert Wiki().fetch() == target / "wiki"
    assert sorted(path.name for path in (target / "wiki").iterdir()) == sorted(CHECKSUMS)
    assert not Wiki().missing()
    assert len(Wiki().load()[0]) == 2866
    with zipfile.ZipFile(archive, "a") as packed, pytest.warns(UserWarning, match="Duplicate"):
        packed.writestr("wikipedia_dataset/categories.list", "art\n")
    with pytest.raises(InputError):
        Wiki().fetch()


def copied(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copyfile(source, target))

"""Wiki in its own files: the real ones where they are, and broken ones that the tests write."""

import shutil

import numpy as np
import pytest

from smfh.datasets.wiki import Wiki
from smfh.types import InputError


@pytest.mark.usefixtures("wiki_folder")
def test_the_official_split_and_features():
    data, split = Wiki().load("official")
    assert (len(split.train), len(split.queries)) == (2173, 693)
    assert {name: X.shape[1] for name, X in data.modalities.items()} == {"image": 128, "text": 10}
    assert len(data.class_names) == 10
    assert (data.labels.sum(axis=1) == 1).all()
    for X in data.modalities.values():
        np.testing.assert_allclose(X.sum(axis=1), 1, atol=1e-5)


@pytest.mark.usefixtures("wiki_folder")
def test_a_random_split_takes_three_quarters():
    _, split = Wiki().load("random", seed=3)
    assert len(split.train) == round(0.75 * 2866)


def test_a_damaged_list_names_its_lines(wiki_folder, tmp_path, monkeypatch):
    shutil.copytree(wiki_folder, tmp_path / "wiki", copy_function=shutil.copyfile)
    (tmp_path / "wiki").chmod(0o755)
    path = tmp_path / "wiki" / "trainset_txt_img_cat.list"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "only\ttwo", "a\tb\t11", *lines[3:]]))
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    with pytest.raises(InputError) as caught:
        Wiki().load()
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "trainset_txt_img_cat.list, line 2",
        "trainset_txt_img_cat.list, line 3",
    ]


def test_a_missing_file_is_named(wiki_folder, tmp_path, monkeypatch):
    shutil.copytree(wiki_folder, tmp_path / "wiki", copy_function=shutil.copyfile)
    (tmp_path / "wiki").chmod(0o755)
    (tmp_path / "wiki" / "categories.list").unlink()
    monkeypatch.setenv("SMFH_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"expects categories\.list in wiki/"):
        Wiki().load()

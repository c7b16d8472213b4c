"""Labels that are not in the files: topics of captions, groups of pictures, none, or corrected by hand."""

import io
import zipfile

import numpy as np
import pytest
from layouts import Items, class_folders, put_pictures, table_of

from smfh.datasets import user_pictures
from smfh.datasets.user_data import UserDataset
from smfh.datasets.user_labels import label_table, labels_of_rows, rename_classes
from smfh.types import InputError

ITEMS = Items(64)


@pytest.fixture
def captioned(tmp_path):
    """Pictures with captions and no labels, as Hugging Face's metadata.csv often is."""
    put_pictures(tmp_path, ITEMS)
    table_of(ITEMS).drop(columns="label").to_csv(tmp_path / "metadata.csv", index=False)
    return tmp_path


def test_captions_are_clustered_into_topics_that_are_named_by_their_words(captioned):
    data, _ = UserDataset(captioned, topics=4).load()
    assert len(data.class_names) == 4
    assert "clustering the captions" in data.label_origin
    assert (data.labels.sum(axis=1) == 1).all()
    for own, caption in zip(labels_of_rows(data), data.captions, strict=True):
        assert any(word in caption for word in own[0].split(" · "))
    preview = UserDataset(captioned).preview()
    assert preview.label_kind == "topics"
    assert preview.label_sources == ("topics", "none")
    assert 2 <= len(preview.classes) <= 8
    assert any("used as labels" in note for note in preview.notes)


def test_captions_without_labels_are_used_as_they_are_if_chosen(captioned):
    data, _ = UserDataset(captioned, label_source="none").load()
    assert not data.has_labels
    assert list(data.modalities) == ["image", "text"]


def test_captions_that_share_no_word_have_no_topics(tmp_path):
    put_pictures(tmp_path, Items(4))
    rows = "".join(f"{k}.png,word{'abcd'[k]}\n" for k in range(4))
    (tmp_path / "metadata.csv").write_text(f"file_name,text\n{rows}")
    preview = UserDataset(tmp_path).preview()
    assert (preview.problems, preview.label_kind) == ((), "none")
    assert any("no word occurs in two of them" in note for note in preview.notes)
    assert not UserDataset(tmp_path).load()[0].has_labels
    assert "no word occurs in two of them" in UserDataset(tmp_path, label_source="topics").preview().problems[0]
    assert UserDataset(tmp_path, label_source="none").preview().problems == ()


def test_matrices_without_captions_have_no_topics(tmp_path):
    np.savez(tmp_path / "mine.npz", **ITEMS.matrices, labels=ITEMS.hot.argmax(axis=1))
    assert "no captions to cluster" in UserDataset(tmp_path / "mine.npz", label_source="topics").preview().problems[0]


def test_pictures_alone_are_grouped_by_similarity(tmp_path):
    put_pictures(tmp_path, ITEMS)
    data, _ = UserDataset(tmp_path, topics=3).load()
    assert data.class_names == ("group 1", "group 2", "group 3")
    assert data.labels.sum(axis=0).tolist() == sorted(data.labels.sum(axis=0).tolist(), reverse=True)
    assert data.captions == [own[0] for own in labels_of_rows(data)]
    assert "similar pictures" in data.label_origin


def test_labels_corrected_by_hand_change_the_texts_that_are_class_names(tmp_path, monkeypatch):
    class_folders(tmp_path, ITEMS)
    source = UserDataset(tmp_path)
    data, split = source.load()
    labels = labels_of_rows(data)
    wrong = labels.index(("circle",))
    labels[wrong] = ("disc", "round")
    monkeypatch.setattr(user_pictures, "decode_picture", None)  # nothing is decoded again
    corrected, same_split = source.read_as(hand_labels=tuple(labels)).load()
    assert labels_of_rows(corrected)[wrong] == ("disc", "round")
    assert corrected.captions[wrong] == "disc, round"
    others = np.arange(len(data)) != wrong
    assert [c for c, o in zip(corrected.captions, others, strict=True) if o] == [
        c for c, o in zip(data.captions, others, strict=True) if o
    ]
    np.testing.assert_array_equal(same_split.train, split.train)
    with pytest.raises(InputError, match="to 3 items, but the files have 64"):
        source.read_as(hand_labels=(("a",),) * 3).load()


def test_classes_are_renamed_merged_and_deleted():
    labels = [("cat",), ("kitten", "black"), ("dog",), ("cat", "kitten")]
    merged = rename_classes(labels, {"kitten": "cat", "black": ""})
    assert merged == [("cat",), ("cat",), ("dog",), ("cat",)]
    assert rename_classes(labels, {"dog": ""})[2] == ()


def test_a_saved_table_is_read_with_the_same_labels(tmp_path):
    class_folders(tmp_path, ITEMS)
    data, _ = UserDataset(tmp_path).load()
    labels = rename_classes(labels_of_rows(data), {"circle": 'disc; "round"', "square": "a, b"})
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("labels.csv", label_table(data, labels))
        for name in data.item_names:
            archive.write(tmp_path / name, name)
    again, _ = UserDataset(file.getvalue(), "mine.zip").load()
    expected = dict(zip(data.item_names, labels, strict=True))
    assert dict(zip(again.item_names, labels_of_rows(again), strict=True)) == expected


def test_unknown_sources_and_numbers_of_topics_are_refused():
    with pytest.raises(InputError, match="source of labels"):
        UserDataset(label_source="guess")
    with pytest.raises(InputError, match="topics must be 2 to 50"):
        UserDataset(topics=1)

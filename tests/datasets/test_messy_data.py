"""Messy and unusual files: what can be used is used, and the rest is listed with its reason."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from layouts import SHAPES, Items, class_folders, coco, npy_by_modality, put, put_pictures, table_of

from smfh.datasets import picture_layouts, user_pictures
from smfh.datasets.user_data import UserDataset
from smfh.datasets.user_pictures import store_path
from smfh.datasets.user_rows import Columns

ITEMS = Items(16)


def test_files_that_cannot_be_read_do_not_hide_the_others(tmp_path):
    coco(tmp_path, ITEMS)
    put(tmp_path, "annotations/notes.json", '{"a": 1,')
    put(tmp_path, "annotations/captions_train2017.json", json.dumps({"images": [{"id": 1, "file_name": "x.png"}]}))
    put(tmp_path, "annotations/person_keypoints_train2017.json", b"")
    with (tmp_path / "annotations/person_keypoints_train2017.json").open("r+b") as file:
        file.truncate(200 << 20)
    others = ["scan.tif", "sheet.xlsx", "more.zip", "README.txt", "Thumbs.db"]
    for name in others:
        put(tmp_path, name, b"PK\3\4 \xff")
    put(tmp_path, "table.csv", "a,b\nä,ö\n".encode("latin-1"))
    put(tmp_path, "val2017/extra.png", Items(1, seed=1).pictures[0])
    preview = UserDataset(tmp_path).preview()
    assert (preview.problems, preview.items, preview.skipped_items) == ((), 16, 9)
    assert dict(preview.classes) == dict.fromkeys(SHAPES, 4)
    reasons = "\n".join(preview.skipped)
    for reason in (
        "person_keypoints_train2017.json needs 200.0 MB; the limit is 128.0 MB",
        "notes.json is damaged",
        "captions_train2017.json has no captions or objects for any of the pictures",
        "1 .csv file: table.csv is not read",
        "1 .tif file: scan.tif is not read; save it as JPEG or PNG",
        "1 .xlsx file: sheet.xlsx is not read; save it as “CSV UTF-8”",
        "1 .zip file: more.zip is not read; unpack it first",
        "1 picture without an entry: val2017/extra.png is not in annotations/captions_val2017.json",
    ):
        assert reason in reasons


def test_a_table_that_cannot_be_read_is_listed(tmp_path):
    class_folders(tmp_path, ITEMS)
    put(tmp_path, "table.csv", "file,caption\nä,ö\n".encode("latin-1"))
    put(tmp_path, "stats.csv", "class,count\ncircle,4\n")
    put(tmp_path, "meta.parquet", b"PAR1xxxxPAR1")
    assert {(one.item, one.reason[:36]) for one in UserDataset(tmp_path).read().skipped} == {
        ("table.csv", "is not UTF-8 text (byte 13). In a sp"),
        ("stats.csv", "has no column of pictures, or no cap"),
        ("meta.parquet", "cannot be read: The footer of meta.p"),
    }


def test_a_table_with_an_empty_heading_beside_one_of_pictures_is_listed(tmp_path):
    class_folders(tmp_path, ITEMS)
    pictures = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.png"))
    put(tmp_path, "a.csv", "file,caption\n" + "".join(f"{path},a {path.parent.name}\n" for path in pictures))
    put(tmp_path, "b.csv", ",caption\nx,a round shape\n")
    preview = UserDataset(tmp_path).preview()
    assert (preview.problems, preview.items) == ((), 16)
    assert "b.csv has no column of pictures" in "\n".join(preview.skipped)


def test_pictures_beyond_the_limit_are_listed_and_every_class_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(picture_layouts, "MAX_PICTURES", 8)
    class_folders(tmp_path, ITEMS)
    preview = UserDataset(tmp_path).preview()
    assert (preview.items, dict(preview.classes)) == (8, dict.fromkeys(SHAPES, 2))
    assert preview.skipped[0].startswith("8 beyond the limit: ")


@pytest.mark.parametrize("layout", [class_folders, npy_by_modality])
def test_links_in_a_folder_are_listed_and_not_followed(tmp_path, layout):
    (tmp_path / "outside").mkdir()
    (tmp_path / "mine").mkdir()
    layout(tmp_path / "outside", ITEMS)
    layout(tmp_path / "mine", ITEMS)
    (tmp_path / "mine/more").symlink_to(tmp_path / "outside")
    (tmp_path / "mine/secret.png").symlink_to("/etc/hostname")
    (tmp_path / "mine/.hidden").symlink_to("/etc")
    preview = UserDataset(tmp_path / "mine").preview()
    assert (preview.problems, preview.items) == ((), 16)
    assert preview.skipped == (
        "2 link: more is a link, and links are not followed; secret.png is a link, and links are not followed",
    )
    (tmp_path / "links").mkdir()
    (tmp_path / "links/all").symlink_to(tmp_path / "outside")
    assert "has only links to files, such as all" in UserDataset(tmp_path / "links").preview().problems[0]


def test_a_folder_may_have_more_files_than_an_archive(tmp_path, monkeypatch):
    monkeypatch.setattr("smfh.files.listing.MAX_ENTRIES", 10)
    class_folders(tmp_path, ITEMS)
    uploads = tuple((path.name, path.read_bytes()) for path in tmp_path.rglob("*.png"))
    assert UserDataset(tmp_path).preview().items == 16
    assert "mine has 16 files; the limit is 10." in UserDataset(uploads, "mine").preview().problems


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("image_name| comment_number| comment", Columns("image_name", ("comment",), "")),
        ("file|caption_id|caption", Columns("file", ("caption",), "")),
        ("file|text|caption", Columns("file", ("caption",), "")),  # the first holds only numbers
    ],
)
def test_numbers_are_no_captions(tmp_path, header, columns):
    put_pictures(tmp_path, ITEMS)
    rows = "".join(f"{k}.png| {n}| {text}\n" for k, text in enumerate(ITEMS.captions) for n in (0, 1))
    put(tmp_path, "results.csv", f"{header}\n{rows}")
    preview = UserDataset(tmp_path).preview()
    assert (preview.problems, preview.columns, preview.items) == ((), columns, 16)
    assert preview.has_several_captions


def test_columns_of_any_name_are_guessed_by_their_contents(tmp_path):
    table = table_of(ITEMS).rename(columns={"text": "prompt", "label": "breed"}).assign(width=64, url="http://a.b/c")
    put_pictures(tmp_path, ITEMS)
    table.to_csv(tmp_path / "metadata.csv", index=False)
    preview = UserDataset(tmp_path).preview()
    assert preview.columns == Columns("file_name", ("prompt",), "breed")
    assert "The column 'prompt' is used as captions, judged by its contents." in preview.notes
    assert "The column 'breed' is used as labels, judged by its contents." in preview.notes
    assert dict(preview.classes) == dict.fromkeys(SHAPES, 4)


def test_folders_are_preferred_to_labels_that_are_guessed_by_contents(tmp_path):
    put_pictures(tmp_path, ITEMS, ITEMS.in_class_folders())
    pd.DataFrame({"file": ITEMS.in_class_folders(), "colour": ITEMS.colours}).to_csv(tmp_path / "t.csv", index=False)
    assert dict(UserDataset(tmp_path).preview().classes) == dict.fromkeys(SHAPES, 4)


def test_tables_with_different_columns_are_joined_and_unlabelled_items_may_stay(tmp_path):
    put_pictures(tmp_path, ITEMS, [f"{'train' if k < 12 else 'test'}/{k}.png" for k in range(16)])
    table = table_of(ITEMS)
    table[:12].to_csv(tmp_path / "train/metadata.csv", index=False)
    table[12:].drop(columns="label").rename(columns={"text": "caption"}).to_csv(
        tmp_path / "test/metadata.csv", index=False
    )
    source = UserDataset(tmp_path)
    preview = source.preview()
    assert (preview.items, preview.skipped_items, preview.unlabelled) == (12, 4, 4)
    assert preview.modalities == (("image", "pictures"), ("text", "captions"))
    kept = source.read_as(keep_unlabelled=True)
    assert (
        "Items without a label: 4. They are never used as queries. You can label them in Browse pairs."
        in kept.preview().notes
    )
    data, split = kept.load()
    assert len(data) == 16
    assert data.labels[split.queries].any(axis=1).all()
    unlabelled = np.flatnonzero(~data.labels.any(axis=1))
    assert np.isin(unlabelled, split.train).all()
    assert set(np.array(data.captions)[unlabelled]) == set(ITEMS.captions[12:])


def test_the_text_beside_a_picture_is_its_caption(tmp_path):
    put_pictures(tmp_path, ITEMS)
    for number, text in enumerate(ITEMS.captions):
        put(tmp_path, f"{number}.txt", text + "\n")
    rows = UserDataset(tmp_path).read()
    assert dict(zip(rows.names, rows.captions["text"], strict=True)) == dict(
        zip(ITEMS.names(), ITEMS.captions, strict=True)
    )
    assert not rows.skipped


def test_utf_16_tables_are_read(tmp_path):
    put_pictures(tmp_path, ITEMS)
    put(tmp_path, "captions.txt", table_of(ITEMS).to_csv(index=False, sep="\t").encode("utf-16"))
    data, _ = UserDataset(tmp_path).load()
    assert set(data.captions) == set(ITEMS.captions)


def test_numbers_as_spreadsheets_and_numpy_write_them(tmp_path):
    X = np.random.default_rng(0).random((8, 6)).round(3)
    frame = pd.DataFrame(X, columns=[f"{m}_{k}" for m in ("image", "text") for k in range(3)])
    frame.assign(label=["a", "b"] * 4).to_csv(tmp_path / "de.csv", index=False, sep=";", decimal=",")
    lists = {"image": [str(row) for row in X[:, :3]], "text": [f"{list(row)}" for row in X[:, 3:]]}
    pd.DataFrame(lists | {"label": ["a", "b"] * 4}).to_csv(tmp_path / "numpy.csv", index=False)
    for name in ("de.csv", "numpy.csv"):
        data, _ = UserDataset(tmp_path / name).load()
        np.testing.assert_allclose(np.hstack(list(data.modalities.values())), X, rtol=1e-6)


def test_a_vector_y_is_the_labels(tmp_path):
    for name, X in ITEMS.matrices.items():
        np.save(tmp_path / f"{name}_features.npy", X)
    np.save(tmp_path / "y.npy", ITEMS.hot.argmax(axis=1))
    put(tmp_path, "labels.pkl", b"x")
    preview = UserDataset(tmp_path).preview()
    assert (preview.problems, len(preview.classes), len(preview.modalities)) == ((), 4, 2)
    assert "Not used: labels.pkl." in preview.notes


def test_an_archive_inside_an_archive_is_named():
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("classes.zip", b"PK")
    assert "Unpack classes.zip first." in UserDataset(file.getvalue(), "nested.zip").preview().problems[0]


def test_decoded_pictures_are_stored_when_reading_is_cancelled(tmp_path, monkeypatch):
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(user_pictures, "STORE_SECONDS", 0.0)
    folder = tmp_path / "photos"
    class_folders(folder, ITEMS)
    steps = []

    def cancel(share, step):
        steps.append(store_path(folder).exists())
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        UserDataset(folder).read(cancel)
    assert steps[-1]  # since the process may be killed, pictures are also stored while others are read
    decoded, really = [], user_pictures.decode_picture
    monkeypatch.setattr(user_pictures, "decode_picture", lambda file, _: decoded.append(1) or really(file))
    assert UserDataset(folder).read().items == 16
    assert len(decoded) <= 16 - len(steps)

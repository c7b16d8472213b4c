"""Uploaded data: what loads, what the preview shows, and every problem at once with its row."""

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
from PIL import Image
from scipy import sparse

from smfh.datasets import user_data, user_pictures
from smfh.datasets.picture_layouts import guess_columns
from smfh.datasets.user_data import UserDataset, check_rows, example_archive, group_skipped
from smfh.datasets.user_rows import Columns, Skipped, UploadedRows, name_modalities
from smfh.features import pictures
from smfh.files import read_table
from smfh.types import InputError


def png(place=0, size=(32, 32)):
    """A picture with a dot at this place."""
    image = Image.new("RGB", size, "white")
    image.paste("black", (place * 4, 4, place * 4 + 8, 16))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


PICTURES = {f"{i}.png": png(i) for i in range(4)}


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return UserDataset(file.getvalue(), "mine.zip")


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return UserDataset(file.getvalue(), "mine.npz")


def mat(**arrays):
    file = io.BytesIO()
    scipy.io.savemat(file, arrays)
    return UserDataset(file.getvalue(), "mine.mat")


class TestPictures:
    def test_unusable_pictures_and_rows_are_skipped_with_reasons(self):
        table = (
            "file,caption,labels\n"
            "0.png,fine,a|b\n"
            "absent.png,words,a\n"
            "../../etc/passwd,words,a\n"
            "cut.png,words,a\n"
            "bomb.png,words,a\n"
            "1.png,words\n"
            "1.png,words,a,b\n"
            "note.txt,words,a\n"
            "same.png,words,a\n"
            "2.png,words,\n"
            "1.png,words,b\n3.png,words,b\n4.png,,b\n"
        )
        bomb = png(size=(6_000, 5_000))
        files = {"cut.png": png()[:45], "bomb.png": bomb, "note.txt": "no picture", "same.png": png()}
        source = zipped({"items.csv": table, **files, **PICTURES, "4.png": png(4)})
        preview = source.preview()
        assert (preview.problems, preview.items) == ((), 4)
        assert {(one.item, one.kind) for one in source.read().skipped} == {
            ("Row 3 of items.csv", "missing picture"),
            ("Row 4 of items.csv", "missing picture"),
            ("cut.png", "unreadable"),
            ("bomb.png", "too large"),
            ("Row 7 of items.csv", "damaged row"),
            ("Row 8 of items.csv", "damaged row"),
            ("note.txt", "unreadable"),
            ("same.png", "duplicate"),
            ("Row 11 of items.csv", "no label"),
        }
        assert "Items without a caption: 1. The names of the classes are used as text." in preview.notes
        assert preview.skipped_items == 9
        reasons = "\n".join(preview.skipped)
        for message in (
            "2 missing picture: Row 3 of items.csv: 'absent.png' was not found",
            "it has 2 cells; the header has 3",
            "cut.png is truncated",
            "bomb.png has 6000 × 5000 pixels; the limit is",
            "note.txt is not a picture",
            "same.png is the same picture as 0.png",
        ):
            assert message in reasons
        with pytest.warns(UserWarning, match="9 items skipped"):
            data, _ = source.load()
        assert len(data) == 4

    def test_pictures_beyond_the_pixel_limit_are_skipped(self, monkeypatch):
        monkeypatch.setattr(user_data, "MAX_TOTAL_PIXELS", 4 * 320)
        table = "File;Caption;Labels\n" + "".join(f"{i}.png;words;a\n" for i in range(6))
        source = zipped({"t.csv": table, **{f"{i}.png": png(i, size=(20, 16)) for i in range(6)}})
        for _ in range(2):
            skipped = source.read().skipped
            assert [(one.item, one.kind) for one in skipped] == [("4.png", "too large"), ("5.png", "too large")]

    def test_links_out_of_a_folder_are_not_followed(self, tmp_path):
        (tmp_path / "secret.png").write_bytes(png())
        folder = tmp_path / "mine"
        folder.mkdir()
        for number, picture in PICTURES.items():
            (folder / number).write_bytes(picture)
        try:
            (folder / "link.png").symlink_to(tmp_path / "secret.png")
            (folder / "inner").symlink_to(tmp_path)
        except OSError:
            pytest.skip("this system has no links")
        rows = ["file,caption,labels", "link.png,words,a", "../secret.png,words,a", "inner/secret.png,words,a"]
        (folder / "t.csv").write_text("\n".join([*rows, *(f"{number},words,a" for number in PICTURES)]))
        rows = UserDataset(folder).read()
        missing = [f"Row {row} of t.csv" for row in (2, 3, 4)]
        assert [one.item for one in rows.skipped] == [*missing, "inner", "link.png"]
        assert rows.items == 4

    def test_formulas_and_markup_stay_plain_text(self):
        evil = "=HYPERLINK(1)<script>alert(1)</script>**bold**"
        rows = [f'{i}.png,"{evil}",<b>{i % 2}</b>' for i in range(4)]
        source = zipped({"t.csv": "\n".join(["file,caption,labels", *rows]), **PICTURES})
        assert source.preview().first[0].captions == (evil,)
        data, _ = source.load()
        assert data.captions[0] == evil
        assert data.class_names == ("<b>0</b>", "<b>1</b>")

    def test_a_picture_is_decoded_once(self, monkeypatch):
        decoded, really = [], user_pictures.decode_picture
        monkeypatch.setattr(user_pictures, "decode_picture", lambda file, _: decoded.append(1) or really(file))
        source = UserDataset(example_archive(), "template.zip")
        assert source.preview().first[0].thumbnail
        source.load("random", seed=1)
        other = Columns("file", ("labels",), "caption")
        assert source.read_as(columns=other, separator=";").preview().classes[0] == ("a red triangle on white", 1)
        assert len(decoded) == 12

    @pytest.mark.parametrize(
        ("header", "columns"),
        [
            ("file,caption,labels", Columns("file", ("caption",), "labels")),
            ("Image;Description;Tags", Columns("Image", ("Description",), "Tags")),
            ("id,file_name,Text,category", Columns("file_name", ("Text",), "category")),
            ("Caption (ja),PICTURE,Class,caption", Columns("PICTURE", ("Caption (ja)", "caption"), "Class")),
            ("texture,classification,profile", Columns("", (), "")),
        ],
    )
    def test_columns_are_guessed_by_their_names(self, header, columns):
        assert guess_columns(read_table(f"{header}\n".encode(), "t.csv")) == columns

    @pytest.mark.parametrize("separator", "|;,")
    def test_a_table_and_pictures_in_any_folders(self, separator):
        rows = [f'{i},"{"ab"[i % 2]}{separator} all",a dot at {i}' for i in range(4)]
        table = "\n".join(["Filename,Tags,Description", *rows])
        folders = ["photos", "photos/old", "", "Other"]
        pictures = {f"mine/{folder}/{i}.PNG": png(i) for i, folder in enumerate(folders)}
        added = {"__MACOSX/mine/._list.csv": b"\0", "mine/.DS_Store": b"\0"}
        source = zipped({"mine/table/list.csv": table, **pictures, **added})
        preview = source.preview()
        assert preview.problems == ()
        assert (preview.headings, preview.separator) == (("Filename", "Tags", "Description"), separator)
        assert preview.columns == Columns("Filename", ("Description",), "Tags")
        data, _ = source.load()
        assert data.class_names == ("a", "all", "b")
        assert data.captions[2] == "a dot at 2"

    def test_chosen_columns_replace_guessed_ones(self):
        rows = [f"{i}.png,{i}.png,word {i},wort {i},x;y{i % 2}" for i in range(4)]
        table = "\n".join(["file,other,caption,german,labels", *rows])
        source = zipped({"t.csv": table, **PICTURES})
        data, _ = source.read_as(columns=Columns("other", ("caption", "german"), "labels"), separator="|").load()
        assert list(data.modalities) == ["image", "text", "text (german)"]
        assert data.captions[0] == "word 0 · wort 0"
        assert data.class_names == ("x;y0", "x;y1")
        wrong = source.read_as(columns=Columns("file", ("caption",), "kind"), separator="|").preview()
        assert wrong.problems == ("t.csv has no column 'kind'; it has file, other, caption, german, labels.",)

    def test_an_ambiguous_file_name_needs_its_folder(self):
        table = "file,caption,labels\n" + "a.png,words,x\nb/a.png,words,x\n"
        source = zipped({"t.csv": table, "b/a.png": png(), "c/a.png": png(1)})
        skipped, unlisted = source.read().skipped
        assert skipped == ("Row 2 of t.csv", "missing picture", "'a.png' was not found, or is in several folders")
        assert unlisted == ("c/a.png", "picture without an entry", "is not in t.csv")

    @pytest.mark.parametrize(
        ("members", "problem"),
        [
            ({}, "Unknown kind of file"),
            ({"a.png": png()}, "There are 1 items"),
            ({"a.csv": "x", "b.csv": "y"}, "needs columns of numbers"),
            ({"a.csv": "file,caption,labels\n", "a.png": png()}, "There are 0 items"),
            ({"a.csv": "x,caption,kind\nb,cat,a\n", "a.png": png()}, "no column for pictures, such as file"),
            ({"a.csv": "file,caption,labels\na.png,cat,a\n", "a.png": png()}, "at least 4"),
        ],
    )
    def test_incomplete_archives_are_refused(self, members, problem):
        assert problem in "\n".join(zipped(members).preview().problems)

    def test_several_captions_are_one_text_or_several(self):
        rows = [f"{i}.png,{text} {i},{'ab'[i % 2]}" for i in range(4) for text in ("one", "two")]
        source = zipped({"t.csv": "\n".join(["file,caption,labels", *rows]), **PICTURES})
        assert source.preview().has_several_captions
        assert source.load()[0].captions[1] == "one 1\ntwo 1"
        several = source.read_as(several_texts=True)
        data, split = several.load()
        assert data.captions[:3] == ["one 0", "two 0", "one 1"]
        assert {row // 2 for row in split.train}.isdisjoint({row // 2 for row in split.queries})
        few = zipped({"t.csv": "\n".join(["file,caption,labels", *rows[:6]]), **dict(list(PICTURES.items())[:3])})
        assert few.read_as(several_texts=True).preview().problems == (
            "There are 3 items; training and queries need at least 4.",
        )

    def test_heic_pictures_are_named_if_they_cannot_be_read(self, monkeypatch):
        monkeypatch.setattr(pictures, "picture_formats", lambda: pictures.FORMATS)
        members = {f"{'ab'[i % 2]}/{i}.png": png(i) for i in range(6)}
        preview = zipped({**members, "a/7.heic": b"\0\0\0\x18ftypheic" + bytes(40)}).preview()
        assert (preview.problems, preview.items, preview.skipped_items) == ((), 6, 1)
        assert preview.skipped[0].startswith("1 HEIC: a/7.heic is not a picture")
        assert "HEIC pictures are read if the package pillow-heif is installed." in preview.notes


RNG = np.random.default_rng(0)
IMAGE, TEXT = RNG.random((8, 5)), RNG.integers(0, 3, (8, 4))
CLASSES = np.array([1, 2, 10, 1, 2, 10, 1, 2])


def with_features(make=npz, **arrays):
    return make(**{"image": IMAGE, "text": TEXT, "labels": CLASSES} | arrays)


def cells(*words):
    column = np.empty((len(words), 1), dtype=object)
    column[:, 0] = words
    return column


class TestMatrices:
    def test_several_labels_class_names_and_captions(self):
        labels = np.array(["cat|pet", "dog|pet"] * 4)
        captions = np.array([f"猫 {i}" for i in range(8)]).astype(">U9")
        data, _ = with_features(labels=labels, captions=captions).load()
        assert data.class_names == ("cat", "dog", "pet")
        assert data.labels[:, 2].all()
        assert data.captions[3] == "猫 3"
        hot = np.array([[1, 0], [0, 1], [1, 1], [1, 0]] * 2)
        data, _ = with_features(labels=hot, class_names=np.array(["b", "a"])).load()
        assert data.class_names == ("a", "b")
        np.testing.assert_array_equal(data.labels, hot[:, ::-1] == 1)
        assert with_features(captions=np.zeros(8, dtype="U0")).load()[0].captions == [""] * 8

    @pytest.mark.parametrize(
        "names",
        ["I_tr I_te T_tr T_te L_tr L_te", "XTrain XTest YTrain YTest LTrain LTest", "i_TR i_te t_tr T_TE l_tr L_te"],
    )
    @pytest.mark.parametrize("upright", [True, False])
    def test_the_usual_layout_has_a_split(self, names, upright):
        parts = (IMAGE[:5], IMAGE[5:], TEXT[:5], TEXT[5:], CLASSES[:5], CLASSES[5:])
        turned = (*parts[:4], *(part[:, None] if upright else part[None] for part in parts[4:]))
        source = mat(**dict(zip(names.split(), turned, strict=True)), sampleInds=np.arange(3.0))
        preview = source.preview()
        assert preview.problems == ()
        assert preview.modalities == (("image", "5 dimensions"), ("text", "4 dimensions"))
        assert preview.notes[0] == "Not used: sampleInds (1 × 3)."
        assert "5 training items, 3 queries" in preview.notes[1]
        data, split = source.load()
        np.testing.assert_array_equal(data.modalities["image"], IMAGE.astype(np.float32))
        np.testing.assert_array_equal(data.modalities["text"], TEXT)
        assert data.class_names == ("1", "2", "10")
        np.testing.assert_array_equal(data.labels.argmax(axis=1), [0, 1, 2, 0, 1, 2, 0, 1])
        np.testing.assert_array_equal(split.train, np.arange(5))
        np.testing.assert_array_equal(split.queries, [5, 6, 7])
        assert len(source.load("random")[1].train) == 6

    def test_cells_contain_labels_class_names_captions_or_matrices(self):
        labels = cells(*(["cat", np.array(["dog", "pet"], dtype=object)] * 4))
        captions = cells(*(f"item {i}" for i in range(8)))
        data, _ = mat(image=IMAGE, text=TEXT, Labels=labels, Captions=captions, author="me").load()
        assert data.class_names == ("cat", "dog", "pet")
        assert data.captions[3] == "item 3"
        data, _ = with_features(mat, labels=np.eye(2)[[0, 1] * 4], class_names=cells("no", "yes")).load()
        assert data.class_names == ("no", "yes")
        views = np.empty((1, 2), dtype=object)
        views[0, :] = [IMAGE, TEXT]
        assert list(mat(X=views, labels=CLASSES).load()[0].modalities) == ["X (1)", "X (2)"]

    def test_a_table_of_features(self):
        lines = ["image:red,image:blue,text:cat,labels,caption"]
        lines += [f"{i},{i / 2},{i % 2},{'a|b' if i % 2 else 'a'},number {i}" for i in range(6)]
        source = UserDataset("\n".join(lines).encode(), "mine.csv")
        assert source.preview().modalities == (("image", "2 dimensions"), ("text", "1 dimensions"))
        data, _ = source.load()
        np.testing.assert_array_equal(data.modalities["image"][:, 1], np.arange(6) / 2)
        assert data.class_names == ("a", "b")
        assert data.captions[5] == "number 5"
        lines += ["x,nan,1,a,", "1,2,3,,", "1,2", "1,2,3,a,b,c"]
        rows = UserDataset("\n".join(lines).encode(), "mine.csv").read()
        assert (list(rows.problems), rows.items) == ([], 6)
        assert [(one.item, one.reason) for one in rows.skipped] == [
            ("Row 7 of mine.csv", "column 'image:red': expected a finite number; got 'x'"),
            ("Row 8 of mine.csv", "has no label"),
            ("Row 9 of mine.csv", "it has 2 cells; the header has 5"),
            ("Row 10 of mine.csv", "it has 6 cells; the header has 5"),
        ]

    def test_rows_of_matrices_that_cannot_be_used_are_skipped(self):
        broken = IMAGE.copy()
        broken[[2, 5], 0] = np.nan, np.inf
        rows = with_features(image=broken, labels=np.array(["a", "b"] * 3 + ["a", ""])).read()
        assert (list(rows.problems), rows.items) == ([], 5)
        assert [(one.item, one.reason) for one in rows.skipped] == [
            ("Row 3 of mine.npz", "image has NaN or infinite values"),
            ("Row 6 of mine.npz", "image has NaN or infinite values"),
            ("Row 8 of mine.npz", "has no label"),
        ]

    @pytest.mark.parametrize(
        ("source", "problem"),
        [
            (
                npz(I_tr=IMAGE, I_te=TEXT, T_tr=TEXT, T_te=TEXT, L_tr=CLASSES, L_te=CLASSES),
                "I_tr and I_te must have the same number of columns, and all be numbers or words; "
                "got I_tr (8 × 5), I_te (8 × 4).",
            ),
            (npz(image=IMAGE, labels=CLASSES), "needs at least two modalities; got image"),
            (with_features(labels=TEXT), "only 0 and 1"),
            (replace(with_features(), max_bytes=100), "the limit is 0.0 MB"),
            (replace(with_features(mat), max_bytes=100), "the limit is 0.0 MB"),
            (with_features(labels=CLASSES[:6]), "rows: image has 8, text has 8, labels has 6"),
            (npz(image=IMAGE[:2], text=TEXT[:2], labels=CLASSES[:2]), "at least 4"),
            (with_features(labels=np.full(8, np.nan)), "0 items that can be used"),
            (with_features(image=IMAGE * 1e300), "0 items that can be used"),
            (npz(image=IMAGE, text=TEXT, sound=np.zeros(8), labels=CLASSES), "sound in mine.npz must be a matrix"),
            (with_features(labels=np.eye(8, 3), class_names=np.array(["a"])), "1 class_names for 3 columns"),
            (
                npz(image=np.ones((60_000, 1)), text=np.ones((60_000, 1)), labels=np.arange(60_000)),
                "60,000 classes; the limit is 2,000",
            ),
            (
                with_features(mat, text=sparse.csc_array(([1.0], ([0], [0])), shape=(8, 5_000_000))),
                "at most 1,000,000 columns",
            ),
            (with_features(mat, labels=sparse.csc_array(([1.0], ([0], [0])), shape=(100_000, 100_000))), "too large"),
        ],
    )
    def test_unusable_matrices_are_refused(self, source, problem):
        assert problem in "\n".join(source.preview().problems)
        with pytest.raises(InputError):
            source.load()


class TestAnything:
    @pytest.mark.parametrize(
        ("content", "name", "problem"),
        [
            (None, "", "needs a file"),
            (b"", "a.zip", "empty"),
            (b"hello", "a.zip", "not a .zip"),
            (b"hello", "a.npz", "not a .zip"),
            (b"hello", "a.mat", "damaged"),
            (b"hello", "a.csv", "needs columns of numbers"),
            (b"hello", "a.exe", "Unknown kind of file 'a.exe'; choose from .zip, .npz, .npy, .mat, .csv"),
            (b"hello", "", "Unknown kind of file"),
        ],
    )
    def test_a_preview_never_fails(self, content, name, problem):
        assert problem in UserDataset(content, name).preview().problems[0]
        with pytest.raises(InputError):
            UserDataset(content, name).load()


@pytest.mark.parametrize("name", ["# big", "[a](b)", "", "x" * 41, "<b>"])
def test_the_name_of_a_modality_is_plain_text(name):
    def problems(name):
        return check_rows(UploadedRows(labels=[("a",)] * 4, matrices={"text": TEXT[:4], name: IMAGE[:4]}))

    assert any("The name of a modality may have" in problem for problem in problems(name))
    assert not problems("text (ja)")


def test_skipped_items_are_counted_by_reason():
    missing = [Skipped(f"Row {row} of t.csv", "missing picture", "was not found") for row in (2, 3, 5, 8, 13)]
    assert group_skipped([*missing, Skipped("a.png", "unreadable", "is damaged.")]) == [
        "5 missing picture: Row 2 of t.csv: was not found; Row 3 of t.csv: was not found; "
        "Row 5 of t.csv: was not found … and 2 more",
        "1 unreadable: a.png is damaged",
    ]


def test_names_of_modalities_are_unique():
    headings = ("Caption", "caption_fr", "text", "Wort")
    assert list(name_modalities(headings)) == ["text", "text_fr", "text (text)", "text (Wort)"]

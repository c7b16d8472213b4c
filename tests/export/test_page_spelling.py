"""How the page reads symbols: as Python does, whatever they are made of."""

import unicodedata

import pytest

from smfh.asking import spell_out
from smfh.export.spelling import characters, spelling_of
from smfh.features.text import Vocabulary, tokens

JAPANESE = Vocabulary(("指", "無", "ココ", "満", "犬", "c", "u"), letters=3)


def read_by_page(sentence: str, vocabulary: Vocabulary) -> set[str]:
    """The known tokens of a sentence after the page's own first step: names in the place of symbols."""
    names = spelling_of(vocabulary)["names"]
    spelt = "".join(f" {names[c]} " if c in names else c for c in sentence)
    return set(tokens(spelt, vocabulary.letters)) & set(vocabulary.tokens)


@pytest.mark.parametrize("symbol", "🈯🈚🈁🈵℆㈪Ⓒ🐶")
def test_a_symbol_that_is_made_of_letters_is_read_by_its_name(symbol):
    told = set(tokens(spell_out(f"犬{symbol}犬"), JAPANESE.letters)) & set(JAPANESE.tokens)
    assert read_by_page(f"犬{symbol}犬", JAPANESE) == told


def test_names_are_of_symbols_that_have_letters_inside_or_known_words_and_of_no_others():
    names = spelling_of(Vocabulary(("dog",)))["names"]
    for c in characters():
        if unicodedata.category(c) == "So":
            has_letters = any(part.isalnum() for part in unicodedata.normalize("NFKC", c))
            assert (c in names) == (has_letters or "dog" in spell_out(c).replace("-", " ").split())
    assert names["🈯"] == "squared cjk unified ideograph-6307"

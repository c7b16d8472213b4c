"""The table of words, stems, and how the table is rebuilt."""

import numpy as np
import pytest

from smfh.features import network, words, words_remake
from smfh.features.words import CLOSE_COSINE, FILE, STOP_WORDS, forms_of, is_form, load_words, stem
from smfh.files import write_npz
from smfh.files.packages import missing_packages
from smfh.types import InputError

MAX_BYTES, MAX_BYTES_WITH_NETWORK = 6_300_000, 14_000_000
KNOWN = ["car", "vehicle", "king", "dog", "banana", "doctor", "happy"]
missing = missing_packages(words_remake.PACKAGES, "words")


@pytest.mark.parametrize(
    ("word", "known"), [("sedan", "car"), ("puppy", "dog"), ("surgeon", "doctor"), ("joyful", "happy")]
)
def test_related_words_are_found(word, known):
    related = load_words().related(word, KNOWN)
    assert next(iter(related)) == known
    assert list(related.values()) == sorted(related.values(), reverse=True)
    assert related[known] >= CLOSE_COSINE


def test_without_a_close_word_there_is_one_guess():
    table = load_words()
    (cosine,) = table.related("parliament", ["banana", "zebra"]).values()
    assert 0 < cosine < CLOSE_COSINE
    assert table.related("zzxqj", KNOWN) == table.related("sedan", ["zzxqj"]) == {}


def test_only_english_vocabularies_are_related():
    assert load_words().knows_language([*KNOWN, "zzxqj"])
    assert not load_words().knows_language(["hund", "katze", "vögel", "bäume", "dog"])
    assert not load_words().knows_language([])


def test_the_file_is_small_and_complete():
    table = load_words()
    assert FILE.stat().st_size <= MAX_BYTES
    assert FILE.stat().st_size + network.FILE.stat().st_size <= MAX_BYTES_WITH_NETWORK
    assert len(table.rows) == len(table.vectors) == 50_000
    assert STOP_WORDS - {"a", "i"} <= table.rows.keys()
    licence = FILE.with_name("words_licence.txt").read_text("utf-8")
    assert "Apache License" in licence
    assert "MIT License" in licence


@pytest.mark.parametrize("vectors", [np.zeros((3, 4), np.int8), np.zeros((2, 4)), np.zeros(2, np.int8)])
def test_a_damaged_file_is_refused(tmp_path, monkeypatch, vectors):
    monkeypatch.setattr(words, "FILE", tmp_path / "words.npz")
    with pytest.raises(InputError, match=r"words\.npz is missing"):
        words.load_words.__wrapped__()
    write_npz(words.FILE, {"words": np.frombuffer(b"two words", np.uint8), "vectors": vectors})
    with pytest.raises(InputError, match="each of its 2 words"):
        words.load_words.__wrapped__()


@pytest.mark.parametrize(
    ("forms", "other"),
    [
        ("rain rainy rains raining rained", "train"),
        ("run running runs runner", "rung"),
        ("baby babies", "bay"),
        ("happy happier happiest happily happiness", "hope"),
        ("dog dogs", "do"),
        ("box boxes", "boss"),
        ("smile smiling smiles smiled", "small"),
    ],
)
def test_forms_of_a_word_have_the_forms_of(forms, other):
    assert len({stem(form) for form in forms.split()}) == 1
    assert stem(other) != stem(forms.split()[0])
    assert forms_of(forms.split()[-1], [*forms.split(), other])[0] == forms.split()[0]


@pytest.mark.parametrize(
    "pair", ["for forest", "moth mother", "sweat sweater", "ham hammer", "sum summer", "let letter", "tow tower"]
)
def test_words_that_only_look_like_forms_are_not(pair):
    assert not is_form(*pair.split())


def test_short_words_keep_their_letters():
    assert [stem(word) for word in ("bus", "yes", "sky", "glass", "key", "")] == [
        "bus",
        "yes",
        "sky",
        "glass",
        "key",
        "",
    ]


@pytest.mark.extra
@pytest.mark.skipif(bool(missing), reason="; ".join(missing))
def test_the_table_is_that_of_the_packages():
    assert list(load_words().rows) == words_remake.choose_words(words_remake.WORDS)
    chosen = list(load_words().rows)[:600:3]
    X = words_remake.encode(chosen)
    Z = load_words()._units(chosen)
    X = X - X.mean(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    assert np.corrcoef((X @ X.T).ravel(), (Z @ Z.T).ravel())[0, 1] > 0.75


@pytest.mark.skipif(not missing, reason="the packages are installed")
def test_missing_packages_are_named():
    with pytest.raises(InputError, match=r'pip install "\.\[words\]"'):
        words_remake.remake()

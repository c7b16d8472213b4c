"""What bits do and stand for, against slow counts, hand-made codes and planted answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.bits import (
    BLOCK,
    ITEMS,
    RELATIVES,
    WORDS,
    BitTopic,
    bit_kinds,
    class_contrast,
    class_shares,
    confusion_shares,
    correlate,
    cross_counts,
    database_bits,
    describe_bits,
    item_counts,
    largest_classes,
    sample,
    top_rows,
)
from smfh.datasets import DATASETS
from smfh.features.text import fit_bag_of_words
from smfh.hashing import METHODS, SMFH, SMFHPlus, make_method
from smfh.types import InputError, MultimodalDataset, Split

#                    live  twin  mirror dead  dead  live
CODES = np.array([[1, 1, 0, 1, 0, 1], [1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0]], dtype=bool)
LABELS = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=bool)
ANIMALS = ("cat", "dog", "horse", "cow")
TOOLS = ("hammer", "saw", "drill", "wrench")


def test_dead_bits_and_twins_are_found():
    assert bit_kinds(CODES).tolist() == ["live", "twin", "twin", "dead", "dead", "live"]


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_live_bits_are_as_many_as_there_are_different_ones(items, bits, seed):
    codes = np.random.default_rng(seed).random((items, bits)) < 0.5
    different = {tuple(bit ^ bit[0]) for bit in codes.T} - {(False,) * items}
    assert np.count_nonzero(bit_kinds(codes) == "live") == len(different)


def test_the_share_of_a_class_that_has_a_bit_on():
    expected = [[1, 1, 0, 1, 0, 0.5], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0]]  # the last class has no items
    np.testing.assert_array_equal(class_shares(CODES, LABELS), expected)


def test_correlations_are_those_of_numpy_and_dead_bits_have_none():
    correlation, live = correlate(CODES), [0, 1, 2, 5]
    np.testing.assert_allclose(correlation[np.ix_(live, live)], np.corrcoef(CODES[:, live].T), atol=1e-12)
    assert np.isnan(correlation[3]).all()
    assert np.isnan(correlation[:, 4]).all()


def test_counts_are_exact_over_several_blocks(rng):
    A, B = (rng.random((BLOCK + 100, 3)) < 0.5 for _ in range(2))
    np.testing.assert_array_equal(cross_counts(A, B), A.T.astype(int) @ B.astype(int))


def test_what_is_no_code_is_refused_with_all_reasons():
    with pytest.raises(InputError) as refused:
        class_shares(CODES.astype(float), LABELS[:, 0])
    assert len(refused.value.problems) == 2
    with pytest.raises(InputError, match="4 rows of codes and 3 rows of labels"):
        class_shares(CODES, LABELS[:3])


def test_the_largest_classes_come_first_and_an_empty_one_not_at_all():
    labels = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0]], dtype=bool)
    assert largest_classes(labels).tolist() == [1, 2, 0]
    assert largest_classes(labels, most=1).tolist() == [1]


def test_the_share_of_answers_that_carry_each_class():
    labels = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1]], dtype=bool)
    queries = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)
    rows = np.array([[0, 1, 2], [0, 2, 3], [3, 2, 0]])
    # art: answers 0 1 and 0 2, of four three are art and one is history; history: 3 2, one is music too
    expected = [[0.75, 0.25, 0], [0, 1, 0.5], [0, 0, 0]]
    np.testing.assert_allclose(confusion_shares(rows, queries, labels, top=2), expected)
    both = np.array([[0, 1, 1]], dtype=bool)  # counts for both of its classes; depth is what there is
    np.testing.assert_allclose(confusion_shares(rows[2:, :2], both, labels)[1:, 1:], [[1, 0.5], [1, 0.5]])


@pytest.fixture(scope="module")
def spoken() -> tuple[MultimodalDataset, Split]:
    """Animals and tools: each sentence has words of its class and a word that tells nothing."""
    rng = np.random.default_rng(0)
    is_tool = np.arange(200) % 2 == 1
    sentences = [" ".join(["the", *rng.choice(TOOLS if tool else ANIMALS, 2)]) for tool in is_tool]
    encoder = fit_bag_of_words(sentences)
    image = np.abs(np.stack([is_tool, ~is_tool, np.ones(200)], axis=1) + 0.1 * rng.random((200, 3)))
    labels = np.stack([~is_tool, is_tool], axis=1)
    data = MultimodalDataset(
        "spoken",
        {"image": image.astype(np.float32), "text": encoder.encode(sentences)},
        labels,
        ("animals", "tools"),
        sentences,
        encoders={"text": encoder},
    )
    return data, Split(np.arange(160), np.arange(160, 200))


@pytest.mark.parametrize("method", [SMFHPlus(bits=8), SMFHPlus(bits=8, anchors=0), SMFH(bits=8)])
def test_the_words_and_items_of_a_bit_are_of_the_classes_that_it_is_on_for(spoken, method):
    data, split = spoken
    known = describe_bits(method.fit(data.take(split.train)), data, split)
    followers = [topic for topic in known if topic.kind != "dead" and topic.classes[0][1] > 0.9]
    assert followers
    for topic in followers:
        column = data.class_names.index(topic.classes[0][0])
        own = (ANIMALS, TOOLS)[column]
        assert {word for word, _ in topic.words["text"][:3]} <= set(own)
        assert data.labels[list(topic.rows), column].all()
        assert topic.summary.split(", ")[0] in own


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_topics_in_the_order_of_its_bits(planted, name):
    data, split = planted
    hasher = make_method(name, bits=12).fit(data.take(split.train))
    known = describe_bits(hasher, data, split)
    codes = database_bits(hasher, data, split)
    assert [topic.number for topic in known] == list(range(12))
    for topic in known:
        assert topic.balance == pytest.approx(codes[:, topic.number].mean())
        assert topic.kind in ("live", "dead", "twin")
        assert len(topic.rows) == ITEMS
        assert set(topic.rows) <= set(split.train.tolist())
        assert 0 <= topic.agreement <= 1
        assert topic.words == {}
        strengths = [value for _, value in topic.classes]
        assert strengths == sorted(strengths, reverse=True)
        assert len(topic.relatives) <= RELATIVES
        assert topic.number not in [number for number, _ in topic.relatives]


def test_the_strongest_items_have_the_largest_margins(planted):
    data, split = planted
    hasher = SMFHPlus(bits=8).fit(data.take(split.train))
    margins = hasher.functions["image"].margins(data.modalities["image"][split.train])
    for topic in describe_bits(hasher, data, split):
        best = split.train[np.argsort(-margins[:, topic.number], kind="stable")[:ITEMS]]
        assert list(topic.rows) == best.tolist()


def test_words_that_every_item_has_tell_nothing(spoken):
    data, split = spoken
    for topic in describe_bits(SMFH(bits=8).fit(data.take(split.train)), data, split):
        assert "the" not in dict(topic.words["text"])


def test_agreement_counts_the_held_out_pairs_on_which_modalities_agree(three_modalities):
    data, split = three_modalities
    hasher = SMFHPlus(bits=8).fit(data.take(split.train))
    bits = [f.margins(data.modalities[m][split.queries]) > 0 for m, f in hasher.functions.items()]
    for topic in describe_bits(hasher, data, split):
        a, b, c = (matrix[:, topic.number] for matrix in bits)
        expected = np.mean([np.mean(a == b), np.mean(a == c), np.mean(b == c)])
        assert topic.agreement == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1))
def test_the_contrast_of_a_class_is_its_share_less_that_of_the_others(seed):
    rng = np.random.default_rng(seed)
    codes, labels = rng.random((30, 4)) < 0.5, rng.random((30, 3)) < rng.random(3)
    contrast = class_contrast(codes, labels)
    for k, has in enumerate(labels.T):
        for bit in range(4):
            inside, outside = codes[has, bit], codes[~has, bit]
            expected = inside.mean() - outside.mean() if len(inside) and len(outside) else 0
            assert contrast[k, bit] == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 12))
def test_the_top_rows_are_those_of_a_full_sort(seed, items, most):
    values = np.random.default_rng(seed).permutation(items * 3).reshape(items, 3).astype(float)
    expected = np.argsort(-values, axis=0)[:most]
    np.testing.assert_array_equal(top_rows(values, most), expected)


def test_a_sample_is_bounded_and_spread_over_all_rows():
    rows = np.arange(1000) * 2
    assert sample(rows, 2000) is rows
    some = sample(rows, 100)
    assert len(some) == len(np.unique(some)) == 100
    assert some[0] == 0
    assert some[-1] == rows[-1]


def test_items_are_counted_in_sparse_and_dense_columns_alike(three_modalities):
    data, split = three_modalities
    X = data.modalities["text"]
    np.testing.assert_array_equal(item_counts(X, split.train), item_counts(X.toarray(), split.train))


def test_a_summary_falls_back_to_classes_and_then_to_the_number():
    def topic(kind="live", classes=(), words=None):
        return BitTopic(17, 0.5, kind, classes, words or {}, (), 1.0, ())

    assert topic(words={"text": (("cat", 2.0), ("dog", 1.0))}).summary == "cat, dog"
    assert topic(classes=(("pets", 0.5), ("cars", -0.5)), words={"text": ()}).summary == "pets"
    assert topic(classes=(("cars", -0.5),)).summary == "bit 17"
    assert topic(kind="dead", words={"text": (("cat", 2.0),)}).summary == "bit 17"


@pytest.mark.slow
@pytest.mark.skipif(bool(DATASETS["emoji"]().missing()), reason="the packages of Emoji are not here")
def test_on_emoji_most_bits_say_words_of_the_classes_that_they_are_on_for():
    data, split = DATASETS["emoji"]().load()
    hasher = SMFHPlus().fit(data.take(split.train))
    X = data.modalities["text"][split.train]
    column = {token: k for k, token in enumerate(data.encoders["text"].vocabulary.tokens)}
    codes = database_bits(hasher, data, split)
    lift = []
    for topic in describe_bits(hasher, data, split):
        assert len(topic.words["text"]) == WORDS
        for word, _ in topic.words["text"][:3]:
            has = X[:, [column[word]]].toarray()[:, 0] > 0
            lift.append(codes[has, topic.number].mean() - topic.balance)
    assert np.mean(np.array(lift) > 0.2) > 0.9

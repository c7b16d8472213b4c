"""Bits: counts against slow oracles, groups by hand-worked correlations, topics on hand-made data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.features.text import fit_bag_of_words
from smfh.hashing import METHODS, SMFH, SMFHPlus, make_method
from smfh.retrieval.bits import (
    MAX_ITEMS,
    MAX_RELATIVES,
    bit_kinds,
    class_contrast,
    confusion_shares,
    correlate,
    database_bits,
    describe_bits,
    group_bits,
)
from smfh.types import MultimodalDataset, Split

ANIMALS = ("cat", "dog", "horse", "cow")
TOOLS = ("hammer", "saw", "drill", "wrench")
#                    live  twin  mirror dead  dead  live
CODES = np.array([[1, 1, 0, 1, 0, 1], [1, 1, 0, 1, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0]], dtype=bool)


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_live_bits_are_the_distinct_ones(items, bits, seed):
    codes = np.random.default_rng(seed).random((items, bits)) < 0.5
    different = {tuple(bit ^ bit[0]) for bit in codes.T} - {(False,) * items}
    assert np.count_nonzero(bit_kinds(codes) == "live") == len(different)
    assert bit_kinds(CODES).tolist() == ["live", "twin", "twin", "dead", "dead", "live"]


def test_correlation_equals_numpy_and_is_undefined_for_dead_bits():
    correlation, live = correlate(CODES), [0, 1, 2, 5]
    np.testing.assert_allclose(correlation[np.ix_(live, live)], np.corrcoef(CODES[:, live].T), atol=1e-12)
    assert np.isnan(correlation[3]).all()
    assert np.isnan(correlation[:, 4]).all()


def test_confusion_is_the_share_of_results_with_each_class():
    labels = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1]], dtype=bool)
    queries = np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=bool)
    rows = np.array([[0, 1, 2], [0, 2, 3], [3, 2, 0]])
    # art: answers 0 1 and 0 2, of four three are art and one is history; history: 3 2, one is music too
    expected = [[0.75, 0.25, 0], [0, 1, 0.5], [0, 0, 0]]
    np.testing.assert_allclose(confusion_shares(rows, queries, labels, top=2), expected)
    both = np.array([[0, 1, 1]], dtype=bool)  # counts for both of its classes; depth is what there is
    np.testing.assert_allclose(confusion_shares(rows[2:, :2], both, labels)[1:, 1:], [[1, 0.5], [1, 0.5]])


@given(st.integers(0, 2**32 - 1))
def test_class_contrast_is_the_share_minus_that_of_the_others(seed):
    rng = np.random.default_rng(seed)
    codes, labels = rng.random((30, 4)) < 0.5, rng.random((30, 3)) < rng.random(3)
    contrast = class_contrast(codes, labels)
    for k, has in enumerate(labels.T):
        for bit in range(4):
            inside, outside = codes[has, bit], codes[~has, bit]
            expected = inside.mean() - outside.mean() if len(inside) and len(outside) else 0
            assert contrast[k, bit] == pytest.approx(expected)


def test_a_chain_of_similar_bits_is_not_a_group():
    rho = np.array([[1.0, 0.95, 0.6], [0.95, 1.0, 0.91], [0.6, 0.91, 1.0]])
    assert group_bits(rho) == (((0, 1), (1, 1)), ((2, 1),))
    assert group_bits(rho, threshold=0.6) == (((0, 1), (1, 1), (2, 1)),)
    assert group_bits(rho, threshold=0.96) == (((0, 1),), ((1, 1),), ((2, 1),))


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(0.1, 1))
def test_groups_reach_the_threshold_and_contain_every_live_bit(seed, bits, threshold):
    rng = np.random.default_rng(seed)
    codes = rng.random((30, bits)) < 0.5
    codes ^= codes[:, rng.integers(bits, size=bits)]
    rho = correlate(codes)
    groups = group_bits(rho, threshold)
    live = np.flatnonzero(codes.any(axis=0) & ~codes.all(axis=0)).tolist()
    assert sorted(bit for group in groups for bit, _ in group) == live
    for group in groups:
        for j, s in group:
            for k, t in group:
                assert abs(rho[j, k]) >= threshold - 1e-9
                assert s * t * rho[j, k] > 0 or threshold < 0.8  # signs are consistent for high correlations


@pytest.fixture(scope="module")
def spoken() -> tuple[MultimodalDataset, Split]:
    """Animals and tools: each sentence has words of its class and one uninformative word."""
    rng = np.random.default_rng(0)
    is_tool = np.arange(200) % 2 == 1
    sentences = [" ".join(["the", *rng.choice(TOOLS if tool else ANIMALS, 2)]) for tool in is_tool]
    encoder = fit_bag_of_words(sentences)
    image = np.abs(np.stack([is_tool, ~is_tool, np.ones(200)], axis=1) + 0.1 * rng.random((200, 3)))
    labels = np.stack([~is_tool, is_tool], axis=1)
    modalities, names = {"image": image, "text": encoder.encode(sentences)}, ("animals", "tools")
    data = MultimodalDataset("spoken", modalities, labels, names, sentences, encoders={"text": encoder})
    return data, Split(np.arange(160), np.arange(160, 200))


@pytest.mark.parametrize("method", [SMFHPlus(bits=8), SMFHPlus(bits=8, anchors=0), SMFH(bits=8)])
def test_words_and_items_of_a_bit_belong_to_the_classes_it_follows(spoken, method):
    data, split = spoken
    known = describe_bits(method.fit(data.take(split.train)), data, split)
    followers = [topic for topic in known if topic.kind != "dead" and topic.classes[0][1] > 0.9]
    assert followers
    for topic in followers:
        column = data.class_names.index(topic.classes[0][0])
        own = (ANIMALS, TOOLS)[column]
        assert {word for word, _ in topic.words["text"][:3]} <= set(own)
        assert "the" not in dict(topic.words["text"])  # which every item has
        assert data.labels[list(topic.rows), column].all()
        assert topic.summary.split(", ")[0] in own


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_topic_for_each_bit(planted, name):
    data, split = planted
    hasher = make_method(name, bits=12).fit(data.take(split.train))
    known = describe_bits(hasher, data, split)
    codes = database_bits(hasher, data, split)
    assert [topic.number for topic in known] == list(range(12))
    for topic in known:
        assert topic.balance == pytest.approx(codes[:, topic.number].mean())
        assert len(topic.rows) <= MAX_ITEMS
        assert set(topic.rows) <= set(split.train.tolist())
        assert 0 <= topic.agreement <= 1
        assert topic.words == {}
        assert len(topic.relatives) <= MAX_RELATIVES
        assert topic.number not in [number for number, _ in topic.relatives]


def test_strongest_items_are_on_in_every_modality_with_the_largest_margins(planted):
    data, split = planted
    hasher = SMFHPlus(bits=8).fit(data.take(split.train))
    margins = {m: f.margins(data.modalities[m][split.train]) for m, f in hasher.functions.items()}
    for topic in describe_bits(hasher, data, split):
        everywhere = np.all([of_one[:, topic.number] > 0 for of_one in margins.values()], axis=0)
        order = np.argsort(-margins["image"][:, topic.number], kind="stable")
        assert list(topic.rows) == split.train[order[everywhere[order]]][:MAX_ITEMS].tolist()


def test_agreement_is_the_share_of_held_out_pairs_with_equal_bits(three_modalities):
    data, split = three_modalities
    hasher = SMFHPlus(bits=8).fit(data.take(split.train))
    bits = [f.margins(data.modalities[m][split.queries]) > 0 for m, f in hasher.functions.items()]
    learned = database_bits(hasher, data, split)
    for topic in describe_bits(hasher, data, split):
        a, b, c = (matrix[:, topic.number] for matrix in bits)
        expected = np.mean([np.mean(a == b), np.mean(a == c), np.mean(b == c)])
        assert topic.agreement == pytest.approx(expected)
        shuffled = [np.mean(p[:, None] == q[None]) for p, q in ((a, b), (a, c), (b, c))]
        assert topic.chance == pytest.approx(np.mean(shuffled))  # every item of one with every of the other
        for modality, f in hasher.functions.items():
            own = f.margins(data.modalities[modality][split.train])[:, topic.number] > 0
            assert topic.fidelity[modality] == pytest.approx(np.mean(own == learned[:, topic.number]))

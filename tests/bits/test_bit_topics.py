"""What bits stand for, against slow counts, hand-made margins and planted answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smfh.bits import BitTopic, database_bits, describe_bits, sample
from smfh.bits.topics import ITEMS, NAMELESS, RELATIVES, WORDS, strongest_items, strongest_words, top_rows
from smfh.datasets import DATASETS
from smfh.features.text import fit_bag_of_words
from smfh.hashing import METHODS, SMFH, SMFHPlus, make_method
from smfh.types import MultimodalDataset, Split

ANIMALS = ("cat", "dog", "horse", "cow")
TOOLS = ("hammer", "saw", "drill", "wrench")


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
        assert len(topic.rows) <= ITEMS
        assert set(topic.rows) <= set(split.train.tolist())
        assert 0 <= topic.agreement <= 1
        assert topic.words == {}
        strengths = [value for _, value in topic.classes]
        assert strengths == sorted(strengths, reverse=True)
        assert len(topic.relatives) <= RELATIVES
        assert topic.number not in [number for number, _ in topic.relatives]


def test_the_strongest_items_are_on_in_every_modality_and_have_the_largest_margins(planted):
    data, split = planted
    hasher = SMFHPlus(bits=8).fit(data.take(split.train))
    margins = {m: f.margins(data.modalities[m][split.train]) for m, f in hasher.functions.items()}
    for topic in describe_bits(hasher, data, split):
        everywhere = np.all([of_one[:, topic.number] > 0 for of_one in margins.values()], axis=0)
        order = np.argsort(-margins["image"][:, topic.number], kind="stable")
        assert list(topic.rows) == split.train[order[everywhere[order]]][:ITEMS].tolist()


def test_strong_items_that_are_off_in_one_modality_are_left_out():
    margins = np.array([[5.0, -1.0], [9.0, -2.0], [1.0, -3.0]])
    on = np.array([[True, False], [False, False], [True, False]])
    assert strongest_items(margins, on, np.array([10, 20, 30])) == [(10, 30), ()]


@pytest.mark.parametrize(
    ("agreement", "chance", "kappa", "agrees"),
    [(0.75, 0.5, 0.5, True), (0.6, 0.5, 0.2, False), (0.9, 0.9, 0.0, False), (1.0, 1.0, 0.0, False)],
)
def test_modalities_agree_where_they_do_so_more_often_than_by_chance(agreement, chance, kappa, agrees):
    topic = a_topic(agreement=agreement, chance=chance)
    assert topic.kappa == pytest.approx(kappa)
    assert topic.agrees == agrees


def test_a_word_is_told_only_where_the_pictures_of_its_items_have_the_bit_on(spoken):
    data, split = spoken
    hasher = SMFH(bits=8).fit(data.take(split.train))
    encoder, X = data.encoders["text"], data.modalities["text"][split.train]
    always, never = np.ones((160, 8), dtype=bool), np.zeros((160, 8), dtype=bool)
    assert strongest_words(hasher, "text", encoder, X, always) == [()] * 8  # on for all: no word tells
    assert strongest_words(hasher, "text", encoder, X, never) == [()] * 8
    has_cat = X[:, [encoder.vocabulary.tokens.index("cat")]].toarray() > 0
    told = strongest_words(hasher, "text", encoder, X, np.repeat(has_cat, 8, axis=1))
    assert {word for words in told for word, _ in words} == {"cat"}


def test_words_that_every_item_has_tell_nothing(spoken):
    data, split = spoken
    for topic in describe_bits(SMFH(bits=8).fit(data.take(split.train)), data, split):
        assert "the" not in dict(topic.words["text"])


def test_agreement_counts_the_held_out_pairs_on_which_modalities_agree(three_modalities):
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


def a_topic(kind="live", classes=(), words=None, agreement=1.0, chance=0.5, group=((17, 1),)):
    return BitTopic(17, 0.5, kind, classes, words or {}, (), agreement, chance, {}, group, ())


def test_a_summary_says_words_where_modalities_agree_else_classes_else_that_there_is_no_name():
    words = {"text": (("cat", 2.0), ("dog", 1.0))}
    pets = (("pets", 0.5), ("cars", 0.1), ("food", -0.5))
    assert a_topic(classes=pets, words=words).summary == "cat, dog"
    assert a_topic(classes=pets, words=words, agreement=0.6).summary == "pets"
    assert a_topic(classes=pets, words={"text": ()}).summary == "pets"
    assert a_topic(classes=pets).follows == ("pets",)
    assert a_topic(classes=pets[1:]).summary == NAMELESS
    assert a_topic(kind="dead", words=words).summary == NAMELESS


def test_a_bit_echoes_the_first_of_its_group():
    assert a_topic().echoes is None
    assert a_topic(group=((3, 1), (17, -1))).echoes == (3, -1)
    assert a_topic(group=((17, 1), (20, 1))).echoes is None
    assert a_topic(kind="dead", group=()).echoes is None


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

"""Data of the shape of NUS-WIDE at any size, with a planted structure: for benchmarks and for trying out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.datasets.source import DatasetCard, DatasetSource, OnProgress
from smfh.datasets.splits import resolve_split
from smfh.types import BoolArray, MultimodalDataset, Split, parameter

VISUAL_WORDS, TAGS = 500, 1_000
TAGS_PER_ITEM = 6  # on average
CAPTION = 100  # bytes that one takes
TRAIN_SHARE, MOST_QUERIES = 180_000 / 186_577, 6_577  # as the paper splits NUS-WIDE
SHARES = np.array([0.40, 0.30, 0.28, 0.19, 0.18, 0.12, 0.10, 0.08, 0.07, 0.06])  # of the items
TOPICS_PER_CLASS = 3
WORDS_PER_TOPIC, TAGS_PER_CLASS = 40, 60
BLOCK = 16_384  # rows made at once, so that memory is the result and little more
CLASSES = tuple(f"class {k}" for k in range(len(SHARES)))

Drawn = tuple[NDArray[np.float32], sparse.csr_array, BoolArray]  # visual words, tags and labels of some items


@dataclass(frozen=True)
class Synthetic(DatasetSource):
    """Classes switch on topics, topics make visual words, classes choose tags; the rest is background."""

    name = "synthetic"
    card = DatasetCard(
        title="Synthetic NUS-WIDE",
        about="Made up in the shape of NUS-WIDE: every item has one or more of ten classes, which decide "
        "over its visual words and its tags, up to a share of noise.",
        size="20,000 items unless asked otherwise, 500 + 1,000 (sparse) dimensions, 10 classes",
        terms="Made on the spot.",
        origin="It comes with the program.",
    )

    items: int = parameter(20_000, "N", 100, 1_000_000, "Number of items; NUS-WIDE has 186,577.", "log")
    noise: float = parameter(0.5, "σ", 0.0, 1.0, "Share of words and tags that no class decides.")
    data_seed: int = parameter(0, "seed", 0, 2**32 - 1, "Another seed, another set.")

    @property
    def bytes(self) -> int:
        cells = VISUAL_WORDS + 2 * TAGS_PER_ITEM
        return int(self.items * (4 * cells + len(SHARES) + CAPTION))

    def load(
        self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress | None = None
    ) -> tuple[MultimodalDataset, Split]:
        """First the items that train, then those that ask: as they are drawn at random, so is that split."""
        blocks = SyntheticBlocks(self.items, self.noise, self.data_seed)
        image = np.empty((self.items, VISUAL_WORDS), dtype=np.float32)
        tags, hot, done = [], [], 0
        for own_words, own_tags, own_labels in blocks.draw_all():
            image[done : done + len(own_labels)] = own_words
            tags.append(own_tags)
            hot.append(own_labels)
            done += len(own_labels)
            if on_progress:
                on_progress(done / self.items, "Drawing items")
        text, labels, classes = sparse.csr_array(sparse.vstack(tags)), np.concatenate(hot), np.array(CLASSES)
        captions = [", ".join(classes[row]) for row in labels]
        data = MultimodalDataset(self.name, {"image": image, "text": text}, labels, CLASSES, captions)
        return data, resolve_split(split, seed, self.items, blocks.split, TRAIN_SHARE)


def query_count(items: int) -> int:
    """How many of so many items ask: NUS-WIDE's share, and no more than it has."""
    return max(min(items - round(items * TRAIN_SHARE), MOST_QUERIES), 1)


class SyntheticBlocks:
    """Any number of such items, a block at a time by its own seed; topics and vocabularies are shared."""

    def __init__(self, items: int, noise: float, seed: int) -> None:
        self.queries, self.noise, self.seed = query_count(items), noise, seed
        self.training = items - self.queries
        rng = np.random.default_rng(seed)
        self.vocabularies, self.topics = draw_vocabularies(len(SHARES), rng), draw_topics(len(SHARES), rng)

    @property
    def split(self) -> Split:
        """Of all, in the order in which they are drawn."""
        rows = np.arange(self.training + self.queries)
        return Split(rows[: self.training], rows[self.training :])

    def draw_training(self) -> Iterator[Drawn]:
        for number, start in enumerate(range(0, self.training, BLOCK), 1):
            yield self.draw(min(BLOCK, self.training - start), number)

    def draw_queries(self) -> Drawn:
        return self.draw(self.queries, 0, 1)  # 0 alone is no seed beside the one that drew the topics

    def draw_all(self) -> Iterator[Drawn]:
        yield from self.draw_training()
        yield self.draw_queries()

    def draw(self, items: int, *block: int) -> Drawn:
        rng = np.random.default_rng([self.seed, *block])
        labels = draw_labels(items, rng)
        tags = draw_tags(labels, self.noise, rng, self.vocabularies)
        return draw_visual_words(labels, self.noise, rng, self.topics), tags, labels


def draw_labels(items: int, rng: np.random.Generator) -> BoolArray:
    """Each class on its own, by its share; an item left without any gets one."""
    labels = rng.random((items, len(SHARES))) < SHARES
    bare = np.flatnonzero(~labels.any(axis=1))
    labels[bare, rng.choice(len(SHARES), size=len(bare), p=SHARES / SHARES.sum())] = True
    return labels


def draw_visual_words(
    labels: BoolArray, noise: float, rng: np.random.Generator, B: NDArray[np.float32]
) -> NDArray[np.float32]:
    """X = (1 − σ) Z B + σ E: topics Z of the item's classes, their words B, exponential background E."""
    on = np.repeat(labels, TOPICS_PER_CLASS, axis=1)
    Z = on * rng.random(on.shape, dtype=np.float32)
    X = rng.standard_exponential((len(labels), VISUAL_WORDS), dtype=np.float32)
    X *= np.float32(noise)
    X += np.float32(1 - noise) * (Z @ B)
    return X


def draw_topics(classes: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """The words of every topic, (topics, words)"""
    B = np.zeros((TOPICS_PER_CLASS * classes, VISUAL_WORDS), dtype=np.float32)
    for topic in B:
        words = rng.choice(VISUAL_WORDS, WORDS_PER_TOPIC, replace=False)
        topic[words] = rng.exponential(size=WORDS_PER_TOPIC)
    return B


def draw_vocabularies(classes: int, rng: np.random.Generator) -> NDArray[Any]:
    """The tags of every class by rank, and of the background, which is the last."""
    return np.array([rng.permutation(TAGS) for _ in range(classes + 1)])


def draw_tags(
    labels: BoolArray, noise: float, rng: np.random.Generator, vocabularies: NDArray[Any]
) -> sparse.csr_array:
    """Tags by Zipf's law: of one of the item's classes, or, by the share of noise, of any kind."""
    items, classes = labels.shape
    item = np.repeat(np.arange(items), 1 + rng.poisson(TAGS_PER_ITEM - 1, items))
    counts = labels.sum(axis=1)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    which = first[item] + (rng.random(len(item)) * counts[item]).astype(np.int64)
    vocabulary = np.nonzero(labels)[1][which]
    rank = _zipf(TAGS_PER_CLASS, len(item), rng)
    background = rng.random(len(item)) < noise
    vocabulary[background] = classes
    rank[background] = _zipf(TAGS, int(background.sum()), rng)
    cells = np.unique(item * TAGS + vocabularies[vocabulary, rank])  # a tag is there or not, never twice
    starts = np.concatenate([[0], np.cumsum(np.bincount(cells // TAGS, minlength=items))])
    ones = np.ones(len(cells), dtype=np.float32)
    parts = (ones, (cells % TAGS).astype(np.int32), starts.astype(np.int32))
    return sparse.csr_array(parts, shape=(items, TAGS))


def _zipf(words: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
    """Ranks with probability ∝ 1 / (rank + 1)"""
    cumulative = np.cumsum(1 / np.arange(1, words + 1))
    return np.searchsorted(cumulative / cumulative[-1], rng.random(size))

"""Artificial data of any size in the shape of NUS-WIDE, with a planted structure, for benchmarks."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.datasets.source import DatasetCard, DatasetSource, Loaded, OnProgress
from smfh.datasets.splits import resolve_split
from smfh.types import BoolArray, MultimodalDataset, Split, parameter

VISUAL_WORDS, TAGS = 500, 1_000
TAGS_PER_ITEM = 6  # on average
CAPTION_BYTES = 100
TRAIN_SHARE, MAX_QUERIES = 180_000 / 186_577, 6_577  # of NUS-WIDE in the paper
SHARES = np.array([0.40, 0.30, 0.28, 0.19, 0.18, 0.12, 0.10, 0.08, 0.07, 0.06])  # of items in each class
TOPICS_PER_CLASS = 3
WORDS_PER_TOPIC, TAGS_PER_CLASS = 40, 60
BLOCK_ROWS = 16_384  # drawn at once, to use little more memory than the result needs
CLASSES = tuple(f"class {k}" for k in range(len(SHARES)))

Block = tuple[NDArray[np.float32], sparse.csr_array, BoolArray]  # visual words, tags and labels


@dataclass(frozen=True)
class Synthetic(DatasetSource):
    """Items whose classes determine their tags and, through topics, their visual words; the rest is noise."""

    name = "synthetic"
    card = DatasetCard(
        title="Synthetic NUS-WIDE",
        about="Artificial data in the shape of NUS-WIDE: every item has one or more of ten classes, which "
        "determine its visual words and tags, except for a share of noise.",
        size="20,000 items by default, 500 + 1,000 (sparse) dimensions, 10 classes",
        terms="Generated when needed.",
        origin="Included in the program.",
    )

    items: int = parameter(20_000, "N", 100, 1_000_000, "Number of items; NUS-WIDE has 186,577.", "log")
    noise: float = parameter(0.5, "σ", 0.0, 1.0, "Share of visual words and tags that are random.")
    data_seed: int = parameter(0, "seed", 0, 2**32 - 1, "Random seed of the data.")

    @property
    def bytes(self) -> int:
        cells = VISUAL_WORDS + 2 * TAGS_PER_ITEM
        return int(self.items * (4 * cells + len(SHARES) + CAPTION_BYTES))

    def load(self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress = None) -> Loaded:
        """Generate items at random; by default the first rows are for training and the last are queries."""
        blocks = SyntheticBlocks(self.items, self.noise, self.data_seed)
        image = np.empty((self.items, VISUAL_WORDS), dtype=np.float32)
        tags, hot, done = [], [], 0
        for block_words, block_tags, block_labels in chain(blocks.draw_training(), [blocks.draw_queries()]):
            image[done : done + len(block_labels)] = block_words
            tags.append(block_tags)
            hot.append(block_labels)
            done += len(block_labels)
            if on_progress:
                on_progress(done / self.items, "Drawing items")
        text, labels, classes = sparse.csr_array(sparse.vstack(tags)), np.concatenate(hot), np.array(CLASSES)
        captions = [", ".join(classes[row]) for row in labels]
        data = MultimodalDataset(self.name, {"image": image, "text": text}, labels, CLASSES, captions)
        return data, resolve_split(split, seed, self.items, blocks.split, TRAIN_SHARE)


def query_count(items: int) -> int:
    """Return the number of queries among `items`: the same share as in NUS-WIDE, at most 6,577."""
    return max(min(items - round(items * TRAIN_SHARE), MAX_QUERIES), 1)


class SyntheticBlocks:
    """A generator of synthetic items in blocks, each with its own seed; all use the same topics and words."""

    def __init__(self, items: int, noise: float, seed: int) -> None:
        self.queries, self.noise, self.seed = query_count(items), noise, seed
        self.training = items - self.queries
        rng = np.random.default_rng(seed)
        # an order of all tags for each class, most frequent first; the last row is for background tags
        self.vocabularies = np.array([rng.permutation(TAGS) for _ in range(len(SHARES) + 1)])
        self.topics = np.zeros((TOPICS_PER_CLASS * len(SHARES), VISUAL_WORDS), dtype=np.float32)
        for topic in self.topics:  # the weight of each visual word
            words = rng.choice(VISUAL_WORDS, WORDS_PER_TOPIC, replace=False)
            topic[words] = rng.exponential(size=WORDS_PER_TOPIC)

    @property
    def split(self) -> Split:
        """The split: training items first, then queries, in the order in which they are drawn."""
        rows = np.arange(self.training + self.queries)
        return Split(rows[: self.training], rows[self.training :])

    def draw_training(self) -> Iterator[Block]:
        for number, start in enumerate(range(0, self.training, BLOCK_ROWS), 1):
            yield self.draw(min(BLOCK_ROWS, self.training - start), number)

    def draw_queries(self) -> Block:
        return self.draw(self.queries, 0, 1)  # [seed, 0] would repeat the seed of the topics

    def draw(self, items: int, *block: int) -> Block:
        """Draw labels, tags, and visual words X = (1 − σ) Z B + σ E.

        σ is the share of noise, B are the topics (weights of all visual words), Z are random weights of the
        topics of each item's classes, and E is exponentially distributed noise.
        """
        rng = np.random.default_rng([self.seed, *block])
        labels = draw_labels(items, rng)
        tags = draw_tags(labels, self.noise, rng, self.vocabularies)
        on = np.repeat(labels, TOPICS_PER_CLASS, axis=1)
        Z = on * rng.random(on.shape, dtype=np.float32)
        X = rng.standard_exponential((items, VISUAL_WORDS), dtype=np.float32)
        X *= np.float32(self.noise)
        X += np.float32(1 - self.noise) * (Z @ self.topics)
        return X, tags, labels


def draw_labels(items: int, rng: np.random.Generator) -> BoolArray:
    """Draw each class independently with its share as probability; an item without a class gets one."""
    labels = rng.random((items, len(SHARES))) < SHARES
    empty = np.flatnonzero(~labels.any(axis=1))
    labels[empty, rng.choice(len(SHARES), size=len(empty), p=SHARES / SHARES.sum())] = True
    return labels


def draw_tags(
    labels: BoolArray, noise: float, rng: np.random.Generator, vocabularies: NDArray[Any]
) -> sparse.csr_array:
    """Draw tags by Zipf's law from the item's classes or, with probability `noise`, from all tags."""
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
    cells = np.unique(item * TAGS + vocabularies[vocabulary, rank])  # each tag at most once per item
    starts = np.concatenate([[0], np.cumsum(np.bincount(cells // TAGS, minlength=items))])
    ones = np.ones(len(cells), dtype=np.float32)
    parts = (ones, (cells % TAGS).astype(np.int32), starts.astype(np.int32))
    return sparse.csr_array(parts, shape=(items, TAGS))


def _zipf(words: int, size: int, rng: np.random.Generator) -> NDArray[Any]:
    """Draw `size` ranks below `words` with probability ∝ 1 / (rank + 1)."""
    cumulative = np.cumsum(1 / np.arange(1, words + 1))
    return np.searchsorted(cumulative / cumulative[-1], rng.random(size))

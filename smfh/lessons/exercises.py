"""Exercises on the small example, which are checked with the numbers of the walkthrough."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smfh.lessons.walkthrough import DEFAULT_METHOD, Walkthrough


@dataclass(frozen=True)
class Findings:
    """What the trained example shows."""

    queries: int
    perfect: int  # queries whose relevant items all come before the others
    bits: int
    different_bits: int  # bits that are not copies of another bit

    @classmethod
    def of(cls, walkthrough: Walkthrough) -> "Findings":
        """Rank all items for each of them after the last step, and compare the bits."""
        end, labels = walkthrough.steps[-1].after, walkthrough.example.data.labels
        perfect = 0
        for query in range(len(labels)):
            order, _ = end.rank(walkthrough.source, query)
            relevant = (labels[order] & labels[query]).any(axis=1)
            perfect += bool(relevant[: relevant.sum()].all())
        codes = end.matrices["code", ""]
        return cls(len(labels), perfect, codes.shape[1], len(np.unique(codes, axis=1).T))

    @property
    def in_words(self) -> str:
        """The findings as a sentence."""
        return (
            f"Now {self.perfect} of {self.queries} queries find all their relevant items first, and "
            f"{self.different_bits} of {self.bits} bits are different."
        )


@dataclass(frozen=True)
class Exercise:
    """A task for the sliders of the diagram, its check, and what it teaches."""

    task: str
    is_solved: Callable[[Walkthrough, Findings], bool]
    lesson: str


EXERCISES = (
    Exercise(
        "Change only α, so that fewer than half of the queries find all their relevant items first.",
        lambda walk, now: walk.method.graph_weight != DEFAULT_METHOD.graph_weight and 2 * now.perfect < now.queries,
        "With a low α the labels hardly count: codes follow colours and words, and classes mix.",
    ),
    Exercise(
        "Find another α than 1 for which every query finds all its relevant items first.",
        lambda walk, now: walk.method.graph_weight != DEFAULT_METHOD.graph_weight and now.perfect == now.queries,
        "Above a certain value, α hardly matters. So tune it on a coarse, logarithmic scale first.",
    ),
    Exercise(
        "Choose more than 4 bits, so that at least two bits are copies of each other.",
        lambda walk, now: now.bits > DEFAULT_METHOD.bits and now.different_bits < now.bits,
        "The graph pulls all bits to the same classes, and only β keeps them apart. More bits need not tell more.",
    ),
    Exercise(
        "Raise μ, so that fewer than half of the queries find all their relevant items first.",
        lambda walk, now: (
            walk.method.projection_weight > DEFAULT_METHOD.projection_weight and 2 * now.perfect < now.queries
        ),
        "With a high μ the codes must be easy to predict from the features, so they follow the labels less.",
    ),
)

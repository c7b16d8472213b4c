"""The diagram of the whole method: its boxes, what they hold after every step, and exercises with its sliders."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from smfh.files import Array
from smfh.lessons.notebook import SEARCH_CODE, step_code
from smfh.lessons.walkthrough import DEFAULT_METHOD, STEP_INFO, STEP_NAMES, Snapshot, Walkthrough

MEANINGS: Mapping[str, tuple[str, str]] = {  # symbol and meaning of every matrix and of the boxes of the search
    "features": ("X", "Features: the data of each item"),
    "rebuilt": ("Y Uᵀ", "Features reconstructed from codes and bases; compare with X"),
    "basis": ("U", "Basis: the weight of each feature in each bit, to compute features from codes"),
    "function": ("W", "Hash function: the weight of each feature for each bit, to compute codes from features"),
    "relaxed": ("Y", "Relaxed codes: the value of each bit for each item; shared by all modalities"),
    "threshold": ("ȳ", "Thresholds: the mean of each bit over all items; the bit is on for items above it"),
    "code": ("codes", "The bits: 1 where Y is above the threshold"),
    "graph": ("Â", "Label graph: the number of classes that two sampled items (marked orange) share"),
    "labels": ("Labels", "Labels: 1 where an item has a class"),
    "query": ("Query", "Code of the query: its features times W, compared with the thresholds"),
    "distances": ("Distance", "Hamming distance: the number of bits that differ from the query, for each item"),
    "results": ("Results", "Items sorted by distance; ✗ marks items that share no class with the query"),
}
HEADINGS = {  # above the boxes of this name
    "items": "1 Data",
    "features": "2 Features",
    "basis": "3 Training: U, labels, W",
    "relaxed": "4 Codes",
    "distances": "5 Search",
}
ARROWS = (  # between the boxes of these names
    *(("labels", "graph"), ("features", "basis"), ("features", "function"), ("basis", "relaxed")),
    *(("relaxed", "basis"), ("graph", "relaxed"), ("graph", "function"), ("function", "relaxed")),
    *(("relaxed", "function"), ("relaxed", "code")),
    *(("code", "distances"), ("function", "query"), ("query", "distances")),
)


@dataclass(frozen=True)
class Box:
    """An open box of the diagram: its title, the meaning of its contents, and the equation that computes them."""

    title: str
    meaning: str
    equation: str = ""  # LaTeX
    code: str = ""
    step: str = ""  # the step of an iteration that computes it


STEP_OF_BOX = {"basis": "bases", "graph": "sample", "relaxed": "codes", "function": "functions"}
BOXES: Mapping[str, Box] = {  # in the order of the computation, in which a screen reader reads them
    "labels": Box(
        "The labels",
        "The classes of each item. Training uses them: items that share a class are pulled to the same code. "
        "A search does not need the labels of the query.",
        r"(L_a)_{ik} = 1 \text{ if item } i \text{ has class } k",
    ),
    "features": Box(
        "The features X",
        "Numbers that describe an item: weights of its words, or shares of the colours in its picture.",
        r"X_t: N \text{ items} \times \text{features}",
    ),
    **{
        box: Box(info.title, f"{MEANINGS[box][1]}. {info.explanation}", info.equation, step_code(step), step)
        for box, step in STEP_OF_BOX.items()
        for info in [STEP_INFO[step]]
    },
    "code": Box(
        "The codes",
        "A bit is on where Y is above its mean over all items. Only these bits are stored.",
        r"[\, y_{ik} > \bar{y}_k \,]",
        SEARCH_CODE["code"],
    ),
    "query": Box(
        "The code of the query",
        "The hash function turns the features of a query into a code. The labels of the query are not used.",
        r"[\, (X_t W_t)_{ik} > \bar{y}_k \,]",
        SEARCH_CODE["query"],
    ),
    "distances": Box(
        "The distances",
        "The Hamming distance: the number of bits in which an item's code differs from the query's code.",
        r"\textstyle\sum_k [\, \text{bit } k \text{ differs} \,]",
        SEARCH_CODE["distances"],
    ),
    "results": Box(
        "The results",
        "All items, the smallest distance first. Ties stay in the order of the database.",
        "",
        SEARCH_CODE["results"],
    ),
}


def box_values(snapshot: Snapshot, source: str, query: int) -> dict[str, Array]:
    """Return the contents of every box by key `name:modality`; modality is empty if all modalities share the box.

    The box of the results holds the ranked items.
    """
    order, distances = snapshot.rank(source, query)
    matrices = snapshot.matrices
    values: dict[str, Array] = {":".join(key): matrices[key] for box in BOXES for key in matrices if key[0] == box}
    values |= {"query:": snapshot.query_code(source, query)[None] * 1.0}
    return values | {"distances:": distances[np.argsort(order), None], "results:": order}


def diagram_frames(walkthrough: Walkthrough, query: int) -> list[dict[str, Any]]:
    """Return the frames of the diagram, one per training step: title, sampled items, and changed boxes.

    The first frame holds all boxes. `computes` and `uses` name the boxes of the step that leads to the frame.
    """
    shown = box_values(walkthrough.steps[0].before, walkthrough.source, query)
    values = {box: M.tolist() for box, M in shown.items()}
    frames = [{"title": "Start: random numbers", "computes": [], "uses": [], "sampled": [], "values": values}]
    for step in walkthrough.steps:
        info, number = STEP_INFO[step.name], STEP_NAMES.index(step.name) + 1
        before, shown = shown, box_values(step.after, walkthrough.source, query)
        frames.append(
            {
                "title": f"Iteration {step.iteration}, step {number} of {len(STEP_NAMES)}: {info.title}; "
                f"objective {sum(step.after.terms.values()):,.3f}",
                "computes": info.outputs,
                "uses": info.inputs,
                "sampled": step.after.sample.tolist(),
                "values": {box: M.tolist() for box, M in shown.items() if not np.array_equal(M, before[box])},
            }
        )
    return frames


@dataclass(frozen=True)
class Findings:
    """How well the trained example retrieves: queries with perfect rankings, and number of different bits."""

    queries: int
    perfect: int  # queries whose relevant items all come before the others
    bits: int
    different_bits: int  # bits that are not copies of another bit

    @classmethod
    def of(cls, walkthrough: Walkthrough) -> "Findings":
        """Measure the trained example: rank all items for each item as a query, and compare the bits."""
        end, labels, perfect = walkthrough.steps[-1].after, walkthrough.example.data.labels, 0
        for query in range(len(labels)):
            order, _ = end.rank(walkthrough.source, query)
            relevant = (labels[order] & labels[query]).any(axis=1)
            perfect += bool(relevant[: relevant.sum()].all())
        codes = end.matrices["code", ""]
        return cls(len(labels), perfect, codes.shape[1], len(np.unique(codes, axis=1).T))


@dataclass(frozen=True)
class Exercise:
    """An exercise: a task for the sliders of the diagram, the check of its solution, and the lesson learnt."""

    task: str
    is_solved: Callable[[Walkthrough, Findings], bool]
    lesson: str


EXERCISES = (
    Exercise(
        "Change only α, so that fewer than half of the queries find all their relevant items first.",
        lambda walk, now: (
            walk.method == replace(DEFAULT_METHOD, graph_weight=walk.method.graph_weight)
            and 2 * now.perfect < now.queries
        ),
        "With a low α the labels have little weight: codes follow colours and words, and classes mix.",
    ),
    Exercise(
        "Find an α other than 1 for which every query finds all its relevant items first.",
        lambda walk, now: walk.method.graph_weight != DEFAULT_METHOD.graph_weight and now.perfect == now.queries,
        "Above a certain value, α hardly matters. So tune it on a coarse, logarithmic scale first.",
    ),
    Exercise(
        "Choose more than 4 bits, so that at least two bits are copies of each other.",
        lambda walk, now: now.bits > DEFAULT_METHOD.bits and now.different_bits < now.bits,
        "The graph pulls all bits to the same classes, and only β keeps them apart. More bits may add nothing.",
    ),
    Exercise(
        "Raise μ, so that fewer than half of the queries find all their relevant items first.",
        lambda walk, now: (
            walk.method.projection_weight > DEFAULT_METHOD.projection_weight and 2 * now.perfect < now.queries
        ),
        "With a high μ the codes must be easy to predict from the features, so they follow the labels less.",
    ),
)

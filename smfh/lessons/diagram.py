"""The diagram of the whole method: its boxes, and what they hold after every step of the small example."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from smfh.lessons.notebook import SEARCH_CODE, step_code
from smfh.lessons.walkthrough import STEP_INFO, STEP_NAMES, Snapshot, Step, Walkthrough


@dataclass(frozen=True)
class Box:
    """A box of the diagram: what it is called, what it holds, and how that is computed."""

    title: str
    meaning: str
    equation: str = ""  # LaTeX
    code: str = ""
    step: str = ""  # the step of an iteration that computes it


def _of_step(step: str, meaning: str) -> Box:
    info = STEP_INFO[step]
    return Box(info.title, f"{meaning} {info.explanation}", info.equation, step_code(step), step)


BOXES: Mapping[str, Box] = {
    "labels": Box(
        "The labels",
        "The classes of each item. Training uses them: items that share a class are pulled to the same code. "
        "A search does not need the labels of the query.",
        r"(L_a)_{ik} = 1 \text{ if item } i \text{ has class } k",
    ),
    "features": Box(
        "The features X",
        "Numbers that describe an item: its words, weighted, or the shares of colours in its picture.",
        r"X_t: N \text{ items} \times \text{features}",
    ),
    "basis": _of_step("bases", "How much of each feature each bit stands for."),
    "graph": _of_step("sample", "Which of the sampled items share a class."),
    "relaxed": _of_step("codes", "One number per item and bit, shared by words and pictures."),
    "function": _of_step("functions", "The weight of each feature for each bit."),
    "code": Box(
        "The codes",
        "A bit is on where Y is above its mean over all items. Only these bits are stored.",
        r"[\, y_{ik} > \bar{y}_k \,]",
        SEARCH_CODE["code"],
    ),
    "query": Box(
        "The code of the query",
        "The hash function turns the features of a query into a code. Its labels are not used.",
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


def boxes_of(walkthrough: Walkthrough) -> list[str]:
    """Return the boxes of the diagram as `name:modality`; modality is empty if all modalities share it."""
    keys = walkthrough.steps[0].before.matrices
    drawn = [":".join(key) for key in keys if key[0] in BOXES]
    return [*drawn, "query:", "distances:", "results:"]


def box_values(snapshot: Snapshot, source: str, query: int) -> dict[str, list[Any]]:
    """Return the contents of every box of the diagram: rows of numbers; for results, the ranked items."""
    order, distances = snapshot.rank(source, query)
    values = {":".join(key): M.tolist() for key, M in snapshot.matrices.items() if key[0] in BOXES}
    by_item = distances[np.argsort(order)]
    values["query:"] = [(snapshot.query_code(source, query) * 1.0).tolist()]
    return values | {"distances:": [[own] for own in by_item.tolist()], "results:": order.tolist()}


def diagram_frames(walkthrough: Walkthrough, query: int) -> list[dict[str, Any]]:
    """Return the start and every step of the training: title, sampled items, and the boxes that change.

    The first frame holds all boxes. `computes` and `uses` name the boxes of the step that leads to the frame.
    """
    first = walkthrough.steps[0].before
    values = box_values(first, walkthrough.source, query)
    start = {"title": "Start: random numbers", "computes": [], "uses": [], "sampled": [], "values": values}
    frames = [start]
    for step in walkthrough.steps:
        before, values = values, box_values(step.after, walkthrough.source, query)
        changed = {box: own for box, own in values.items() if own != before[box]}
        frames.append({**_about(step), "sampled": step.after.sample.tolist(), "values": changed})
    return frames


def _about(step: Step) -> dict[str, Any]:
    info, number = STEP_INFO[step.name], STEP_NAMES.index(step.name) + 1
    title = f"Iteration {step.iteration}, step {number} of {len(STEP_NAMES)}: {info.title}"
    objective = f"objective {sum(step.after.terms.values()):,.3f}"
    return {"title": f"{title}; {objective}", "computes": info.outputs, "uses": info.inputs}

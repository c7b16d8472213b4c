"""The matrices of a moment as tables: what each is called, which entry is chosen, what moved."""

import re
from collections.abc import Sequence

from smfh.lessons.iteration import ABOUT, Moment, Place, Walk, matrices_of, moved
from smfh.types import BoolArray, FloatArray
from smfh.ui.gallery import caption_of
from smfh.ui.items import cut
from smfh.ui.learn.matrices import Cells, cells_of
from smfh.ui.learn.walls import addresses_of

SHORT = 16  # characters of a name
TITLES = {
    "features": ("X", "features: what is known of each item"),
    "rebuilt": ("Y Uᵀ", "what codes and bases make of the features: compare it with X"),
    "basis": ("U", "basis: what each bit says of each feature"),
    "function": ("W", "hash function: how each feature votes for each bit"),
    "relaxed": ("Y", "relaxed codes: how much each item is of each bit; all modalities share them"),
    "threshold": ("ȳ", "thresholds: the mean of each bit over all items; above it a bit is on"),
    "code": ("codes", "the bits themselves: 1 where Y is above the threshold"),
    "graph": ("Â", "label graph: classes in common, of the items that were drawn (marked orange)"),
}
PAIR = ("features", "rebuilt")


def read_entry(text: str | None, walked: Walk, moment: Moment) -> tuple[Place, int, int] | None:
    """Matrix, row and column of what a link or a click tells; None for what is not there."""
    told = re.fullmatch(r"(\w+):(.*):(\d{1,3}):(\d{1,3})", text or "")
    if told is None:
        return None
    place, row, column = (told[1], told[2]), int(told[3]), int(told[4])
    matrix = matrices_of(walked.problem, moment.after).get(place)
    is_there = matrix is not None and row < matrix.shape[0] and column < matrix.shape[1]
    return (place, row, column) if is_there else None


def names_of(walked: Walk, place: Place) -> tuple[Sequence[str], Sequence[str]]:
    """What the rows and the columns of a matrix are called."""
    example, (name, modality) = walked.example, place
    items = [cut(caption_of(example.data, row), SHORT) for row in range(len(example.data))]
    bits = [f"bit {k}" for k in range(walked.problem.method.bits)]
    features = example.features.get(modality, ())
    return {
        "features": (items, features),
        "rebuilt": (items, features),
        "basis": (features, bits),
        "function": (features, bits),
        "relaxed": (items, bits),
        "code": (items, bits),
        "threshold": (["mean"], bits),
        "graph": (items, items),
    }[name]


def groups_of(walked: Walk, moment: Moment) -> dict[str, list[Cells]]:
    """Every matrix once: what comes out of the step, what goes in, X beside what rebuilds it, the rest."""
    about, values = ABOUT[moment.step], matrices_of(walked.problem, moment.after)
    lit, pictures = moved(walked.problem, moment), addresses_of(walked.example.data)
    order = [*about.gives, *about.takes, *TITLES]
    groups: dict[str, list[Cells]] = {"Comes out": [], "Goes in": []}
    for place in sorted(values, key=lambda place: order.index(place[0])):
        name, modality = place
        group = "Comes out" if name in about.gives else "Goes in" if name in about.takes else "Stays as it is"
        if name in PAIR:
            group = f"{TITLES[PAIR[0]][0]} ≈ {TITLES[PAIR[1]][0]}, {modality}"
        cells = _cells(walked, moment, place, values[place], lit[place], pictures)
        groups.setdefault(group, []).append(cells)
    for one in groups.values():
        one.sort(key=lambda cells: cells.id.startswith(PAIR[1]))  # X before what rebuilds it
    return groups


def _cells(
    walked: Walk, moment: Moment, place: Place, values: FloatArray, lit: BoolArray, pictures: Sequence[str]
) -> Cells:
    name, modality = place
    rows, columns = names_of(walked, place)
    (letter, meaning), of_items = TITLES[name], name not in ("basis", "function", "threshold")
    return cells_of(
        f"{name}:{modality}",
        f"{letter} {modality}".strip(),
        meaning,
        rows,
        columns,
        values,
        lit,
        pictures if of_items else (),
        pictures if name == "graph" else (),
        [row in moment.after.rows for row in range(len(rows))] if name == "graph" else (),
        digits=0 if name in ("code", "graph") else 2,
    )

"""Which matrix of a file is what: the layouts in which this field hands out its features.

    I_tr, I_te, T_tr, T_te, L_tr, L_te       the split is given; XTrain, YTest and LTrain are the same
    IAll, TAll, LAll                         no split is given
    image, text, labels                      names of one's own; no split is given

Names are matched without case. What has the parts of a layout but is neither pictures nor texts nor labels,
as V_tr and V_te, is a further modality.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from smfh.files import Variable
from smfh.types import InputError, collect_problems

PART = re.compile(r"(?P<stem>.*?[^_])_?(?P<part>tr|train|te|test|query|all)", re.IGNORECASE)
TRAIN, QUERIES, ALL = "training items", "queries", "all items"
PARTS = {"tr": TRAIN, "train": TRAIN, "te": QUERIES, "test": QUERIES, "query": QUERIES, "all": ALL}
MODALITIES = {"i": "image", "x": "image", "img": "image", "t": "text", "y": "text", "txt": "text"}
LABELS = ("labels", "label", "l")
ROLES = ("class_names", "captions")


class Layout(NamedTuple):
    """What a file holds; rows of training items stand above those of queries where it keeps them apart."""

    modalities: Mapping[str, Variable]
    labels: Variable | None
    class_names: Variable | None
    captions: Variable | None
    training_items: int | None  # the first rows; None where no split is given
    left_out: str  # names and shapes of what has no place in it


def read_layout(variables: Mapping[str, Variable]) -> Layout:
    """The variables by what they are; parts that do not fit together are refused."""
    known = {name.casefold(): name for name in variables}
    groups: dict[str, dict[str, str]] = {}  # stem → part → variable
    for name in variables:
        if match := PART.fullmatch(name):
            groups.setdefault(match["stem"].casefold(), {})[PARTS[match["part"].casefold()]] = name
    labelled = next((groups[stem] for stem in LABELS if stem in groups), {})
    parts = next((parts for parts in ((TRAIN, QUERIES), (ALL,)) if labelled.keys() >= set(parts)), None)
    if parts is None:
        whole = {key: [name] for key, name in known.items() if key not in ROLES}
    else:
        whole = {s: [group[p] for p in parts] for s, group in groups.items() if group.keys() >= set(parts)}
    labels = next((whole.pop(stem) for stem in LABELS if stem in whole), [])
    modalities: dict[str, list[str]] = {}
    for stem, names in whole.items():
        if any(variables[name].dtype.kind == "U" for name in names):
            continue
        usual = MODALITIES.get(stem) if parts else names[0]
        modalities[usual if usual and usual not in modalities else stem] = names
    given, *pieces = collect_problems(
        *(partial(equally_wide, variables, names) for names in (labels, *modalities.values()))
    )
    roles = [known.get(role, "") for role in ROLES]
    used = {*labels, *roles, *(name for names in modalities.values() for name in names)}
    return Layout(
        {name: stack_rows(own) for name, own in zip(modalities, pieces, strict=True)},
        stack_rows(given) if labels else None,
        variables.get(roles[0]),
        variables.get(roles[1]),
        given[0].shape[0] if parts == (TRAIN, QUERIES) else None,
        in_words({name: X for name, X in variables.items() if name not in used}),
    )


def in_words(variables: Mapping[str, Variable]) -> str:
    """Such as I_tr (2,173 × 128), L_tr (2,173 × 1)."""
    return ", ".join(f"{name} ({' × '.join(f'{n:,}' for n in X.shape)})" for name, X in variables.items())


def equally_wide(variables: Mapping[str, Variable], names: Sequence[str]) -> list[Variable]:
    """The parts of a matrix, vectors as columns whichever way they lie; refused where they do not fit."""
    pieces = [variables[name] for name in names]
    if len({piece.shape[1:] for piece in pieces}) > 1:
        pieces = [X.reshape((-1, 1)) if 1 in X.shape or X.ndim == 1 else X for X in pieces]
    if len({(piece.shape[1:], piece.dtype.kind == "U") for piece in pieces}) > 1:
        came = in_words({name: variables[name] for name in names})
        raise InputError(f"{' and '.join(names)} must be equally wide and of one kind; got {came}.")
    return pieces


def stack_rows(pieces: Sequence[Variable]) -> Variable:
    """The rows of all parts, one above the other; a single part as it is."""
    if len(pieces) == 1:
        return pieces[0]
    if any(sparse.issparse(piece) for piece in pieces):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(piece) for piece in pieces]))
    return np.concatenate([np.asarray(piece) for piece in pieces])

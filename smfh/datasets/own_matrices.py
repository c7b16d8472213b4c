"""One's own features: matrices and labels from .npz, .mat or .csv."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.datasets.layouts import Layout, in_words, read_layout
from smfh.datasets.own_rows import CAPTION, LABELS, Parsed, find_column, split_cells, split_labels
from smfh.files import Content, MatContents, Table, Variable, read_mat, read_npz, read_table
from smfh.files.arrays import MAX_ARRAY_BYTES
from smfh.files.mat import MAX_MAT_BYTES
from smfh.types import InputError, Matrix

MAX_DIMENSIONS = 1_000_000
MAX_LABELS = 1 << 27


def parse_matrices(content: Content, name: str, max_bytes: int = MAX_ARRAY_BYTES) -> Parsed:
    """Feature matrices with labels from .npz, .mat or .csv.

    The first two may unpack to `max_bytes` in all; a table takes no more than twice its text.
    """
    suffix = Path(name).suffix.lower()
    if suffix == ".csv":
        return _parse_feature_table(read_table(content, name))
    if suffix == ".npz":
        file = MatContents(read_npz(content, name=name, max_bytes=max_bytes), ())
    else:
        file = read_mat(content, name=name, max_bytes=min(max_bytes, MAX_MAT_BYTES))
    layout = read_layout(file.variables)
    problems: list[str] = []
    matrices: dict[str, Matrix] = {}
    for key, value in layout.modalities.items():
        if value.ndim != 2 or value.dtype.kind not in "fiub" or not 0 < value.shape[1] <= MAX_DIMENSIONS:
            problems.append(
                f"{key} in {name} must be a matrix of numbers, a row for each item, of at most "
                f"{MAX_DIMENSIONS:,} columns; got {value.dtype} of shape {value.shape}."
            )
        else:
            matrices[key], wrong = to_float32(value, f"{key} in {name}")
            problems += wrong
    has = ", ".join(filter(None, (in_words(file.variables), *file.left_out))) or "nothing"
    labels: list[tuple[str, ...]] = []
    if layout.labels is None:
        problems.append(
            f"{name} lacks labels: a class for each row, or a matrix of 0 and 1, named labels, or L_tr and "
            f"L_te, LTrain and LTest, or LAll; it has {has}."
        )
    else:
        labels, wrong = read_labels(layout, name)
        problems += wrong
        problems += [f"Row {row} of {name} has no label." for row, own in enumerate(labels, 1) if not own]
    captions = {} if layout.captions is None else {"captions": to_words(layout.captions)}
    left_out = ", ".join(filter(None, (layout.left_out, *file.left_out)))
    return Parsed(
        labels,
        captions,
        (),
        matrices,
        list(layout.modalities),
        problems,
        notes=[f"Not used: {left_out}."] if left_out else [],
        training_items=layout.training_items,
    )


def to_float32(X: Variable, name: str) -> tuple[Matrix, list[str]]:
    """The matrix as float32, and the rows that have something else than finite numbers."""
    with np.errstate(over="ignore"):
        converted = X.astype(np.float32)
    if isinstance(converted, sparse.csr_array):
        infinite = np.flatnonzero(~np.isfinite(converted.data))
        bad = np.unique(np.searchsorted(converted.indptr, infinite, side="right")) - 1
    else:
        bad = np.flatnonzero(~np.isfinite(converted).all(axis=1))
    return converted, [f"Row {row + 1} of {name} has NaN or infinite values." for row in bad]


def dense(X: Variable) -> NDArray[Any]:
    """A sparse matrix written out, unless its shape alone would fill the memory."""
    if not isinstance(X, sparse.csr_array):
        return X
    if X.shape[0] * X.shape[1] > MAX_LABELS:
        raise InputError(f"A sparse matrix of labels of shape {X.shape} is too large.")
    return X.toarray()


def to_words(values: Variable) -> list[str]:
    """Each value as a word, read row by row: 3.0, as MATLAB stores whole numbers, is 3, and NaN is none."""
    return [_to_word(value) for value in dense(values).ravel()]


def _to_word(value: Any) -> str:
    if not isinstance(value, np.floating):
        return str(value)
    if value.is_integer():
        return f"{value + 0.0:.0f}"  # −0 is 0
    return str(value) if np.isfinite(value) else ""


def _parse_feature_table(table: Table) -> Parsed:
    """Columns `modality:dimension`, of labels, and if wanted of captions."""
    groups: dict[str, list[str]] = {}
    for column in table.header:
        if ":" in column:
            groups.setdefault(column.split(":", 1)[0].strip(), []).append(column)
    labelled, spoken = find_column(table, LABELS), find_column(table, CAPTION)
    if not labelled or not groups:
        raise InputError(
            f"{table.name} must have the column labels, and columns of numbers named modality:dimension, "
            f"as image:1, image:2, text:1; it has {', '.join(table.header[:10])}."
        )
    problems = table.problems()
    matrices: dict[str, Matrix] = {}
    for modality, columns in groups.items():
        try:
            matrices[modality] = table.numbers(columns)
        except InputError as error:
            problems += error.problems
    labels, separator = split_cells(table.column(labelled))
    for (number, _), given in zip(table.rows(), labels, strict=True):
        if not given:
            problems.append(
                f"Row {number} of {table.name} has no label; write one or more, separated by {separator}."
            )
    captions = {"captions": table.column(spoken)} if spoken else {}
    return Parsed(labels, captions, (), matrices, list(groups), problems)


def read_labels(layout: Layout, name: str) -> tuple[list[tuple[str, ...]], list[str]]:
    """From a 0/1 (or −1/1) matrix with a column for each class, or from a class for each row."""
    if layout.labels is None:
        return [], []
    given = dense(layout.labels)
    if given.ndim == 2 and min(given.shape) > 1:
        if given.dtype.kind not in "fiub" or not np.isin(given, (-1, 0, 1)).all():
            return [], [f"labels in {name} is a matrix, so it may hold only 0 and 1."]
        names = to_words(
            np.arange(1, given.shape[1] + 1) if layout.class_names is None else layout.class_names
        )
        if len(names) != given.shape[1]:
            return [], [f"{len(names)} class_names for {given.shape[1]} columns of labels in {name}."]
        return [tuple(names[k] for k in np.flatnonzero(row > 0)) for row in given], []
    return [split_labels(word) for word in to_words(given)], []

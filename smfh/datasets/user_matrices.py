"""Feature matrices and labels from .npz, .npy, .mat and tables, in one file or one for each modality.

The roles of variables are guessed from their names. These layouts are common in cross-modal hashing:

    I_tr, I_te, T_tr, T_te, L_tr, L_te       with a split; or XTrain, XTest, YTrain, YTest, LTrain, LTest
    IAll, TAll, LAll                         without a split
    image, text, labels                      any names, without a split

Names are compared without case. Further variables with the same endings, such as V_tr and V_te, are further
modalities. The columns image_0, image_1, … of a table, or lists in one column, are the matrix image.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from smfh.datasets.user_rows import (
    CAPTION,
    LABELS,
    SPLIT,
    Skipped,
    UploadedRows,
    find_column,
    label_text,
    part_of,
    split_cells,
)
from smfh.files import ARCHIVES, TABLE_SUFFIXES, Listing, Table, Variable, read_mat, read_npy, read_npz, read_table
from smfh.files.limits import MAX_ARRAY_BYTES, MAX_LABEL_CELLS, MAX_LABELS, MAX_MODALITIES, MAX_ROWS, check_modalities
from smfh.types import InputError, Matrix, collect_problems

ARRAY_SUFFIXES = (".npz", ".npy", ".mat")
PART = re.compile(r"(?P<stem>.*?[^_])_?(?P<part>tr|train|te|test|query|all)", re.IGNORECASE)
PARTS = {"tr": "train", "train": "train", "te": "test", "test": "test", "query": "test", "all": "all"}
MODALITIES = {"i": "image", "x": "image", "img": "image", "t": "text", "y": "text", "txt": "text"}
LABEL_STEMS = ("labels", "label", "l")
CLASS_STEMS = ("y", "target", "targets", "class", "classes", "category")  # labels if they are vectors
NUMBERED = re.compile(r"(?P<stem>.*?)[\s_.:-]*\d+")  # image_0, image0, text.12
VECTOR = re.compile(r"\[\s*(np\.float\d+\()?[-+.\d]")  # a list of numbers as text
INDEX_COLUMNS = ("", "id", "index", "unnamed: 0", "row")


class Layout(NamedTuple):
    """The variables of a file by role; in each matrix, rows of training items precede those of queries."""

    modalities: Mapping[str, Variable]  # by name
    labels: Variable | None
    class_names: Variable | None
    captions: Variable | None
    training_items: int | None  # number of training rows, which come first; None if there is no split
    ignored: str  # names and shapes of the other variables


class Variables(NamedTuple):
    """The variables of one or more files."""

    arrays: dict[str, Variable]
    ignored: list[str]
    problems: dict[int, str]  # by row of a table
    parts: list[str]  # train or test for each row of a table, or empty


def parse_matrices(files: Listing, max_bytes: int = MAX_ARRAY_BYTES) -> UploadedRows:
    """Read feature matrices with labels; `max_bytes` limits their total size."""
    found = _read_variables(files, max_bytes)
    name = files.name
    layout = read_layout(found.arrays)
    problems: list[str] = []
    matrices: dict[str, Matrix] = {}
    bad_rows = dict(found.problems)
    check_modalities(name, len(layout.modalities))
    for key, value in layout.modalities.items():
        if value.ndim != 2 or value.dtype.kind not in "fiub" or not value.shape[1]:
            problems.append(
                f"{key} in {name} must be a matrix of numbers with one row for each item; "
                f"got {value.dtype} of shape {value.shape}."
            )
            continue
        with np.errstate(over="ignore"):
            X = matrices[key] = value.astype(np.float32)
        if isinstance(X, sparse.csr_array):
            infinite = np.flatnonzero(~np.isfinite(X.data))
            bad = np.unique(np.searchsorted(X.indptr, infinite, side="right")) - 1
        else:
            bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
        for row in bad.tolist():
            bad_rows.setdefault(row, f"{key} has NaN or infinite values")
    labels: list[tuple[str, ...]] | None = None
    if layout.labels is not None:
        try:
            labels = _read_labels(layout, name)
        except InputError as error:
            problems += error.problems
    captions = {} if layout.captions is None else {"captions": _to_strings(layout.captions)}
    counts = {key: X.shape[0] for key, X in matrices.items()} | {key: len(t) for key, t in captions.items()}
    counts |= {} if labels is None else {"labels": len(labels)}
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{key} has {count:,}" for key, count in counts.items())
        problems.append(f"All parts of {name} must have the same number of rows: {sizes}.")
    ignored = ", ".join(filter(None, (layout.ignored, *found.ignored)))
    notes = [f"Not used: {ignored}."] if ignored else []
    if problems:
        return UploadedRows(labels, captions, matrices=matrices, problems=problems, notes=notes)
    for row, own in enumerate(labels or ()):
        if not own:
            bad_rows.setdefault(row, "has no label")
    items, parts = next(iter(counts.values()), 0), found.parts
    if layout.training_items is not None:
        parts = ["train"] * layout.training_items + ["test"] * (items - layout.training_items)
    used = np.setdiff1d(np.arange(items), list(bad_rows))
    return UploadedRows(
        labels=labels and [labels[row] for row in used],
        captions={key: [texts[row] for row in used] for key, texts in captions.items()},
        matrices={key: X[used] if bad_rows else X for key, X in matrices.items()},
        parts=[parts[row] for row in used] if parts else [],
        skipped=[
            Skipped(f"Row {row + 1} of {name}", "damaged row", reason) for row, reason in sorted(bad_rows.items())
        ],
        notes=notes,
    )


def _read_variables(files: Listing, max_bytes: int) -> Variables:
    """Read the variables of all files; the array in a .npy file is named after the file."""
    found = Variables({}, [], {}, [])
    known = files.ending(*ARRAY_SUFFIXES, *TABLE_SUFFIXES)
    if not known:
        names = ", ".join(list(files.sizes)[:5]) or "nothing"
        packed = [name for name in files.sizes if name.lower().endswith(ARCHIVES)]
        remedy = f" Unpack {packed[0]} first." if packed else ""
        raise InputError(f"{files.name} has neither pictures nor matrices that can be read; it has {names}.{remedy}")
    found.ignored.extend([name for name in files.sizes if name not in known][:MAX_MODALITIES])
    if len(known) > 2 * MAX_MODALITIES:
        raise InputError(
            f"{files.name} contains {len(known):,} matrix files; at most {2 * MAX_MODALITIES} can be read."
        )
    left = max_bytes
    for name in known:
        path = PurePosixPath(name)
        suffix, stem = path.suffix.lower(), path.stem
        if suffix == ".npz":
            arrays: dict[str, Variable] = dict(read_npz(files.get(name), name=name, max_bytes=left, is_data=True))
            arrays = {stem: next(iter(arrays.values()))} if len(arrays) == 1 and len(known) > 1 else arrays
        elif suffix == ".npy":
            arrays = {stem: read_npy(files.get(name), name, left)}
        elif suffix == ".mat":
            contents = read_mat(files.get(name), name, left)
            arrays = dict(contents.variables)
            found.ignored.extend(contents.ignored)
        else:
            arrays = _read_feature_table(read_table(files.get(name), name), stem, len(known) > 1, found)
        left -= sum((X.data if sparse.issparse(X) else X).nbytes for X in arrays.values())
        found.arrays.update(arrays)
    return found


def _read_feature_table(table: Table, stem: str, is_one_of_several: bool, found: Variables) -> dict[str, Variable]:
    """Return the matrices, labels and captions of a table; add the problems of its rows to `found`."""
    named = {heading.split(":", 1)[0].strip() for heading in table.header if ":" in heading}
    check_modalities(table.name, len(named) - 1)  # one may be the labels
    probe = next((cells for _, cells, _ in table.rows(table.header)), [""] * len(table.header))
    vectors = [h for h, cell in zip(table.header, probe, strict=True) if _is_vector(cell)]
    label = find_column(table.header, LABELS)
    caption = find_column([heading for heading in table.header if heading not in vectors], CAPTION)
    split = find_column(table.header, SPLIT)
    groups: dict[str, list[str]] = {}
    others = []
    for heading, cell in zip(table.header, probe, strict=True):
        numbered = NUMBERED.fullmatch(heading)
        if ":" in heading:
            groups.setdefault(heading.split(":", 1)[0].strip(), []).append(heading)
        elif heading in vectors and heading != label:
            groups[heading] = [heading]
        elif numbered and not isinstance(cell, dict | bytes):
            groups.setdefault(numbered["stem"] or stem, []).append(heading)
        elif heading not in (label, caption, split) and heading.casefold() not in INDEX_COLUMNS:
            others.append(heading)
    multi_hot = next((name for name in groups if name.casefold() in LABEL_STEMS and not label), "")
    check_modalities(table.name, len(groups) - bool(multi_hot))
    if is_one_of_several and len(groups) == 1 and not multi_hot:
        groups = {stem: next(iter(groups.values()))}
    if not groups and not label and not caption:
        raise InputError(
            f"{table.name} needs columns of numbers such as image_0, image_1, text_0, and a column "
            f"named label; it has {', '.join(table.header[:10])}."
        )
    contents = table.read([heading for heading in (label, caption, split) if heading], groups)
    found.problems.update({row: reason for row, reason in contents.problems.items() if row not in found.problems})
    found.ignored.extend(others[:MAX_MODALITIES])
    variables: dict[str, Variable] = dict(contents.matrices)
    if multi_hot:
        variables["labels"] = variables.pop(multi_hot)
        headings = [re.split(r"[:_]", heading, maxsplit=1)[-1] for heading in groups[multi_hot]]
        variables["class_names"] = np.array(headings)
    if label and label in contents.cells:
        cells = contents.cells[label]
        is_hot = all(isinstance(cell, np.ndarray) for cell in cells) and len({len(cell) for cell in cells}) == 1
        if is_hot and cells and len(cells[0]) > 1:
            variables["labels"] = np.array(cells)
        else:
            names, _ = split_cells(cells)
            variables["labels"] = _object_column(["|".join(row) for row in names])
    if caption:
        cells = contents.cells[caption]
        variables["captions"] = _object_column(
            ["\n".join(map(str, c)) if isinstance(c, list) else str(c) for c in cells]
        )
    if split:
        found.parts[:] = [part_of(str(cell)) for cell in contents.cells[split]]
    return variables


def _is_vector(cell: Any) -> bool:
    """Whether a cell is a list of numbers, or the text of such a list."""
    if isinstance(cell, str):
        return VECTOR.match(cell) is not None
    return isinstance(cell, list | np.ndarray) and len(cell) > 0 and not isinstance(cell[0], str | dict)


def _object_column(texts: list[str]) -> NDArray[Any]:
    """Return strings as an array in which each string takes only as much memory as it needs."""
    column = np.empty(len(texts), dtype=np.dtypes.StringDType())
    column[:] = texts
    return column


def _read_labels(layout: Layout, name: str) -> list[tuple[str, ...]]:
    """Return the labels of each row.

    They are given as a vector of classes, or as a 0/1 (or −1/1) matrix with one column for each class.
    """
    labels = _to_dense(layout.labels)
    if labels.ndim != 2 or min(labels.shape) <= 1:
        return split_cells(_to_strings(labels), "|")[0]
    if labels.size > MAX_LABEL_CELLS:
        raise InputError(f"The matrix labels in {name}, of shape {labels.shape}, is too large.")
    if labels.dtype.kind not in "fiub" or not ((labels == 0) | (labels == 1) | (labels == -1)).all():
        raise InputError(f"labels in {name} is a matrix, so it may contain only 0 and 1.")
    columns = labels.shape[1]
    names = _to_strings(np.arange(1, columns + 1) if layout.class_names is None else layout.class_names)
    if len(names) != columns:
        raise InputError(f"{name} has {len(names)} class_names for {columns} columns of labels.")
    is_own = labels > 0
    if (count := np.count_nonzero(is_own)) > MAX_LABELS:
        raise InputError(f"The items in {name} have {count:,} labels in total; the limit is {MAX_LABELS:,}.")
    return [tuple(names[k] for k in np.flatnonzero(own)) for own in is_own]


def _to_dense(X: Variable | None) -> NDArray[Any]:
    if not isinstance(X, sparse.csr_array):
        return np.asarray(X)
    if X.shape[0] * X.shape[1] > MAX_LABEL_CELLS:
        raise InputError(f"A sparse matrix of labels of shape {X.shape} is too large.")
    return X.toarray()


def _to_strings(values: Variable) -> list[str]:
    """Return each value as a string, row by row; 3.0 becomes "3", and NaN and infinity become ""."""
    dense = _to_dense(values)
    if dense.size > MAX_ROWS:
        raise InputError(f"There are {dense.size:,} labels or captions; the limit is {MAX_ROWS:,}.")
    return [label_text(value) for value in dense.ravel()]


def read_layout(variables: Mapping[str, Variable]) -> Layout:
    """Assign a role to each variable of a file; raise InputError if training and test parts do not fit."""
    known = {name.casefold(): name for name in variables}
    groups: dict[str, dict[str, str]] = {}  # stem → part → variable
    for name in variables:
        if match := PART.fullmatch(name):
            groups.setdefault(match["stem"].casefold(), {})[PARTS[match["part"].casefold()]] = name
    labelled = next((groups[stem] for stem in LABEL_STEMS if stem in groups), {})
    parts = next((parts for parts in (("train", "test"), ("all",)) if labelled.keys() >= set(parts)), None)
    roles = [known.get(role, "") for role in ("class_names", "captions")]
    if parts is None:
        matrices = {key: [name] for key, name in known.items() if name not in roles}
    else:
        matrices = {s: [group[p] for p in parts] for s, group in groups.items() if group.keys() >= set(parts)}
    vectors = {
        stem for stem, names in matrices.items() if all(max(variables[n].shape) == variables[n].size for n in names)
    }
    stems = [*LABEL_STEMS, *(stem for stem in CLASS_STEMS if stem in vectors)]
    labels = next((matrices.pop(stem) for stem in stems if stem in matrices), [])
    modalities: dict[str, list[str]] = {}
    for stem, names in matrices.items():
        if all(variables[name].dtype.kind not in "UT" for name in names):
            usual = MODALITIES.get(stem) if parts else names[0]
            modalities[usual if usual and usual not in modalities else stem] = names
    label_pieces, *pieces = collect_problems(
        *(partial(_pieces, variables, names) for names in (labels, *modalities.values()))
    )
    used = {*labels, *roles, *(name for names in modalities.values() for name in names)}
    return Layout(
        {name: _stack(rows) for name, rows in zip(modalities, pieces, strict=True)},
        _stack(label_pieces) if labels else None,
        variables.get(roles[0]),
        variables.get(roles[1]),
        label_pieces[0].shape[0] if parts == ("train", "test") else None,
        describe({name: X for name, X in variables.items() if name not in used}),
    )


def describe(variables: Mapping[str, Variable]) -> str:
    """List names and shapes of variables in the form `I_tr (2,173 × 128), L_tr (2,173 × 1)`."""
    return ", ".join(f"{name} ({' × '.join(f'{n:,}' for n in X.shape)})" for name, X in variables.items())


def _pieces(variables: Mapping[str, Variable], names: Sequence[str]) -> list[Variable]:
    """Return the parts of a matrix, with vectors as columns; raise InputError if widths or kinds differ."""
    pieces = [variables[name] for name in names]
    if len({piece.shape[1:] for piece in pieces}) > 1:
        pieces = [X.reshape((-1, 1)) if 1 in X.shape or X.ndim == 1 else X for X in pieces]
    if len({(piece.shape[1:], piece.dtype.kind in "UT") for piece in pieces}) > 1:
        got = describe({name: variables[name] for name in names})
        raise InputError(
            f"{' and '.join(names)} must have the same number of columns, and all be numbers or words; got {got}."
        )
    return pieces


def _stack(pieces: Sequence[Variable]) -> Variable:
    if len(pieces) == 1:
        return pieces[0]
    if any(sparse.issparse(piece) for piece in pieces):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(piece) for piece in pieces]))
    return np.concatenate([np.asarray(piece) for piece in pieces])

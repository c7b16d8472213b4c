"""Splits into training rows and queries: official, random, or from a file."""

from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path

import numpy as np
from scipy import sparse

from smfh.datasets.user_matrices import Layout, describe, read_layout
from smfh.features.maps import FeatureMap
from smfh.files import Variable, read_mat, read_npz, read_table
from smfh.types import FloatArray, InputError, MultimodalDataset, Split, unknown

SPLITS = ("default", "official", "random")
SPLIT_FORMATS = (".npz", ".mat", ".csv", ".txt")
TRAIN = ("train", "tr", "training", "sampleinds", "train_rows")
QUERIES = ("test", "te", "queries", "query", "queryinds", "test_rows")
MAX_SPLIT_BYTES = 1 << 28
MAX_MATCHED_ROWS = 20_000  # since each row of the file is compared with every row of the data
ROUNDING = 1e-4  # the product of two equal unit rows may differ from 1 by this much


def resolve_split(
    split: str | Split, seed: int, items: int, official: Split | None = None, train_share: float = 0.75
) -> Split:
    """Return the requested split; "default" is the official split if it exists, else a random one."""
    if isinstance(split, Split):
        return split.check(items)
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if split == "official" and official is None:
        raise InputError("This data set has no official split; use 'random' or a file of row numbers.")
    return official if split != "random" and official is not None else random_split(items, train_share, seed)


def random_split(items: int, train_share: float, seed: int) -> Split:
    """Return a random split: a share of the rows are training rows, all others are queries."""
    order = np.random.default_rng(seed).permutation(items)
    cut = round(items * train_share)
    return Split(train=np.sort(order[:cut]), queries=np.sort(order[cut:]))


def carve_validation(split: Split, share: float, seed: int) -> Split:
    """Return a split with a random share of the training rows moved to validation."""
    order = np.random.default_rng(seed).permutation(split.train)
    cut = round(len(order) * share)
    return Split(train=np.sort(order[cut:]), queries=split.queries, validation=np.sort(order[:cut]))


def validation_as_queries(split: Split) -> Split:
    """Return a split for tuning: validation rows serve as queries, the real queries are left out."""
    return Split(train=split.train, queries=split.validation)


def read_split(path: Path, load: Callable[[], MultimodalDataset]) -> Split:
    """Read a split from a file; `load` is called if the file's rows must be found in the data.

    .npz and .mat files contain arrays `train` and `test` of row numbers, which count from 0 in .npz and from
    1 in .mat. A table (.csv, .txt) has the columns `row`, which counts from 0, and `part`, which is train or
    test. If a .mat file contains the features I_tr, I_te, T_tr, T_te and the labels L_tr, L_te instead, the
    rows of the data with the same features are found.
    """
    suffix = path.suffix.lower()
    if suffix in (".csv", ".txt"):
        table = read_table(path)
        headings = {heading.casefold(): heading for heading in table.header}
        if not {"row", "part"} <= headings.keys():
            has = ", ".join(table.header)
            raise InputError(f"{path.name} must have the columns row and part; it has {has}.")
        contents = table.read([headings["part"]], {"rows": [headings["row"]]})
        if contents.problems:
            index, reason = next(iter(contents.problems.items()))
            raise InputError(f"Row {contents.numbers[index]} of {path.name}: {reason}.")
        rows = contents.matrices["rows"].ravel()
        parts = np.array([cell.casefold() for cell in contents.cells[headings["part"]]])
        if invalid := sorted(set(parts.tolist()) - {*TRAIN, *QUERIES}):
            got = ", ".join(map(repr, invalid[:5]))
            raise InputError(f"In {path.name}, every value of the column “part” must be train or test; got {got}.")
        numbers = {"train": rows[np.isin(parts, TRAIN)], "test": rows[np.isin(parts, QUERIES)]}
        return _from_row_numbers(path, numbers, first=0)
    if suffix != ".mat":
        return _from_row_numbers(path, read_npz(path, max_bytes=MAX_SPLIT_BYTES, is_data=True), first=0)
    variables = read_mat(path).variables
    layout = read_layout(variables)
    if layout.training_items is not None:
        return _match_rows(path.name, layout, load())
    return _from_row_numbers(path, variables, first=1)


def _from_row_numbers(path: Path, variables: Mapping[str, Variable], first: int) -> Split:
    known = {name.casefold(): name for name in variables}
    parts = []
    for names in (TRAIN, QUERIES):
        name = next((known[name] for name in names if name in known), None)
        if name is None:
            raise InputError(f"{path.name} lacks {names[0]}; it has {describe(variables) or 'nothing'}.")
        rows = np.asarray(variables[name]).ravel()
        if rows.dtype.kind not in "fiu" or not np.all(rows == np.floor(rows)):
            raise InputError(f"{name} in {path.name} must be whole numbers; got {rows.dtype}.")
        parts.append(rows.astype(np.int64) - first)
    return Split(*parts)


def _match_rows(name: str, layout: Layout, data: MultimodalDataset) -> Split:
    """Return the row of the data that equals each row of a split file, found by cosine similarity."""
    widths = {t: X.shape[1] for t, X in data.modalities.items()}
    shared = [t for t, X in layout.modalities.items() if X.ndim == 2 and widths.get(t) == X.shape[1]]
    items = 0 if layout.labels is None else layout.labels.shape[0]
    if not shared or not 0 < items <= len(data) <= MAX_MATCHED_ROWS:
        raise InputError(
            f"{name} has {describe(layout.modalities)}; {data.name} has {describe(data.modalities)}. To "
            f"match rows, both need a modality with the same number of columns, and at most {MAX_MATCHED_ROWS:,} rows. "
            "Use row numbers instead."
        )
    products = (_unit_rows(layout.modalities[t]) @ _unit_rows(data.modalities[t]).T for t in shared)
    similarity: FloatArray = reduce(np.add, products)
    found = np.empty(items, dtype=np.int64)
    for row in range(items):
        found[row] = similarity[row].argmax()
        if similarity[row, found[row]] < len(shared) - ROUNDING:
            raise InputError(f"Row {row + 1} of {name} is not in {data.name}, or occurs twice.")
        similarity[:, found[row]] = -1
    return Split(found[: layout.training_items], found[layout.training_items :])


def _unit_rows(X: Variable) -> FloatArray:
    """Scale the rows of a matrix to length 1, x/‖x‖; return a dense array."""
    dense = np.asarray(X.toarray() if isinstance(X, sparse.csr_array) else X, dtype=np.float32)
    return np.asarray(FeatureMap(unit_rows=True).scale(dense))

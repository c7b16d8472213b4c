"""A split from a file: row numbers, or the rows themselves as its authors share them."""

from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path

import numpy as np
from scipy import sparse

from smfh.datasets.layouts import Layout, in_words, read_layout
from smfh.features.maps import FeatureMap
from smfh.files import Variable, read_mat, read_npz, read_table
from smfh.types import FloatArray, InputError, MultimodalDataset, Split

SPLIT_FORMATS = (".npz", ".mat", ".csv", ".txt")
TRAIN = ("train", "tr", "training", "sampleinds", "train_rows")
QUERIES = ("test", "te", "queries", "query", "queryinds", "test_rows")
MAX_SPLIT_BYTES = 1 << 28
MOST_MATCHED = 20_000  # rows: every one is compared with every other
ALIKE = 1e-4  # that the product of the same two rows may miss, for rounding


def read_split(path: Path, load: Callable[[], MultimodalDataset]) -> Split:
    """The split in a file; `load` gives the data whose rows it is about, if they have to be looked for.

    Row numbers are `train` and `test`: counted from 0 in .npz, from 1 in .mat, as there is usual; or a table
    (.csv, .txt) with the columns `row`, counted from 0, and `part`, which is train or test. A .mat file with
    I_tr, I_te, T_tr, T_te, L_tr, L_te is matched row by row, whatever length its rows were scaled to.
    """
    suffix = path.suffix.lower()
    if suffix in (".csv", ".txt"):
        return _from_table(path)
    if suffix != ".mat":
        return _from_numbers(path, read_npz(path, max_bytes=MAX_SPLIT_BYTES), first=0)
    variables = read_mat(path).variables
    layout = read_layout(variables)
    if layout.training_items is not None:
        return match_rows(path.name, layout, load())
    return _from_numbers(path, variables, first=1)


def _from_numbers(path: Path, variables: Mapping[str, Variable], first: int) -> Split:
    known = {name.casefold(): name for name in variables}
    parts = []
    for wanted in (TRAIN, QUERIES):
        name = next((known[name] for name in wanted if name in known), None)
        if name is None:
            raise InputError(f"{path.name} lacks {wanted[0]}; it has {in_words(variables) or 'nothing'}.")
        rows = np.asarray(variables[name]).ravel()
        if rows.dtype.kind not in "fiu" or not np.all(rows == np.floor(rows)):
            raise InputError(f"{name} in {path.name} must be whole numbers; got {rows.dtype}.")
        parts.append(rows.astype(np.int64) - first)
    return Split(*parts)


def _from_table(path: Path) -> Split:
    table = read_table(path)
    headings = {heading.casefold(): heading for heading in table.header}
    if not {"row", "part"} <= headings.keys():
        raise InputError(f"{path.name} must have the columns row and part; it has {', '.join(table.header)}.")
    rows = table.numbers([headings["row"]]).ravel()
    parts = np.array([cell.casefold() for cell in table.column(headings["part"])])
    if strange := sorted(set(parts.tolist()) - {*TRAIN, *QUERIES}):
        raise InputError(f"A part in {path.name} is train or test; got {', '.join(map(repr, strange[:5]))}.")
    numbers = {"train": rows[np.isin(parts, TRAIN)], "test": rows[np.isin(parts, QUERIES)]}
    return _from_numbers(path, numbers, first=0)


def match_rows(name: str, layout: Layout, data: MultimodalDataset) -> Split:
    """The rows of the data that a file has, each the nearest over all modalities, every row once."""
    widths = {t: X.shape[1] for t, X in data.modalities.items()}
    shared = [t for t, X in layout.modalities.items() if X.ndim == 2 and widths.get(t) == X.shape[1]]
    items = 0 if layout.labels is None else layout.labels.shape[0]
    if not shared or not 0 < items <= len(data) <= MOST_MATCHED:
        came, there = in_words(layout.modalities), in_words(data.modalities)
        raise InputError(
            f"{name} has {came}; {data.name} has {there}. To be matched they must share a modality of the "
            f"same width and have at most {MOST_MATCHED:,} rows; else give row numbers."
        )
    products = (unit_rows(layout.modalities[t]) @ unit_rows(data.modalities[t]).T for t in shared)
    alike: FloatArray = reduce(np.add, products)
    found = np.empty(items, dtype=np.int64)
    for row in range(items):
        found[row] = alike[row].argmax()
        if alike[row, found[row]] < len(shared) - ALIKE:
            raise InputError(f"Row {row + 1} of {name} is not a row of {data.name}, or is there twice.")
        alike[:, found[row]] = -1
    return Split(found[: layout.training_items], found[layout.training_items :])


def unit_rows(X: Variable) -> FloatArray:
    """x/‖x‖ as a dense array"""
    dense = np.asarray(X.toarray() if isinstance(X, sparse.csr_array) else X, dtype=np.float32)
    scaled = FeatureMap(unit_rows=True).scale(dense)
    return np.asarray(scaled)

"""Stream items to write as shards: from a data set, the synthetic generator, or files of any size.

A folder contains labels.npy and one .npy for each modality. A .npz contains the same arrays as members. A
.parquet has a column of number lists for each modality, and labels: words, lists of words, or 0/1 lists.
"""

import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfh.datasets import DatasetSource
from smfh.datasets.synthetic import CLASSES, Synthetic, SyntheticBlocks, query_count
from smfh.engine.shards import Rows, Stream
from smfh.files import convert_errors
from smfh.files.limits import MAX_FILE_BYTES
from smfh.hashing.blocks import ROWS
from smfh.types import BoolArray, InputError, Split
from smfh.types.arrays import as_labels, as_matrix

LABELS = "labels"


def stream_source(source: DatasetSource, split: str | Split, seed: int, items: int | None) -> Stream:
    """Stream a data set: the first `items` training rows of the split (None: all), and its queries.

    For the synthetic data set `items` includes the queries, like the option of that name.
    """
    if isinstance(source, Synthetic) and items is not None and not source.corruptions:
        if split not in ("default", "official"):
            raise InputError("Synthetic data has a fixed split; omit --split.")
        blocks = SyntheticBlocks(items, source.noise, source.data_seed)  # the items that `load` returns
        training = (Rows((image, text), labels) for image, text, labels in blocks.draw_training())
        image, text, labels = blocks.draw_queries()
        return Stream(source.name, ("image", "text"), CLASSES, training, Rows((image, text), labels))
    data, rows = source.load(split, seed)
    train = data.take(rows.train if items is None else rows.train[:items]).for_training()
    queries = data.take(rows.queries)
    return Stream(
        data.name,
        tuple(data.modalities),
        data.class_names,
        [Rows(tuple(train.modalities.values()), train.labels)],
        Rows(tuple(queries.modalities.values()), queries.labels),
    )


def is_streamed(path: Path) -> bool:
    """Whether a path is streamed: a folder, a .parquet, or a .npz with only labels and matrices.

    A .npz in another layout is loaded completely, unless it is too large to load.
    """
    if path.suffix.lower() != ".npz" or path.is_dir():
        return path.is_dir() or path.suffix.lower() == ".parquet"
    try:
        with convert_errors(path.name):
            if path.stat().st_size > MAX_FILE_BYTES:
                return True
            shapes = _npz_shapes(path)
    except InputError:
        return False  # the loader reports the problem
    matrices = [own for name, own in shapes.items() if name != LABELS]
    return len(matrices) < len(shapes) and all(len(s) == 2 and d.kind in "fiub" for s, d in matrices)


def stream_files(path: Path, seed: int, items: int | None = None) -> Stream:
    """Stream a folder of .npy files, a .npz or a .parquet; random rows become the queries.

    The first `items` of the other rows are the training items (None: all). `seed` draws the query rows.
    """
    with convert_errors(path.name):
        if path.is_dir():
            members, read = _npy_members(path)
        else:
            members, read = (_npz_members if path.suffix.lower() == ".npz" else _parquet_columns)(path)
        if LABELS not in members or len(members) < 2:
            raise InputError(
                f"{path.name} needs {LABELS} and a matrix for each modality; it has {', '.join(members) or 'nothing'}."
            )
        modalities, count = tuple(name for name in members if name != LABELS), members[LABELS]
        if wrong := [name for name in modalities if members[name] != count]:
            raise InputError([f"{t} has {members[t]:,} rows; there are labels for {count:,}." for t in wrong])
        classes = _class_names(block[LABELS] for block in read((LABELS,)))
        query_rows = np.sort(np.random.default_rng(seed).choice(count, query_count(count), replace=False))

        def chosen(are_queries: bool, limit: int | None = None) -> Iterator[Rows]:
            start, left = 0, sys.maxsize if limit is None else limit
            with convert_errors(path.name):
                for block in read((*modalities, LABELS)):
                    labels = _multi_hot(block[LABELS], classes)
                    is_query = np.isin(np.arange(start, start + len(labels)), query_rows)
                    rows = np.flatnonzero(is_query == are_queries)[:left]
                    X = (as_matrix(name, np.array(block[name])) for name in modalities)
                    yield Rows(tuple(x[rows] for x in X), labels[rows])
                    start, left = start + len(labels), left - len(rows)
                    if left <= 0:
                        return

        queries = list(chosen(True))
        X = tuple(np.concatenate(x) for x in zip(*(rows.X for rows in queries), strict=True))
        held_out = Rows(X, np.concatenate([rows.labels for rows in queries]))
        return Stream(path.stem, modalities, tuple(classes), chosen(False, items), held_out)


Members = Mapping[str, int]  # number of rows by member name
Read = Any  # function: member names → iterator over blocks of rows, by name


def _npy_members(path: Path) -> tuple[Members, Read]:
    arrays = {p.stem: np.load(p, mmap_mode="r", allow_pickle=False) for p in sorted(path.glob("*.npy"))}

    def read(names: Iterable[str]) -> Iterator[dict[str, NDArray[Any]]]:
        for start in range(0, len(arrays[LABELS]), ROWS):
            yield {name: arrays[name][start : start + ROWS] for name in names}

    return {name: len(array) for name, array in arrays.items()}, read


def _npz_members(path: Path) -> tuple[Members, Read]:
    """Return the row counts of a .npz, and a reader that decompresses its members block by block."""
    shapes = _npz_shapes(path)

    def read(names: Iterable[str]) -> Iterator[dict[str, NDArray[Any]]]:
        wanted = tuple(names)
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.open(f"{name}.npy") for name in wanted}
            for name, member in members.items():
                _npy_header(member, name)
            for start in range(0, shapes[LABELS][0][0], ROWS):
                block = {}
                for name, member in members.items():
                    (rows, *rest), dtype = shapes[name]
                    count = min(ROWS, rows - start)
                    size = count * int(np.prod(rest, dtype=np.int64)) * dtype.itemsize
                    block[name] = np.frombuffer(member.read(size), dtype).reshape(count, *rest)
                yield block

    return {name: shape[0] for name, (shape, _) in shapes.items()}, read


def _npz_shapes(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
    """Return shape and dtype of every member of a .npz, by name."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                shapes[Path(name).stem] = _npy_header(member, f"{name} in {path.name}")
    return shapes


def _npy_header(file: Any, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype from the header of a .npy; the file is then positioned at the first value."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if fortran and len(shape) > 1:
        raise InputError(f"{name} is stored by columns; save it by rows (numpy.ascontiguousarray).")
    if dtype.hasobject:
        raise InputError(f"{name} contains pickled objects, which could run code. Save numbers or strings.")
    return shape, dtype


def _parquet_columns(path: Path) -> tuple[Members, Read]:
    from pyarrow import parquet

    file = parquet.ParquetFile(path)

    def read(names: Iterable[str]) -> Iterator[dict[str, NDArray[Any]]]:
        wanted = list(names)
        for batch in file.iter_batches(ROWS, columns=wanted):
            yield {name: _column(batch.column(name)) for name in wanted}

    return dict.fromkeys(file.schema_arrow.names, file.metadata.num_rows), read


def _column(column: Any) -> NDArray[Any]:
    """Convert a Parquet column to an array; number lists of one length become matrix rows."""
    if hasattr(column, "flatten") and hasattr(column, "value_lengths"):
        lengths = np.asarray(column.value_lengths())
        values = column.flatten().to_numpy(zero_copy_only=False)
        if len(set(lengths.tolist())) == 1 and values.dtype.kind in "fiub":
            return np.asarray(values).reshape(len(lengths), -1)
    cells = column.to_pylist()
    held = np.empty(len(cells), dtype=object)  # np.array would make a matrix of equally long lists
    held[:] = cells
    return held


def _class_names(blocks: Iterable[NDArray[Any]]) -> list[str]:
    """Return the class names: column numbers of a label matrix, or all labels in sorted order."""
    names: set[str] = set()
    for labels in blocks:
        if labels.ndim == 2:
            return [str(k) for k in range(labels.shape[1])]
        names |= {str(name) for own in labels for name in _labels_of(own)}
    return sorted(names)


def _labels_of(labels: Any) -> list[Any]:
    """Return the list of labels of one item, without None and NaN."""
    several = labels if isinstance(labels, list) else [labels]
    return [label for label in several if label is not None and label == label]


def _multi_hot(labels: NDArray[Any], classes: list[str]) -> BoolArray:
    if labels.ndim == 2:
        return as_labels(np.array(labels))[0]
    column = {name: number for number, name in enumerate(classes)}
    hot = np.zeros((len(labels), len(classes)), dtype=np.bool_)
    for row, own in enumerate(labels):
        hot[row, [column[str(name)] for name in _labels_of(own)]] = True
    return hot

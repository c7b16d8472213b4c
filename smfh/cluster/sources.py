"""Streams of items to write shards of: data sets, the synthetic generator at any size, and files of any size.

A folder of matrices holds labels.npy and a .npy for each modality; a .npz the same as members; a .parquet the
same as columns: lists of numbers, and the labels as words, lists of words or lists of 0 and 1.
"""

import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smfh.cluster.writing import Rows, Stream
from smfh.datasets import DatasetSource
from smfh.datasets.synthetic import CLASSES, Synthetic, SyntheticBlocks, query_count
from smfh.files import guarded
from smfh.files.content import MAX_FILE_BYTES
from smfh.hashing.products import ROWS
from smfh.types import BoolArray, InputError, Split
from smfh.types.conversion import as_labels, as_matrix

LABELS = "labels"


def stream_source(source: DatasetSource, split: str | Split, seed: int, items: int | None) -> Stream:
    """A data set: its training rows in the order of the split, the first `items` of them, and its queries.

    Of the synthetic one `items` are all, queries included, as its own option of that name says.
    """
    if isinstance(source, Synthetic) and items is not None:
        if split not in ("default", "official"):
            raise InputError("Any number of synthetic items has a split of its own; leave the other out.")
        return stream_synthetic(source, items)
    data, rows = source.load(split, seed)
    train = data.take(rows.train if items is None else rows.train[:items])
    ask = data.take(rows.queries)
    return Stream(
        data.name,
        tuple(data.modalities),
        data.class_names,
        [Rows(tuple(train.modalities.values()), train.labels)],
        Rows(tuple(ask.modalities.values()), ask.labels),
    )


def stream_synthetic(source: Synthetic, items: int) -> Stream:
    """The generator's items, drawn a block at a time, whatever the number of parts: those of `load`."""
    blocks = SyntheticBlocks(items, source.noise, source.data_seed)
    training = (Rows((image, text), labels) for image, text, labels in blocks.draw_training())
    image, text, labels = blocks.draw_queries()
    return Stream(source.name, ("image", "text"), CLASSES, training, Rows((image, text), labels))


def is_streamed(path: Path) -> bool:
    """Whether it is read as it goes: a folder, a .parquet, or a .npz of labels and matrices alone.

    A .npz in another layout is read whole, unless it is larger than anybody reads.
    """
    if path.suffix.lower() != ".npz" or path.is_dir():
        return path.is_dir() or path.suffix.lower() == ".parquet"
    try:
        with guarded(path.name):
            if path.stat().st_size > MAX_FILE_BYTES:
                return True
            shapes = _npz_shapes(path)
    except InputError:
        return False  # who reads it whole says why
    matrices = [own for name, own in shapes.items() if name != LABELS]
    return len(matrices) < len(shapes) and all(len(s) == 2 and d.kind in "fiub" for s, d in matrices)


def stream_files(path: Path, seed: int, items: int | None = None) -> Stream:
    """A folder of .npy, a .npz or a .parquet, read as it goes; some rows, drawn by the seed, are to ask.

    The first `items` of the others train, or all of them.
    """
    with guarded(path.name):
        return _stream_files(path, seed, items)


def _stream_files(path: Path, seed: int, most: int | None) -> Stream:
    if path.is_dir():
        members, read = _npy_members(path)
    elif path.suffix.lower() == ".npz":
        members, read = _npz_members(path)
    else:
        members, read = _parquet_columns(path)
    if LABELS not in members or len(members) < 2:
        raise InputError(
            f"{path.name} needs {LABELS} and a matrix for each modality; "
            f"it has {', '.join(members) or 'nothing'}."
        )
    modalities, items = tuple(name for name in members if name != LABELS), members[LABELS]
    if wrong := [name for name in modalities if members[name] != items]:
        raise InputError([f"{t} has {members[t]:,} rows; there are labels for {items:,}." for t in wrong])
    classes = _class_names(some[LABELS] for some in read((LABELS,)))
    asking = np.sort(np.random.default_rng(seed).choice(items, query_count(items), replace=False))

    def rows() -> Iterator[tuple[int, Rows]]:
        start = 0
        for some in read((*modalities, LABELS)):
            labels = _hot(some[LABELS], classes)
            X = tuple(as_matrix(name, np.array(some[name])) for name in modalities)
            yield start, Rows(X, labels)
            start += len(labels)

    def chosen(wanted: bool) -> Iterator[Rows]:
        with guarded(path.name):
            for start, some in rows():
                mask = np.isin(np.arange(start, start + len(some.labels)), asking) == wanted
                yield Rows(tuple(x[mask] for x in some.X), some.labels[mask])

    queries = [some for some in chosen(True) if len(some.labels)]
    X = tuple(np.concatenate(x) for x in zip(*(some.X for some in queries), strict=True))
    held = Rows(X, np.concatenate([some.labels for some in queries]))
    return Stream(path.stem, modalities, tuple(classes), first_rows(chosen(False), most), held)


def first_rows(rows: Iterable[Rows], most: int | None) -> Iterator[Rows]:
    """As many of the rows as there may be, or all."""
    left = sys.maxsize if most is None else most
    for some in rows:
        yield Rows(tuple(x[:left] for x in some.X), some.labels[:left])
        left -= len(some.labels)
        if left <= 0:
            return


Members = Mapping[str, int]  # rows by name
Read = Any  # names → blocks of their rows, by name


def _npy_members(path: Path) -> tuple[Members, Read]:
    arrays = {p.stem: np.load(p, mmap_mode="r", allow_pickle=False) for p in sorted(path.glob("*.npy"))}

    def read(names: Iterable[str]) -> Iterator[dict[str, NDArray[Any]]]:
        for start in range(0, len(arrays[LABELS]), ROWS):
            yield {name: arrays[name][start : start + ROWS] for name in names}

    return {name: len(array) for name, array in arrays.items()}, read


def _npz_members(path: Path) -> tuple[Members, Read]:
    """Members are decompressed as they are read: rows of a C-ordered array come one after another."""
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
    """Shape and dtype of every member."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                shapes[Path(name).stem] = _npy_header(member, f"{name} in {path.name}")
    return shapes


def _npy_header(file: Any, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype; the file stands at the first number then."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if fortran and len(shape) > 1:
        raise InputError(f"{name} is stored by columns; save it by rows (numpy.ascontiguousarray).")
    if dtype.hasobject:
        raise InputError(f"{name} holds pickled objects, which are never opened; save numbers or words.")
    return shape, dtype


def _parquet_columns(path: Path) -> tuple[Members, Read]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(f"{path.name} needs pyarrow: python -m pip install pyarrow.") from error
    file = parquet.ParquetFile(path)

    def read(names: Iterable[str]) -> Iterator[dict[str, NDArray[Any]]]:
        wanted = list(names)
        for batch in file.iter_batches(ROWS, columns=wanted):
            yield {name: _column(batch.column(name)) for name in wanted}

    return dict.fromkeys(file.schema_arrow.names, file.metadata.num_rows), read


def _column(column: Any) -> NDArray[Any]:
    """A column of numbers, of words, or of lists, which become rows."""
    if hasattr(column, "flatten") and hasattr(column, "value_lengths"):
        lengths = np.asarray(column.value_lengths())
        values = column.flatten().to_numpy(zero_copy_only=False)
        if len(set(lengths.tolist())) == 1 and values.dtype.kind in "fiub":
            return np.asarray(values).reshape(len(lengths), -1)
    cells = column.to_pylist()
    held = np.empty(len(cells), dtype=object)  # not np.array, which makes a matrix of lists of one length
    held[:] = cells
    return held


def _class_names(blocks: Iterable[NDArray[Any]]) -> list[str]:
    """The numbers of the columns, or all labels that occur."""
    names: set[str] = set()
    for labels in blocks:
        if labels.ndim == 2:
            return [str(k) for k in range(labels.shape[1])]
        names |= {str(name) for own in labels for name in _own(own)}
    return sorted(names)


def _own(labels: Any) -> list[Any]:
    """Of one item, one or several; what is missing, as None or NaN, is none."""
    several = labels if isinstance(labels, list) else [labels]
    return [label for label in several if label is not None and label == label]


def _hot(labels: NDArray[Any], classes: list[str]) -> BoolArray:
    if labels.ndim == 2:
        return as_labels(np.array(labels))[0]
    column = {name: number for number, name in enumerate(classes)}
    hot = np.zeros((len(labels), len(classes)), dtype=np.bool_)
    for row, own in enumerate(labels):
        hot[row, [column[str(name)] for name in _own(own)]] = True
    return hot

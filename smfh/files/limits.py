"""Limits on untrusted files, and checks of array sizes before memory is allocated."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from smfh.types import InputError

MAX_FILE_BYTES = 1 << 30
MAX_ARRAY_BYTES = 1 << 30  # of all matrices of a data set; a value counts as 4 bytes or more
MAX_ROWS = 500_000
MAX_DIMENSIONS = 1_000_000
MAX_MODALITIES = 20
MAX_LABEL_CELLS = 1 << 26  # items × classes
MAX_ENTRIES = 50_000  # files in an archive or an upload; in a folder, MAX_FOLDER_ENTRIES
MAX_FOLDER_ENTRIES = 500_000
MAX_TABLE_BYTES = 1 << 28
MAX_COLUMNS, MAX_PARQUET_COLUMNS = 20_000, 5_000  # of a table; those of a .parquet file take more time
MAX_NUMBERS = 1 << 26  # in a table
MAX_CHARACTERS = 1 << 26  # in all text of a table or an array; an array has room for its longest string in each row
MAX_LABELS = 5_000_000  # labels of all items together
MAX_RATIO, HARMLESS_BYTES = 100, 192 << 20  # unpacked / packed size of an upload that needs more than this
TABLE_VALUE_BYTES = 16  # that a number of a table needs while the table is read: its row, and the matrix of all rows
MAX_JSON_BYTES = 1 << 27
MAX_JSON_VALUES = 5_000_000
MAX_LINE_BYTES, MAX_LINE_VALUES = 1 << 22, 200_000  # of a line in a .jsonl file
MAX_PICTURES = 20_000
MAX_PICTURE_BYTES = 1 << 26


class Header(NamedTuple):
    """Name, shape and bytes per value of an array, known before it is read."""

    name: str
    shape: tuple[int, ...]
    item_bytes: int  # 0 if the shape does not determine the size, as for sparse matrices and cells


def check_headers(file: str, headers: Iterable[Header], max_bytes: int = MAX_ARRAY_BYTES) -> None:
    """Raise InputError if arrays have too many rows or columns, or more than `max_bytes` together.

    A value counts as 4 bytes or more, because smaller types are converted to float32.
    """
    problems, needed = [], 0
    for name, shape, item_bytes in headers:
        size = " × ".join(f"{n:,}" for n in shape)
        is_vector = len(shape) < 2 or min(shape[:2]) <= 1
        rows = max(shape, default=0) if is_vector else shape[0]
        if rows > MAX_ROWS:
            problems.append(f"{name} in {file} has {size} values; the limit is {MAX_ROWS:,} rows.")
        elif max(shape, default=0) > MAX_DIMENSIONS:
            problems.append(f"{name} in {file} is {size}; use at most {MAX_DIMENSIONS:,} columns.")
        needed += math.prod(shape) * max(item_bytes, 4) if item_bytes else 0
    if problems:
        raise InputError(problems)
    check_size(file, needed, max_bytes)


def check_modalities(file: str, count: int) -> None:
    if count > MAX_MODALITIES:
        raise InputError(f"{file} has {count:,} modalities; the limit is {MAX_MODALITIES}.")


def max_unpacked(content: Path | bytes, max_bytes: int) -> int:
    """Return how many bytes a file may need when it is unpacked; an upload may not grow without limit."""
    return max_bytes if isinstance(content, Path) else min(max_bytes, max(HARMLESS_BYTES, MAX_RATIO * len(content)))


def check_size(name: str, size: int, max_bytes: int) -> None:
    """Raise `InputError` with both sizes if `size` is above `max_bytes`."""
    if size > max_bytes:
        raise InputError(f"{name} needs {megabytes(size)}; the limit is {megabytes(max_bytes)}.")


def megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MB"

"""Tables in .csv, .tsv, .jsonl or .parquet files; cells are text, numbers or lists, never formulas."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from smfh.files.content import MAX_PROBLEMS, Content, convert_errors, name_of, open_content, read_json, read_text
from smfh.files.limits import (
    MAX_CHARACTERS,
    MAX_COLUMNS,
    MAX_FILE_BYTES,
    MAX_LINE_BYTES,
    MAX_LINE_VALUES,
    MAX_NUMBERS,
    MAX_PARQUET_COLUMNS,
    MAX_ROWS,
    MAX_TABLE_BYTES,
    TABLE_VALUE_BYTES,
    Header,
    check_headers,
    max_unpacked,
)
from smfh.files.parquet_footer import Chunk, column_chunks
from smfh.types import FloatArray, InputError

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
PROBE_ROWS = 100  # rows of a .jsonl file whose keys become the columns
BATCH_BYTES, BATCH_CELLS, BATCH_ROWS = 1 << 28, 1 << 20, 1024  # limits on what is read from a .parquet file at a time


class TableContents(NamedTuple):
    """The rows read from a table, by column."""

    numbers: list[int]  # row numbers in the file
    cells: dict[str, list[Any]]  # by column name
    matrices: dict[str, FloatArray]  # by group of columns; NaN if a cell is not a finite number
    problems: dict[int, str]  # message for each row that cannot be used, by index


@dataclass(frozen=True)
class Table:
    """A table whose rows are parsed when they are read."""

    name: str
    header: tuple[str, ...]
    rows: Callable[[Sequence[str]], Iterator[tuple[int, Sequence[Any], str]]]
    """Yields the number, the cells in the given columns and the problem (or "") of each row that is not blank."""
    decimal: str = "."  # the decimal mark

    def read(self, cells: Sequence[str], groups: Mapping[str, Sequence[str]] | None = None) -> TableContents:
        """Read single columns as lists of cells and groups of columns as matrices of numbers, in one pass.

        If a group has only one column, the cells of this column may contain lists of numbers.
        """
        groups = groups or {}
        wanted = list(dict.fromkeys(chain(cells, *groups.values())))
        place = {heading: number for number, heading in enumerate(wanted)}
        texts: dict[str, list[Any]] = {heading: [] for heading in cells}
        vectors: dict[str, list[FloatArray]] = {name: [] for name in groups}
        contents = TableContents([], texts, {}, {})
        values_left, characters_left = MAX_NUMBERS, MAX_CHARACTERS
        for number, row, problem in self.rows(wanted):
            for heading in texts:
                texts[heading].append(row[place[heading]])
                characters_left -= _characters(row[place[heading]])
            if characters_left < 0:
                raise InputError(f"{self.name} has more than {MAX_CHARACTERS:,} characters of text.")
            for name, columns in groups.items():
                given = [row[place[heading]] for heading in columns]
                vector, reason = _vector(given[0] if len(given) == 1 else given, columns, self.decimal)
                values_left -= len(vector)
                if values_left < 0:
                    raise InputError(f"{self.name} has more than {MAX_NUMBERS:,} numbers. Save it as .npz.")
                vectors[name].append(vector)
                problem = problem or reason
            if problem:
                contents.problems[len(contents.numbers)] = problem
            contents.numbers.append(number)
        for name, rows in vectors.items():
            width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
            for index, vector in enumerate(rows):
                if len(vector) != width:
                    contents.problems.setdefault(index, f"{name} has {len(vector)} numbers; most rows have {width}")
                    rows[index] = np.full(width, np.nan, dtype=np.float32)
            contents.matrices[name] = np.array(rows, dtype=np.float32).reshape(len(rows), width)
        return contents


def _characters(cell: Any) -> int:
    """Estimate how much memory a cell takes, in characters."""
    if isinstance(cell, dict | list):
        return 64 + sum(map(_characters, cell.values() if isinstance(cell, dict) else cell))
    return len(cell) if isinstance(cell, str | bytes | np.ndarray) else 8


def _vector(given: Any, columns: Sequence[str], decimal: str = ".") -> tuple[FloatArray, str]:
    """Convert cells to a vector of numbers; also return a message if a number is not finite, else ""."""
    if isinstance(given, str) and given[:1] == "[":
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):  # as NumPy prints a vector: [0.1 0.7], [np.float64(0.1), …]
            given = re.sub(r"np\.float\d+\(([^()]*)\)", r"\1", given).strip("[]").replace(",", " ").split()
    values = given if isinstance(given, list | np.ndarray) else [given]
    try:
        row = np.array(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        row = np.full(len(values), np.nan)
        for place, value in enumerate(values):
            with suppress(ValueError, TypeError, OverflowError):
                row[place] = float(value.replace(decimal, ".") if isinstance(value, str) else value)
    row = row if row.ndim == 1 else np.full(1, np.nan)
    row[np.abs(row) > np.finfo(np.float32).max] = np.nan
    problem = ""
    if not len(row) or not np.isfinite(row).all():
        first = int(np.argmin(np.isfinite(row))) if len(row) else 0
        got = str(values[first])[:40] if len(values) > first else ""
        problem = f"column {columns[first if len(columns) > 1 else 0]!r}: expected a finite number; got {got!r}"
    return row.astype(np.float32), problem


def read_table(content: Content, name: str = "") -> Table:
    """Read a table with column names; the file extension determines the format, CSV by default."""
    name = name_of(content, name)
    suffix = PurePath(name).suffix.lower()
    read = {".parquet": _read_parquet, ".jsonl": _read_json_lines}.get(suffix, _read_text_table)
    table = read(content, name)
    problems = [] if any(table.header) else [f"{name} must begin with a row of column names."]
    if len(table.header) > MAX_COLUMNS:
        problems.append(f"{name} has {len(table.header):,} columns; the limit is {MAX_COLUMNS:,}.")
    repeated = [heading for heading, times in Counter(table.header).items() if times > 1 and heading]
    problems += [f"{name} has more than one column {heading!r}." for heading in repeated[:MAX_PROBLEMS]]
    if problems:
        raise InputError(problems)
    return table


def _read_text_table(content: Content, name: str) -> Table:
    """Read a text file with a row of column names, which a list of captions or a matrix may lack.

    The lines of a list of captions are `picture.jpg#0 TAB caption`. In a .txt file, the last column may
    contain the delimiter without quotes.
    """
    text = read_text(content, name, MAX_TABLE_BYTES)
    first = io.StringIO(text, newline=None).readline()  # accepts \n, \r\n and \r
    is_flickr = re.match(r"[^\t#]+#\d+\t", first) is not None
    delimiter = "\t" if is_flickr else max(",;\t|", key=first.count)
    with convert_errors(f"The header of {name}"):
        header = tuple(cell.strip() for cell in next(csv.reader(io.StringIO(first), delimiter=delimiter), []))
    skipped = 1
    if is_flickr:
        header, skipped = ("image", "caption"), 0
    elif header and all(map(is_number, header)):
        header, skipped = tuple(str(number) for number in range(1, len(header) + 1)), 0
    is_loose = name.lower().endswith((".txt", ".token"))

    def rows(wanted: Sequence[str]) -> Iterator[tuple[int, list[str], str]]:
        place = {heading: number for number, heading in reversed([*enumerate(header)])}
        places = [place[heading] for heading in wanted]
        reader = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=delimiter,
            quoting=csv.QUOTE_NONE if is_loose and not skipped else csv.QUOTE_MINIMAL,
        )
        try:
            for number, cells in enumerate(reader, start=1):
                if number > MAX_ROWS:
                    raise InputError(f"{name} has more than {MAX_ROWS:,} rows, which is the limit.")
                if number <= skipped or not any(cell.strip() for cell in cells):
                    continue
                if is_loose and len(cells) > len(header):
                    cells[len(header) - 1 :] = [delimiter.join(cells[len(header) - 1 :])]
                count, problem = len(cells), ""
                if count != len(header):
                    problem = f"it has {count} cells; the header has {len(header)}"
                yield number, [cells[p].strip() if p < count else "" for p in places], problem
        except csv.Error as error:
            raise InputError(f"{name} cannot be read near line {reader.line_num}: {error}.") from error

    return Table(name, header, rows, "," if delimiter == ";" else ".")  # as European spreadsheets write it


def is_number(cell: Any) -> bool:
    """Whether a cell is a number, or the text of one."""
    with suppress(ValueError, OverflowError):
        return isinstance(cell, str | int | float | np.number) and float(cell) is not None
    return False


def _read_json_lines(content: Content, name: str) -> Table:
    text = read_text(content, name, MAX_TABLE_BYTES)

    def lines() -> Iterator[tuple[int, dict[str, Any], str]]:
        stream = io.StringIO(text)
        for number, line in enumerate(stream, start=1):
            if number > MAX_ROWS:
                raise InputError(f"{name} has more than {MAX_ROWS:,} rows, which is the limit.")
            if not line.strip():
                continue
            if len(line) > MAX_LINE_BYTES or sum(map(line.count, "[{,")) > MAX_LINE_VALUES:
                yield number, {}, f"it has more than {MAX_LINE_BYTES:,} characters or {MAX_LINE_VALUES:,} values"
                continue
            value: Any = None
            with suppress(ValueError, RecursionError):  # invalid or too deeply nested JSON
                value = read_json(line)
            is_object = isinstance(value, dict)
            yield number, value if is_object else {}, "" if is_object else "it is not a JSON object"

    def rows(wanted: Sequence[str]) -> Iterator[tuple[int, list[Any], str]]:
        for number, value, problem in lines():
            yield number, [value.get(heading, "") for heading in wanted], problem

    keys = (key for _, value, _ in islice(lines(), PROBE_ROWS) for key in islice(value, MAX_COLUMNS + 1))
    return Table(name, tuple(dict.fromkeys(keys)), rows)


def _read_parquet(content: Content, name: str) -> Table:
    """Read a .parquet file; check the sizes in its metadata first, and hold only a few rows in memory."""
    from pyarrow import parquet

    with convert_errors(name), open_content(content, name, MAX_FILE_BYTES) as file:
        columns: dict[str, list[Chunk]] = {}
        for chunk in column_chunks(file, name):
            columns.setdefault(chunk.column, []).append(chunk)
        if len(columns) > MAX_PARQUET_COLUMNS:
            raise InputError(
                f"{name} has {len(columns):,} columns; the limit is {MAX_PARQUET_COLUMNS:,}. Save each matrix as one "
                "column of lists."
            )
        opened = parquet.ParquetFile(file, thrift_string_size_limit=1 << 24, thrift_container_size_limit=1 << 20)
        metadata, schema = opened.metadata, opened.schema_arrow
        headers, rows_or_1 = [], max(metadata.num_rows, 1)
        for column, chunks in columns.items():
            values = sum(chunk.values for chunk in chunks)
            value_bytes = max(sum(chunk.unpacked_bytes for chunk in chunks) // max(values, 1), TABLE_VALUE_BYTES)
            headers.append(Header(column, (rows_or_1, -(-values // rows_or_1)), value_bytes))
        check_headers(name, headers, max_unpacked(content, MAX_FILE_BYTES))
        names_of: dict[str, list[str]] = {}  # class names of columns with coded labels, as `datasets` writes them
        with suppress(ValueError, RecursionError, AttributeError, KeyError, TypeError):
            features = read_json(schema.metadata[b"huggingface"])["info"]["features"]
            names_of = {heading: list(map(str, one["names"])) for heading, one in features.items() if "names" in one}
        # a dictionary-encoded value may be repeated in every row, so fewer rows are read if values may be long
        widest = sum(max((c.unpacked_bytes for c in chunks if c.is_bytes), default=0) for chunks in columns.values())
        batch_rows = max(min(BATCH_BYTES // max(widest, 1), BATCH_CELLS // len(columns), BATCH_ROWS), 1)

    def rows(wanted: Sequence[str]) -> Iterator[tuple[int, list[Any], str]]:
        with convert_errors(name), open_content(content, name, MAX_FILE_BYTES) as file:
            number = 0
            opened = parquet.ParquetFile(file, metadata=metadata)
            for batch in opened.iter_batches(batch_rows, columns=list(wanted), use_threads=False):
                columns = [_parquet_cells(batch.column(heading), names_of.get(heading, ())) for heading in wanted]
                for row in range(batch.num_rows):
                    number += 1
                    yield number, [cells[row] for cells in columns], ""

    return Table(name, tuple(schema.names), rows)


def _parquet_cells(column: Any, names: Sequence[str]) -> Sequence[Any]:
    """Return the cells of a column; lists of numbers that all have the same length become arrays."""
    from pyarrow import types

    if hasattr(column, "value_lengths") and column.null_count == 0:
        lengths, values = np.asarray(column.value_lengths()), column.flatten()
        if values.null_count == 0 and len(set(lengths.tolist())) == 1:
            numbers = values.to_numpy(zero_copy_only=False)
            if numbers.dtype.kind in "fiub":
                return list(numbers.reshape(len(lengths), -1))
    if column.null_count == 0 and (types.is_integer(column.type) or types.is_floating(column.type)):
        cells: list[Any] = column.to_numpy(zero_copy_only=False).tolist()  # ten times faster than `to_pylist`
    else:
        cells = ["" if cell is None else cell for cell in column.to_pylist()]
    if names:
        return [names[c] if isinstance(c, int) and 0 <= c < len(names) else "" for c in cells]
    return cells

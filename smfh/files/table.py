""".csv tables: UTF-8 text whose every cell is plain text or a number, never a formula."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smfh.files.content import MAX_PROBLEMS, Content, guarded, name_of, read_text, shortened
from smfh.types import InputError

MAX_TABLE_BYTES = 1 << 28
MAX_ROWS = 500_000
MAX_COLUMNS = 20_000
MAX_NUMBERS = 1 << 27


@dataclass(frozen=True)
class Table:
    """The text of a table, cut into rows when they are asked for."""

    name: str
    header: tuple[str, ...]
    text: str
    delimiter: str

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Each row that is not blank, with its number as a spreadsheet counts: the header is row 1."""
        reader = csv.reader(io.StringIO(self.text, newline=""), delimiter=self.delimiter)
        try:
            for number, cells in enumerate(reader, start=1):
                if number > MAX_ROWS:
                    raise InputError(f"{self.name} has more than {MAX_ROWS:,} rows.")
                if number > 1 and any(cell.strip() for cell in cells):
                    yield number, cells
        except csv.Error as error:
            raise InputError(f"{self.name} cannot be read near line {reader.line_num}: {error}.") from error

    def problems(self) -> list[str]:
        """The rows with too few or too many cells, and the lack of any row."""
        wanted = len(self.header)
        counts = [(number, len(cells)) for number, cells in self.rows()]
        if not counts:
            return [f"{self.name} has a header but no rows."]
        return [
            f"Row {number} of {self.name} has {came} cells; the header has {wanted}."
            for number, came in counts
            if came != wanted
        ]

    def column(self, name: str) -> list[str]:
        """The cells below this heading, without spaces around them; empty where a row is too short."""
        place = self.header.index(name)
        return [cells[place].strip() if place < len(cells) else "" for _, cells in self.rows()]

    def numbers(self, columns: list[str]) -> NDArray[np.float32]:
        """These columns as a matrix, or every cell that is not a finite number, with its row."""
        indices = [self.header.index(column) for column in columns]
        rows: list[NDArray[np.float32]] = []
        problems: list[str] = []
        for number, cells in self.rows():
            if (len(rows) + 1) * len(indices) > MAX_NUMBERS:
                raise InputError(f"{self.name} has more than {MAX_NUMBERS:,} numbers; use .npz for so many.")
            given = [cells[k] if k < len(cells) else "" for k in indices]
            row = _numbers(given)
            problems += [
                f"Row {number} of {self.name}, column {columns[i]!r}: expected a finite number; "
                f"got {given[i][:40]!r}."
                for i in np.flatnonzero(~np.isfinite(row))
            ]
            rows.append(row)
        if problems:
            raise InputError(shortened(problems))
        return np.array(rows, dtype=np.float32).reshape(len(rows), len(indices))


def read_table(content: Content, name: str = "") -> Table:
    """The table of a CSV file, separated by commas, semicolons or tabs, with a heading for each column."""
    name, text = name_of(content, name), read_text(content, name, MAX_TABLE_BYTES)
    first = io.StringIO(text, newline=None).readline()  # any of the three kinds of line ends
    delimiter = max(",;\t", key=first.count)
    with guarded(f"The header of {name}"):
        header = tuple(cell.strip() for cell in next(csv.reader(io.StringIO(first), delimiter=delimiter), []))
    problems = []
    if not any(header):
        problems.append(f"{name} must begin with a row of headings.")
    if len(header) > MAX_COLUMNS:
        problems.append(f"{name} has {len(header):,} columns; at most {MAX_COLUMNS:,} are read.")
    twice = [heading for heading, times in Counter(header).items() if times > 1]
    problems += [f"{name} has the heading {heading!r} more than once." for heading in twice[:MAX_PROBLEMS]]
    if problems:
        raise InputError(problems)
    return Table(name, header, text, delimiter)


def _numbers(cells: list[str]) -> NDArray[np.float32]:
    """The cells as numbers, NaN where one is none or is too large for float32."""
    try:
        row = np.array(cells, dtype=np.float64)
    except ValueError:
        row = np.array([_number(cell) for cell in cells])
    row[np.abs(row) > np.finfo(np.float32).max] = np.nan
    return row.astype(np.float32)


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")

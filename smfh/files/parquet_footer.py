"""Sizes of the columns of a .parquet file, from its footer (Thrift, compact protocol).

pyarrow can read these sizes, too, but it ends the whole process if a damaged footer contradicts itself.
"""

import io
import struct
from typing import Any, BinaryIO, NamedTuple

from smfh.files.limits import check_size
from smfh.types import InputError

MAX_FOOTER_BYTES = 1 << 23
MAGIC = b"PAR1"
STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12  # Thrift
ROW_GROUPS, COLUMNS, COLUMN = 4, 1, 3  # field numbers: in the file, a row group and a column chunk
TYPE, PATH, VALUES, UNPACKED = 1, 3, 5, 6  # field numbers in the metadata of a column chunk
BYTE_ARRAY = 6  # Parquet type of strings and pictures


class Chunk(NamedTuple):
    """A column within a row group."""

    column: str
    is_bytes: bool  # whether the values are strings or pictures
    values: int
    unpacked_bytes: int


def column_chunks(file: BinaryIO, name: str) -> list[Chunk]:
    """Return the chunks of all columns.

    A damaged footer can raise exceptions of many types, for example IndexError or KeyError.
    """
    file.seek(-8, io.SEEK_END)
    length, magic = struct.unpack("<I4s", file.read(8))
    if magic != MAGIC:
        raise InputError(f"{name} is not a .parquet file, or it is encrypted or truncated.")
    check_size(f"The footer of {name}", length, MAX_FOOTER_BYTES)
    file.seek(-8 - length, io.SEEK_END)
    groups = _Thrift(file.read(length)).value(STRUCT)[ROW_GROUPS]
    file.seek(0)
    columns = [column[COLUMN] for group in groups for column in group[COLUMNS]]
    return [
        Chunk(b".".join(c[PATH]).decode(), c[TYPE] == BYTE_ARRAY, max(c[VALUES], 0), max(c[UNPACKED], 0))
        for c in columns
    ]


class _Thrift:
    """A parser of Thrift values, which returns a struct as a dictionary from field number to value."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """Parse an integer of variable length: each byte has seven of its bits, lowest bits first."""
        value = shift = 0
        while (byte := self.byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number is too long")
        return value | byte << shift

    def value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE, BYTE):
            return self.byte()
        if kind in (DOUBLE, BINARY):
            length = 8 if kind == DOUBLE else self.number()
            self.at += length
            if self.at > len(self.data):
                raise ValueError("a value is longer than the footer")
            return self.data[self.at - length : self.at]
        if kind in (LIST, SET):
            size, inner = divmod(self.byte(), 16)
            return [self.value(inner) for _ in range(self.number() if size == 15 else size)]
        if kind == MAP:
            size = self.number()
            keys, values = divmod(self.byte(), 16) if size else (BYTE, BYTE)
            return [(self.value(keys), self.value(values)) for _ in range(size)]
        if kind != STRUCT:
            number = self.number()
            return number >> 1 ^ -(number & 1)
        fields: dict[int, Any] = {}
        field = 0
        while (head := self.byte()) != STOP:
            step, inner = divmod(head, 16)
            field = field + step if step else self.value(BYTE + 1)
            fields[field] = inner == TRUE if inner in (TRUE, FALSE) else self.value(inner)
        return fields

"""Sums over items that do not depend on how the items are divided, and numbers that are drawn for each.

Sums of floating-point numbers depend on their order. Here every block of ROWS items, which are the same
blocks whoever holds them, has its sums rounded to multiples of one power of two, chosen so that all of them
together still fit into a double: from there on no addition rounds, and any order and grouping give the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from smfh.hashing.products import ROWS
from smfh.types import FloatArray

Sums = dict[tuple[str, str], FloatArray]  # by what is summed, and of which modality; "" where they share it
HEIGHT = ("height", "")  # of this one the largest is taken, which no order changes either
MANTISSA = 52  # bits of a double


def add_inplace(total: Sums, more: Sums) -> None:
    """Add the sums of other items."""
    for key, value in more.items():
        if key not in total:
            total[key] = value.copy()
        elif key == HEIGHT:
            np.maximum(total[key], value, out=total[key])
        else:
            total[key] += value


def on_grid(value: Any, bound: Any, items: int) -> FloatArray:
    """The sum of a block in double precision, a multiple of a unit with which no sum of blocks is rounded.

    No sum over all items may exceed `bound`. With a single block there is nothing to add: it stays as it is.
    """
    if items <= ROWS:
        return np.asarray(value, dtype=np.float64)
    _, exponents = np.frexp(np.asarray(bound, dtype=np.float64))  # bound < 2^exponent
    units = np.ldexp(1.0, exponents - MANTISSA)
    rounded: FloatArray = np.array(value, dtype=np.float64)
    rounded /= units
    np.rint(rounded, out=rounded)
    rounded *= units
    return rounded


@dataclass(frozen=True, eq=False)
class UniformRows:
    """A row of uniform numbers for each item, drawn a block at a time as if all had been drawn at once."""

    state: Mapping[str, Any]  # of the generator before the first of them
    bits: int  # of a row
    dtype: np.dtype[Any]

    @staticmethod
    def draw(rng: np.random.Generator, items: int, bits: int, dtype: Any) -> "UniformRows":
        """What `rng.random((items, bits), dtype)` would be; the generator moves on as if it had done it."""
        rows = UniformRows(rng.bit_generator.state, bits, np.dtype(dtype))
        _skip(rng, items * bits, rows.dtype)
        return rows

    def block(self, start: int, rows: int) -> FloatArray:
        """The numbers of so many items from `start` on."""
        bit_generator: Any = np.random.PCG64()
        bit_generator.state = self.state
        rng = np.random.Generator(bit_generator)
        _skip(rng, start * self.bits, self.dtype)
        return rng.random((rows, self.bits), dtype=self.dtype.type)


def _skip(rng: np.random.Generator, numbers: int, dtype: np.dtype[Any]) -> None:
    """Move on by so many uniform numbers: a double takes 64 bits, a single 32, which may be in store."""
    if numbers == 0:
        return
    bit_generator: Any = rng.bit_generator  # PCG64, as default_rng makes it
    before = bit_generator.state
    if dtype == np.float64:
        bit_generator.advance(numbers)
        kept = {name: before[name] for name in ("has_uint32", "uinteger")}
        bit_generator.state = bit_generator.state | kept
        return
    numbers -= before["has_uint32"]
    bit_generator.advance(numbers // 2)
    if numbers % 2:
        rng.random(dtype=np.float32)

"""Packed codes and their Hamming distances.

A code is a row of ⌈bits/64⌉ words of 64 bits; the last word is padded with zeros, so distances do not change.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from smfh.types import BoolArray, InputError, Words

WORD_BITS = 64
MAX_BLOCK_PAIRS = 1 << 22  # pairs compared at once; their XORs take 32 MB


def pack(bits: BoolArray) -> Words:
    """Pack rows of bits into rows of words; bit k of an item is bit k mod 64 of its word ⌊k/64⌋."""
    if bits.ndim != 2 or bits.dtype != np.bool_:
        raise InputError(f"Bits to pack must be a boolean items × bits matrix; got {bits.dtype} of shape {bits.shape}.")
    octets = np.packbits(bits, axis=1, bitorder="little")
    octets = np.pad(octets, ((0, 0), (0, -octets.shape[1] % 8)))
    # "<u8" gives the same words on machines of either byte order
    return octets.view("<u8").astype(np.uint64, copy=False)


def unpack(codes: Words, bits: int) -> BoolArray:
    """Unpack the first `bits` bits of every row; the inverse of `pack`."""
    problems = _code_problems("codes", codes)
    if not problems and not 0 <= bits <= codes.shape[1] * WORD_BITS:
        problems.append(
            f"Codes of {codes.shape[1]} words have at most {codes.shape[1] * WORD_BITS} bits; got bits={bits}."
        )
    if problems:
        raise InputError(problems)
    octets = np.ascontiguousarray(codes, dtype="<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=bits, bitorder="little").view(np.bool_)


def distances(queries: Words, database: Words) -> NDArray[np.uint16]:
    """Return the distances d(q, i) = Σ_w popcount(q_w ⊕ i_w) as a queries × items matrix."""
    check_pair(queries, database)
    result = np.zeros((len(queries), len(database)), dtype=np.uint16)
    for block in _query_blocks(len(queries), len(database)):
        for q, d in zip(queries[block].T, database.T, strict=True):
            result[block] += np.bitwise_count(q[:, None] ^ d)
    return result


def count_codes(codes: Words) -> int:
    """Return the number of distinct codes."""
    return len(np.unique(codes.ravel() if codes.shape[1] == 1 else codes, axis=0))


def _query_blocks(queries: int, items: int) -> Iterator[slice]:
    """Yield slices of at least one query, with at most MAX_BLOCK_PAIRS pairs if possible."""
    step = max(1, MAX_BLOCK_PAIRS // max(items, 1))
    return (slice(start, start + step) for start in range(0, queries, step))


def _code_problems(what: str, codes: Words) -> list[str]:
    if codes.ndim == 2 and codes.shape[1] and codes.dtype == np.uint64:
        return []
    return [f"The {what} must be packed rows of uint64 (see pack); got {codes.dtype} of shape {codes.shape}."]


def check_pair(queries: Words, database: Words) -> None:
    """Raise an InputError unless queries and database are packed codes of the same length."""
    problems = _code_problems("queries", queries) + _code_problems("database", database)
    if not problems and queries.shape[1] != database.shape[1]:
        problems.append(
            f"Queries of {queries.shape[1]} words cannot be compared with a database of "
            f"{database.shape[1]} words; encode both with the same number of bits."
        )
    if problems:
        raise InputError(problems)


def check_padding(codes: Words, bits: int) -> None:
    """Raise an InputError if a bit after the first `bits` is 1, or if the number of words is wrong."""
    words = -(-bits // WORD_BITS)
    spare = np.uint64((1 << bits % WORD_BITS) - 1 if bits % WORD_BITS else (1 << WORD_BITS) - 1)
    if codes.shape[1] != words or np.any(codes[:, -1] & ~spare):
        size = words * WORD_BITS
        raise InputError(f"Codes of {bits} bits must be packed into {size} bits; the unused bits must be 0 (see pack).")

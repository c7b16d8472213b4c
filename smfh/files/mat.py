""".mat files (MATLAB 4 to 7.3), read by SciPy and h5py after their headers have been checked.

Both parsers are compiled code that trusts its input. The checks here refuse all files that are known to make
a parser crash or fill the memory. Because there may be others, the app reads uploads in worker processes.
"""

import math
import os
import struct
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import loadmat, whosmat

from smfh.files.content import Content, convert_errors, name_of, open_content
from smfh.files.limits import MAX_ROWS, Header, check_headers, check_size, max_unpacked
from smfh.types import InputError

MAX_MAT_BYTES = 1 << 29
MAX_DEPTH = 20  # of nested cells; SciPy's parser is recursive
MAX_MATRICES_PER_VARIABLE = 20  # in one cell array
MAX_CELLS = 1_000_000  # of a variable, nested ones included
MAX_VARIABLES = 1_000
HDF5 = b"\x89HDF\r\n\x1a\n"
MATRIX, COMPRESSED = 14, 15  # element types in the file
NUMBER_TYPES = (1, 2, 3, 4, 5, 6, 7, 9, 12, 13)
TEXT_TYPES = (*NUMBER_TYPES, 16, 17, 18)
MATRIX_HEADERS = ((6, 5, 1), (6, 5, 16), (6, 6, 1), (6, 6, 16))  # element types of flags, shape, name
CELL, CHAR, SPARSE, NUMBERS = 1, 4, 5, range(6, 16)  # array classes in the file
NUMBER_BYTES = dict(zip(NUMBERS, (8, 4, 1, 1, 2, 2, 4, 4, 8, 8), strict=True))  # of a value, by array class
MAX_HEADER_BYTES = 4096  # of a variable, with its name
COMPLEX = 8  # flag in an array's attributes
ITEM_BYTES = {"double": 8, "single": 4, "logical": 1} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}

Variable = NDArray[Any] | sparse.csr_array
Listed = Sequence[tuple[str, tuple[int, ...], str]]  # name, shape and MATLAB class of each variable


class MatContents(NamedTuple):
    """The variables of a .mat file that can be read, and descriptions of the others."""

    variables: Mapping[str, Variable]  # matrices of numbers, and vectors of strings
    ignored: tuple[str, ...]  # the other variables, for example "model (struct, 1 × 1)"


def read_mat(content: Content, name: str = "", max_bytes: int = MAX_MAT_BYTES) -> MatContents:
    """Read all variables that are matrices of numbers, strings, or cell arrays of these.

    A cell array of strings becomes a vector of strings; strings in a nested cell are joined with |. Each
    matrix in a cell array X becomes a variable of its own, named X (1), X (2) and so on.
    """
    name = name_of(content, name)
    max_bytes = max_unpacked(content, max_bytes)
    with convert_errors(name), open_content(content, name, max_bytes) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns about odd but readable files
        if HDF5 in (file.read(8), file.read(512)[504:]):
            listing, converted = _read_hdf5(file, name, max_bytes)
        else:
            readable = _check_variables(file, name, max_bytes)
            stream: Any = file  # SciPy's type hints allow only paths
            listing = whosmat(stream)
            unreadable = {entry[0] for entry, can_read in zip(listing, readable, strict=False) if not can_read}
            listing = [entry for entry in listing if not entry[0].startswith("__")]
            usable = [entry for entry in listing if entry[0] not in unreadable and entry[0].isidentifier()]
            headers = [Header(key, shape, ITEM_BYTES.get(kind, 0)) for key, shape, kind in usable]
            check_headers(name, headers, max_bytes)
            loaded = loadmat(stream, variable_names=[entry[0] for entry in usable], spmatrix=False)
            converted = {key: _convert(key, loaded.pop(key), max_bytes) for key, *_ in usable if key in loaded}
    if not any(converted.values()):
        there = _describe(listing) or "no variables"
        raise InputError(f"{name} has no matrix of real numbers; it has {there}.")
    variables = {key: value for parts in converted.values() for key, value in parts.items()}
    dense = [part for X in variables.values() for part in ((X.data, X.indices) if sparse.issparse(X) else (X,))]
    check_size(name, sum(part.nbytes for part in dense), max_bytes)
    return MatContents(variables, tuple(_describe([entry]) for entry in listing if not converted.get(entry[0])))


def _describe(listing: Listed) -> str:
    """List variables with their shapes, for example `x (2 × 3), names (cell, 10 × 1)`."""
    sizes = ((name, "" if kind in ITEM_BYTES else f"{kind}, ", shape) for name, shape, kind in listing)
    return ", ".join(f"{name} ({kind}{' × '.join(f'{n:,}' for n in shape)})" for name, kind, shape in sizes)


def _convert(name: str, value: Any, max_bytes: int) -> dict[str, Variable]:
    """Convert a variable to arrays by name; return {} unless it has numbers, strings or cells of these."""
    if isinstance(value, sparse.sparray):
        matrix: Any = value
        return {name: sparse.csr_array(matrix)}
    array = np.asarray(value)
    if array.dtype.kind not in "UO":
        is_matrix = array.dtype.kind in "fiub" and array.ndim <= 2
        return {name: np.ascontiguousarray(array)} if is_matrix else {}
    cells = array.ravel(order="F")
    known = [string for cell in cells if (string := _cell_string(cell)) is not None]
    if len(known) == len(cells):
        check_size(name, 4 * len(known) * max(map(len, known), default=0), max_bytes)
        return {name: np.array(known, dtype=np.str_)}
    if len(cells) > MAX_MATRICES_PER_VARIABLE or any(getattr(c, "dtype", array.dtype).kind in "UO" for c in cells):
        return {}
    parts = [_convert(f"{name} ({number})", cell, max_bytes) for number, cell in enumerate(cells, start=1)]
    return {key: part for one in parts for key, part in one.items()} if all(parts) else {}


def _cell_string(cell: Any) -> str | None:
    """Convert a cell to a string, with | between the strings of a nested cell; return None if impossible."""
    kind = getattr(getattr(cell, "dtype", None), "kind", "")
    if isinstance(cell, str):
        return str(cell)
    if kind == "U":
        return " ".join(cell.ravel())
    if kind == "O":
        inner = [" ".join(c.ravel()) for c in cell.ravel() if getattr(c, "dtype", cell.dtype).kind == "U"]
        return "|".join(inner) if len(inner) == cell.size else None
    return f"{cell.item():.15g}" if kind and kind in "fiub" and cell.size == 1 else None


def _check_variables(file: BinaryIO, name: str, max_bytes: int) -> list[bool]:
    """Return whether each variable of a version 5 file can be read; raise InputError if the file is damaged."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(128)
    order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
    readable: list[bool] = []
    headers: list[Header] = []  # of compressed matrices of numbers
    position, expanded = 128, 0
    while order is not None and position + 8 <= size:  # version 4 has no byte order mark and no elements
        file.seek(position)
        kind, length = struct.unpack(f"{order}II", tag := file.read(8))
        position += 8 + length
        if position > size:
            break
        data = tag + file.read(length)
        if kind == COMPRESSED:
            unpacker = zlib.decompressobj()
            data = unpacker.decompress(data[8:], MAX_HEADER_BYTES)
            unpacked_bytes = 8 + struct.unpack_from(f"{order}I", data, 4)[0]
            check_size(f"{name}, unpacked,", expanded + unpacked_bytes, max_bytes)
            with suppress(ValueError, struct.error):  # `_is_readable` reports a damaged header
                array_class, _, shape, key, _ = _matrix_start(memoryview(data)[8:], order)
                if array_class in NUMBERS or array_class == SPARSE:
                    headers.append(Header(key, tuple(shape), NUMBER_BYTES.get(array_class, 0)))
            check_headers(name, headers, max_bytes)
            if rest := unpacker.unconsumed_tail:
                data += unpacker.decompress(rest, max_bytes - expanded - len(data) + 1)
        expanded += len(data)
        check_size(f"{name}, unpacked,", expanded, max_bytes)
        ((kind, matrix),) = _elements(memoryview(data), order)
        readable.append(_is_readable(matrix, order, iter(range(MAX_CELLS))))
    if order is not None and position != size:
        raise InputError(f"{name} is truncated: it has {size:,} bytes instead of {position:,}. Download it again.")
    file.seek(0)
    return readable


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield the type and content of each element; raise ValueError if one exceeds the data."""
    position = 0
    while position < len(data):
        kind, length = struct.unpack_from(f"{order}II", data, position)
        start, end = position + 8, position + 8 + length + -length % 8
        if kind >> 16:  # a small element, stored inside its tag
            kind, length, start, end = kind & 0xFFFF, kind >> 16, position + 4, position + 8
        if start + length > min(end, len(data)):
            raise ValueError("an element extends beyond its matrix")
        yield kind, data[start : start + length]
        position = end


def _matrix_start(matrix: memoryview, order: str) -> tuple[int, int, Any, str, Iterator[tuple[int, memoryview]]]:
    """Return class, attributes, shape and name of a matrix, and an iterator over its other elements."""
    elements = _elements(matrix, order)
    (flags_kind, flags), (shape_kind, shape), (name_kind, name) = islice(elements, 3)
    array_class, attributes, *_ = struct.unpack(f"{order}I", flags[:4])[0].to_bytes(4, "little")
    is_valid = (flags_kind, shape_kind, name_kind) in MATRIX_HEADERS and 8 <= len(shape) <= 128
    if not is_valid and array_class in (CELL, CHAR, SPARSE, *NUMBERS):
        raise ValueError("a matrix has an invalid header")
    sizes = np.frombuffer(shape, f"{order}i4").tolist() if is_valid else []
    return array_class, attributes, sizes, bytes(name).decode("latin-1"), elements


def _is_readable(matrix: memoryview, order: str, cells_left: Iterator[int], depth: int = 0) -> bool:
    """Whether a matrix has numbers, strings or cells; raise ValueError if SciPy might crash on the matrix."""
    array_class, attributes, shape, _, elements = _matrix_start(matrix, order)
    if array_class not in (CELL, CHAR, SPARSE, *NUMBERS):
        return False
    if array_class == CELL:
        if depth > MAX_DEPTH:
            raise ValueError("cells are nested too deeply")
        if math.prod(shape) > MAX_ROWS:
            raise InputError(f"A cell array has {math.prod(shape):,} cells; the limit is {MAX_ROWS:,}.")
        parts = list(islice(elements, MAX_ROWS + 1))
        if len(parts) != math.prod(shape) or {kind for kind, _ in parts} - {MATRIX}:
            raise ValueError("the entries of a cell array do not match its shape")
        for _ in parts:
            if next(cells_left, None) is None:
                raise InputError(f"A variable has too many cells; the limit is {MAX_CELLS:,}.")
        return all(not part or _is_readable(part, order, cells_left, depth + 1) for _, part in parts)
    parts = list(islice(elements, 5))
    kinds = [kind for kind, _ in parts]
    if set(kinds) - set(TEXT_TYPES if array_class == CHAR else NUMBER_TYPES):
        raise ValueError("a matrix has values of an unknown type")
    if len(parts) != (3 if array_class == SPARSE else 1) + bool(attributes & COMPLEX):
        raise ValueError("a matrix has too few or too many parts")
    if array_class == SPARSE:  # with bad indices SciPy would access memory outside its arrays
        if kinds[:2] != [5, 5]:
            raise ValueError("a sparse matrix has indices of an unknown type")
        rows, ends = (np.frombuffer(part, f"{order}i4") for _, part in parts[:2])
        sparse.csc_array((np.empty(len(rows), np.int8), rows, ends), shape=shape).check_format(full_check=True)
    return True


def _read_hdf5(file: BinaryIO, name: str, max_bytes: int) -> tuple[Listed, dict[str, dict[str, Variable]]]:
    """Read a MATLAB 7.3 file, which is an HDF5 file; return the list of variables, and arrays by variable.

    Matrices are stored transposed, sparse matrices as groups, and cells as references.
    """
    import h5py

    with h5py.File(file, "r") as root:
        names = [key for key in islice(root, MAX_VARIABLES) if not key.startswith("#")]
        found = {key: root[key] for key in names if isinstance(root.get(key, getlink=True), h5py.HardLink)}
        headers = {key: _hdf5_header(key, one) for key, one in found.items()}
        check_headers(name, filter(None, headers.values()), max_bytes)
        listing = [
            (key, headers[key].shape if headers[key] else (1, 1), _matlab_class(one))  # type: ignore[union-attr]
            for key, one in found.items()
        ]
        values = {key: _hdf5_value(root, one, max_bytes) for key, one in found.items() if headers[key] is not None}
        converted = {key: _convert(key, value, max_bytes) for key, value in values.items() if value is not None}
    return listing, converted


def _matlab_class(value: Any) -> str:
    """Return the MATLAB class, for example "double", "char" or "cell".

    In files of other programs, which do not store it, the class is "double" for numbers and else "struct".
    """
    known = value.attrs.get("MATLAB_class", b"")
    text = known.decode("ascii", "replace") if isinstance(known, bytes) else str(known)
    return text or ("double" if getattr(getattr(value, "dtype", None), "kind", "") in "fiub" else "struct")


def _hdf5_header(key: str, value: Any) -> Header | None:
    """Return the header of the matrix that will be in memory; None for objects that are not read."""
    import h5py

    if isinstance(value, h5py.Group):
        if "MATLAB_sparse" not in value.attrs or not {"data", "ir", "jc"} <= set(value):
            return None
        parts = [_hdf5_header(part, value[part]) for part in ("data", "ir", "jc")]
        if any(part is None or len(part.shape) != 1 for part in parts):
            return None
        rows, columns = int(value.attrs["MATLAB_sparse"]), value["jc"].shape[0] - 1
        check_size(key, 16 * value["ir"].shape[0], MAX_MAT_BYTES)
        return Header(key, (rows, columns), 0)
    if not isinstance(value, h5py.Dataset) or value.shape is None or not 1 <= len(value.shape) <= 2:
        return None
    is_reference = value.dtype == h5py.ref_dtype
    if value.external or value.is_virtual or not (is_reference or value.dtype.kind in "fiub"):
        return None
    check_size(f"A chunk of {key}", math.prod(value.chunks or (1,)) * value.dtype.itemsize, MAX_MAT_BYTES)
    return Header(key, value.shape[::-1], value.dtype.itemsize)


def _hdf5_value(root: Any, value: Any, max_bytes: int, depth: int = 0) -> Any:
    """Return a matrix, a string or an object array of cells, in SciPy's form; None for other types."""
    import h5py

    kind = _matlab_class(value)
    if isinstance(value, h5py.Group):
        parts = [value["data"][()], *(value[part][()].astype(np.int64) for part in ("ir", "jc"))]
        matrix = sparse.csc_array(tuple(parts), shape=(int(value.attrs["MATLAB_sparse"]), len(parts[2]) - 1))
        matrix.check_format(full_check=True)  # refuses indices outside the shape
        return sparse.csr_array(matrix)
    if value.attrs.get("MATLAB_empty"):
        return np.zeros((0, 0)) if kind != "char" else ""
    if kind == "char":
        lines = np.atleast_2d(value[()].T).astype("<u2")
        return np.array([line.tobytes().decode("utf-16-le", "replace") for line in lines])
    if value.dtype != h5py.ref_dtype:
        return np.ascontiguousarray(value[()].T)
    if depth > 1:
        return None
    cells = np.empty(value.size, dtype=object)
    left = max_bytes
    for place, reference in enumerate(value[()].T.ravel(order="F")):
        inner = root[reference] if reference else None
        header = None if inner is None else _hdf5_header("A cell", inner)
        if header is None or (left := left - max(header.item_bytes * math.prod(header.shape), 100)) < 0:
            return None
        cells[place] = _hdf5_value(root, inner, max_bytes, depth + 1)
    return None if any(cell is None for cell in cells) else cells.reshape(value.shape[::-1], order="F")

"""Run as a program by mat.py, never imported: reads one .mat file within limits, writes plain arrays.

From stdin to a .npz file on stdout. Ends with code 0, with code 3 and words on stderr, or however the file
kills it.
"""

import io
import json
import math
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

Listing = Sequence[tuple[str, tuple[int, ...], str]]  # name, shape, kind
MOST_MATRICES = 20  # in the cells of one variable
ITEM_BYTES = {"double": 8, "single": 4, "logical": 1} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def limit_process(memory: int) -> None:
    """Bound what the kernel lets this process take, and keep it from writing any file.

    Windows has no such limits, macOS not all.
    """
    try:
        import resource
    except ImportError:
        return
    limits = {resource.RLIMIT_AS: memory, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    for limit, value in limits.items():
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):  # macOS refuses some of them
            continue


class UnreadableError(Exception):
    """A variable that cannot become plain arrays."""


def chosen(listing: Listing, names: list[str] | None, max_bytes: int) -> list[str]:
    """The variables to read, refused while only their headers have been seen."""
    kinds = {name: kind for name, _, kind in listing}
    has = described(listing) or "nothing"
    if names is None:
        readable = {*ITEM_BYTES, "sparse", "cell", "char"}
        names = [name for name, kind in kinds.items() if kind in readable and name.isidentifier()]
        if not names:
            refuse(f"there is no matrix of numbers; it has {has}.")
    if absent := [name for name in names if name not in kinds]:
        refuse(f"it lacks {', '.join(absent)}; it has {has}.")
    asked = sum(math.prod(shape) * ITEM_BYTES.get(kind, 0) for name, shape, kind in listing if name in names)
    check_bytes(asked, max_bytes)
    return names


def check_bytes(asked: int, max_bytes: int) -> None:
    """Refuse more than is read, of all variables together."""
    if asked > max_bytes:
        refuse(f"its matrices ask for {asked >> 20:,} MB; at most {max_bytes >> 20:,} MB are read.")


def described(listing: Listing) -> str:
    """Such as x (2 × 3), names (cell, 10 × 1)."""
    shapes = {name: " × ".join(f"{n:,}" for n in shape) for name, shape, _ in listing}
    return ", ".join(
        f"{name} ({shapes[name]})" if kind in ITEM_BYTES else f"{name} ({kind}, {shapes[name]})"
        for name, _, kind in listing
    )


def matrix_parts(name: str, value: Any) -> dict[str, Any]:
    """A matrix of numbers as arrays that need no pickle."""
    import numpy as np
    from scipy import sparse

    if isinstance(value, sparse.csc_array):
        value.check_format(full_check=True)  # a crafted index would make the conversion write elsewhere
        rows = value.tocsr()
        pieces = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
        return {f"{name}/{piece}": np.asarray(array) for piece, array in pieces.items()}
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or array.ndim > 2:
        raise UnreadableError(
            f"{name} must be a matrix of real numbers; got {array.dtype} of shape {array.shape}."
        )
    return {f"{name}/dense": np.ascontiguousarray(array)}


def plain_parts(name: str, value: Any) -> dict[str, Any]:
    """Any variable: words and cells of words as a list of them, cells of matrices as a variable each."""
    import numpy as np

    if getattr(value, "dtype", None) is None or value.dtype.kind not in "UO":
        return matrix_parts(name, value)
    cells = value.ravel(order="F")
    words = [word(cell) for cell in cells]
    if None not in words:
        return {f"{name}/words": np.array(words, dtype=np.str_)}
    if len(cells) > MOST_MATRICES:
        raise UnreadableError(f"{name} has {len(cells):,} cells that are not words.")
    parts: dict[str, Any] = {}
    for number, cell in enumerate(cells, start=1):
        parts |= matrix_parts(f"{name} ({number})", cell)
    return parts


def word(cell: Any) -> str | None:
    """What a cell says: a word, a number, or several words in cells of their own; None for anything else."""
    if isinstance(cell, str):
        return str(cell)
    kind = getattr(getattr(cell, "dtype", None), "kind", "")
    if kind == "U":
        return " ".join(cell.ravel())
    if kind == "O":
        inner = [word(own) if own.dtype.kind == "U" else None for own in cell.ravel()]
        return None if None in inner else "|".join(map(str, inner))
    return f"{cell.item():.15g}" if kind in tuple("fiub") and cell.size == 1 else None


def refuse(problem: str) -> NoReturn:
    sys.stderr.buffer.write(problem.encode(errors="replace"))
    sys.stderr.buffer.flush()
    sys.exit(3)


def main() -> None:
    request = json.loads(sys.argv[1])
    limit_process(request["memory"])
    import numpy as np
    from scipy.io import loadmat, whosmat

    try:
        given = sys.stdin.buffer
        file: Any = given if given.seekable() else io.BytesIO(given.read())
        listing = [entry for entry in whosmat(file) if not entry[0].startswith("__")]
        names = chosen(listing, request["names"], request["max_bytes"])
        variables = loadmat(file, variable_names=names, spmatrix=False)
        arrays: dict[str, Any] = {}
        for name in names:
            try:
                arrays |= (plain_parts if request["names"] is None else matrix_parts)(name, variables[name])
            except UnreadableError as problem:
                if request["names"] is not None:
                    refuse(str(problem))
        read = {key.rpartition("/")[0].partition(" (")[0] for key in arrays}
        if request["names"] is None and not read:
            refuse(f"nothing in it can be read; it has {described(listing)}.")
        left_out = [described([entry]) for entry in listing if entry[0] not in read]
        arrays["/left_out"] = np.array(left_out, dtype=np.str_)
        check_bytes(sum(array.nbytes for array in arrays.values()), request["max_bytes"])
        np.savez(sys.stdout.buffer, **arrays)
    except MemoryError:
        refuse("it asks for more memory than may be used; it is damaged or too large.")
    except Exception as error:  # on bad bytes the reader raises nearly anything
        refuse(
            f"cannot be read as a MATLAB file; it is damaged or truncated ({type(error).__name__}: {error})."
        )


if __name__ == "__main__":
    main()

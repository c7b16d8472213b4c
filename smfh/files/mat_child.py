"""Run as a program by mat.py, never imported: reads one .mat file within limits, writes plain arrays.

Ends with code 0 and a .npz file, with code 3 and words on stdout, or however the file kills it.
"""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

ITEM_BYTES = {"double": 8, "single": 4, "logical": 1} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def limit_process(memory: int, largest_file: int) -> None:
    """Bound what the kernel lets this process take; Windows has no such limits, macOS not all."""
    try:
        import resource
    except ImportError:
        return
    limits = {resource.RLIMIT_AS: memory, resource.RLIMIT_FSIZE: largest_file, resource.RLIMIT_CORE: 0}
    for limit, value in limits.items():
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):  # macOS refuses some of them
            continue


def chosen(
    listing: Sequence[tuple[str, tuple[int, ...], str]], names: list[str] | None, max_bytes: int
) -> list[str]:
    """The variables to read, refused while only their headers have been seen."""
    kinds = {name: kind for name, _, kind in listing}
    if names is None:
        numeric = {*ITEM_BYTES, "sparse"}
        names = [name for name, kind in kinds.items() if kind in numeric and name.isidentifier()]
        if not names:
            refuse(f"there is no numeric matrix; it has {', '.join(kinds) or 'nothing'}.")
    if absent := [name for name in names if name not in kinds]:
        refuse(f"it lacks {', '.join(absent)}; it has {', '.join(kinds) or 'nothing'}.")
    asked = sum(math.prod(shape) * ITEM_BYTES.get(kind, 0) for name, shape, kind in listing if name in names)
    if asked > max_bytes:
        refuse(f"its matrices ask for {asked >> 20:,} MB; at most {max_bytes >> 20:,} MB are read.")
    return names


def plain_parts(name: str, value: Any) -> dict[str, Any]:
    """The variable as arrays that need no pickle."""
    import numpy as np
    from scipy import sparse

    if isinstance(value, sparse.csc_array):
        value.check_format(full_check=True)  # a crafted index would make the conversion write elsewhere
        rows = value.tocsr()
        pieces = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
        return {f"{name}/{piece}": np.asarray(array) for piece, array in pieces.items()}
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or array.ndim > 2:
        refuse(f"{name} must be a matrix of real numbers; got {array.dtype} of shape {array.shape}.")
    return {f"{name}/dense": np.ascontiguousarray(array)}


def refuse(problem: str) -> NoReturn:
    sys.stdout.buffer.write(problem.encode(errors="replace"))
    sys.stdout.buffer.flush()
    sys.exit(3)


def main() -> None:
    request = json.loads(sys.argv[1])
    limit_process(request["memory"], request["max_bytes"] + (1 << 20))
    import numpy as np
    from scipy import io

    try:
        listing = io.whosmat(request["source"])
        names = chosen(listing, request["names"], request["max_bytes"])
        variables = io.loadmat(request["source"], variable_names=names, spmatrix=False)
        arrays: dict[str, Any] = {}
        for name in names:
            arrays |= plain_parts(name, variables[name])
        np.savez(request["target"], **arrays)
    except MemoryError:
        refuse("it asks for more memory than may be used; it is damaged or too large.")
    except Exception as error:  # on bad bytes the reader raises nearly anything
        refuse(
            f"cannot be read as a MATLAB file; it is damaged or truncated ({type(error).__name__}: {error})."
        )


if __name__ == "__main__":
    main()

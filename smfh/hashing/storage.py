"""Save a fitted hasher to an .npz file with a JSON header and plain arrays; load and check it."""

import io
import json
from dataclasses import asdict
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from smfh.features.maps import FeatureMap
from smfh.files import Array, Content, pack_npz, read_json, read_npz, shortened, write_npz
from smfh.files.content import MAX_REASON, name_of
from smfh.hashing.base import FittedHasher, HashMethod
from smfh.hashing.function import HashFunction
from smfh.hashing.registry import make_method
from smfh.types import FloatArray, InputError, MultimodalDataset, TrainingStep
from smfh.types.arrays import FLOATS

FORMAT, VERSION = "smfh-hasher", 1
MAX_MODEL_BYTES = 1 << 30  # size of all arrays after unpacking
MAX_QUOTED_CHARACTERS = 40  # of a value from a file that an error message quotes


def save_hasher(hasher: FittedHasher, path: Path) -> None:
    """Save a fitted hasher as an .npz file without pickles, for `load_hasher`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from smfh import SMFH, load_hasher, save_hasher
    >>> from smfh.datasets import Planted
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> save_hasher(SMFH(bits=16).fit(Planted(items=60).load()[0]), path)
    >>> load_hasher(path).bits
    16
    """
    write_npz(path, hasher_arrays(hasher))


def hasher_file(hasher: FittedHasher) -> bytes:
    """Return the bytes of the file that `save_hasher` would write."""
    file = io.BytesIO()
    pack_npz(file, hasher_arrays(hasher))
    return file.getvalue()


def hasher_arrays(hasher: FittedHasher) -> dict[str, Array]:
    """Return the arrays to save: all that encoding and searching need, without the training data."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "method": hasher.method.name,
        "parameters": asdict(hasher.method),
        "trained_on": hasher.trained_on,
        "trace": [asdict(step) for step in hasher.trace],
        "modalities": [
            {
                "name": name,
                "dimensions": function.dimensions,
                "power": function.feature_map.power,
                "unit_rows": function.feature_map.unit_rows,
                "width": function.feature_map.width,
                "split_signs": function.feature_map.split_signs,
            }
            for name, function in hasher.functions.items()
        ],
    }
    arrays: dict[str, Array] = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    # arrays are numbered, because a modality's name may contain any character
    for number, (name, function) in enumerate(hasher.functions.items()):
        arrays[f"{number}.projection"] = function.projection
        arrays[f"{number}.thresholds"] = function.thresholds
        arrays[f"{number}.codes"] = hasher.database_codes[name]
        if function.feature_map.anchors is not None:
            arrays[f"{number}.anchors"] = function.feature_map.anchors
        if name in hasher.bases:
            arrays[f"{number}.basis"] = hasher.bases[name]
    return arrays


def anchors_as_rows(arrays: dict[str, Array], train: MultimodalDataset) -> dict[str, Array]:
    """Replace anchors, which are training items, by their row numbers, to make shipped files smaller."""
    compact = dict(arrays)
    for number, about in enumerate(read_json(arrays["header"].tobytes())["modalities"]):
        if f"{number}.anchors" in arrays:
            scaled = _scaled(train, about)
            rows = {row.tobytes(): k for k, row in enumerate(scaled)}
            found = [rows[anchor.tobytes()] for anchor in arrays[f"{number}.anchors"]]
            compact[f"{number}.anchors"] = np.array(found, dtype=np.int32)
    return compact


def restore_anchors(arrays: dict[str, Array], train: MultimodalDataset) -> dict[str, Array]:
    """Undo `anchors_as_rows`; arrays that contain the anchors themselves are returned unchanged."""
    full = dict(arrays)
    for number, about in enumerate(read_json(arrays["header"].tobytes())["modalities"]):
        rows = arrays.get(f"{number}.anchors")
        if rows is not None and rows.dtype == np.int32 and rows.ndim == 1:
            full[f"{number}.anchors"] = _scaled(train, about)[rows]
    return full


def _scaled(train: MultimodalDataset, about: dict[str, Any]) -> FloatArray:
    """Return the scaled features of a modality as a dense matrix, the form in which anchors are stored."""
    X = train.modalities[str(about["name"])]
    phi = FeatureMap(float(about["power"]), bool(about["unit_rows"]), split_signs=bool(about.get("split_signs", False)))
    scaled = phi.scale(X)
    return np.ascontiguousarray(scaled.toarray() if sparse.issparse(scaled) else scaled)


def load_hasher(content: Content, name: str = "", max_bytes: int = MAX_MODEL_BYTES) -> FittedHasher:
    """Load a hasher that `save_hasher` wrote.

    Parameters
    ----------
    content
        A path, or the content of a file.
    name
        The name of the file in error messages.
    max_bytes
        A file that unpacks to more is refused before it is unpacked.

    Raises
    ------
    InputError
        If the file is not a valid model; the message lists all problems.
    """
    return hasher_of(read_npz(content, name=name, max_bytes=max_bytes), name_of(content, name))


def hasher_of(arrays: dict[str, Array], label: str) -> FittedHasher:
    """Make a hasher from the arrays of a file; error messages call the file `label`."""
    try:
        header = read_json(arrays["header"].tobytes())
        if header["format"] != FORMAT or header["version"] != VERSION:
            raise InputError(
                f"{label} has the format {_cut(header['format'])}, version {_cut(header['version'])}; "
                f"this program reads the format {FORMAT}, version {VERSION}."
            )
        method = make_method(_cut(header["method"]), **header["parameters"])
        about = {str(entry["name"]): (number, entry) for number, entry in enumerate(header["modalities"])}
        if problems := _array_problems(label, arrays, method, [entry for _, entry in about.values()]):
            raise InputError(shortened(problems))
        return FittedHasher(
            method=method,
            functions={name: _function(name, arrays, *entry) for name, entry in about.items()},
            database_codes={name: arrays[f"{number}.codes"] for name, (number, _) in about.items()},
            trace=[_step(**step) for step in header["trace"]],
            trained_on=str(header["trained_on"]),
            bases={n: arrays[f"{i}.basis"] for n, (i, _) in about.items() if f"{i}.basis" in arrays},
        )
    except InputError:
        raise
    except Exception as error:  # a forged header can raise anything
        why = f"{type(error).__name__}: {error}"[:MAX_REASON]
        raise InputError(f"{label} is not a model saved by this program ({why}).") from error


def _cut(value: object) -> str:
    """Shorten a value from a file so that an error message can quote it."""
    return str(value)[:MAX_QUOTED_CHARACTERS]


def _step(iteration: int, terms: dict[str, float], seconds: float, phase: str, note: str = "") -> TrainingStep:
    """Make a step of the trace from the values in a file, converted to their types."""
    numbers = {str(term): float(x) for term, x in terms.items()}
    if not all(isfinite(x) for x in (*numbers.values(), float(seconds))):
        raise ValueError(f"step {iteration} of the trace is not finite")
    return TrainingStep(int(iteration), numbers, float(seconds), str(phase), str(note))


def _function(name: str, arrays: dict[str, Array], number: int, about: dict[str, Any]) -> HashFunction:
    anchors = arrays.get(f"{number}.anchors")
    steps = float(about["power"]), bool(about["unit_rows"]), anchors, float(about["width"])
    feature_map = FeatureMap(*steps, split_signs=bool(about.get("split_signs", False)))
    projection, thresholds = arrays[f"{number}.projection"], arrays[f"{number}.thresholds"]
    return HashFunction(name, int(about["dimensions"]), feature_map, projection, thresholds)


def _array_problems(
    label: str, arrays: dict[str, Array], method: HashMethod, modalities: list[dict[str, Any]]
) -> list[str]:
    """Return a message for each array with an invalid shape, type or value."""
    bits, problems = method.bits, []
    items = {len(arrays[f"{number}.codes"]) for number in range(len(modalities))}
    if len(modalities) < 2 or len(items) != 1:
        problems.append(f"{label} must contain codes of the same items for at least two modalities.")
    for number, about in enumerate(modalities):
        name, anchors = _cut(about["name"]), arrays.get(f"{number}.anchors")
        dimensions = int(about["dimensions"])
        split = 2 * dimensions if about.get("split_signs", False) else dimensions
        inner = split if anchors is None else len(anchors)
        expected: dict[str, tuple[tuple[int, ...], tuple[np.dtype[Any], ...]]] = {
            "projection": ((inner, bits), FLOATS),
            "thresholds": ((bits,), FLOATS),
            "codes": ((*items, -(-bits // 64)), (np.dtype(np.uint64),)),
        }
        if anchors is not None:
            expected["anchors"] = ((inner, split), FLOATS)
        if f"{number}.basis" in arrays:
            expected["basis"] = ((inner, bits), FLOATS)
        for part, (shape, dtypes) in expected.items():
            array = arrays[f"{number}.{part}"]
            if array.shape != shape or array.dtype not in dtypes:
                problems.append(
                    f"{label}: {part} of {name!r} must be {dtypes[0]} {shape}; got {array.dtype} {array.shape}."
                )
            elif array.dtype in FLOATS and not np.isfinite(array).all():
                problems.append(f"{label}: {part} of {name!r} has NaN or infinite values.")
        if not (0 < about["width"] < inf and 0 < about["power"] < inf):
            problems.append(f"{label}: the feature map of {name!r} has an invalid width or power.")
    return problems

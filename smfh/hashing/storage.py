"""A fitted hasher as one .npz file: a JSON header and plain arrays, checked on the way in."""

import io
import json
from dataclasses import asdict
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from smfh.features.maps import FeatureMap
from smfh.files import Array, Content, read_json, read_npz, shortened, write_npz
from smfh.files.arrays import pack_npz
from smfh.files.content import MAX_REASON, name_of
from smfh.hashing.base import FittedHasher, HashMethod
from smfh.hashing.function import HashFunction
from smfh.hashing.registry import make_method
from smfh.types import InputError, TrainingStep
from smfh.types.conversion import FLOATS

FORMAT, VERSION = "smfh-hasher", 1
MAX_MODEL_BYTES = 1 << 30  # of all arrays, unpacked
MAX_WORD = 40  # characters that a message repeats of what a file says


def save_hasher(hasher: FittedHasher, path: Path) -> None:
    """Write the model as a file that `load_hasher` reads."""
    write_npz(path, hasher_arrays(hasher))


def hasher_file(hasher: FittedHasher) -> bytes:
    """The bytes of that file."""
    file = io.BytesIO()
    pack_npz(file, hasher_arrays(hasher))
    return file.getvalue()


def hasher_arrays(hasher: FittedHasher) -> dict[str, Array]:
    """Everything that encoding, searching and looking at the model need; no training data."""
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
            }
            for name, function in hasher.functions.items()
        ],
    }
    arrays: dict[str, Array] = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    # numbered, not named: a modality's name may hold anything
    for number, (name, function) in enumerate(hasher.functions.items()):
        arrays[f"{number}.projection"] = function.projection
        arrays[f"{number}.thresholds"] = function.thresholds
        arrays[f"{number}.codes"] = hasher.database_codes[name]
        if function.feature_map.anchors is not None:
            arrays[f"{number}.anchors"] = function.feature_map.anchors
        if name in hasher.bases:
            arrays[f"{number}.basis"] = hasher.bases[name]
    return arrays


def load_hasher(content: Content, name: str = "", max_bytes: int = MAX_MODEL_BYTES) -> FittedHasher:
    """The hasher that was saved there, or an InputError that lists what is wrong with the file.

    A model that unpacks to more than `max_bytes` is refused before anything of it is.
    """
    return hasher_of(read_npz(content, name=name, max_bytes=max_bytes), name_of(content, name))


def hasher_of(arrays: dict[str, Array], label: str) -> FittedHasher:
    """The hasher that these arrays describe; `label` is what messages call their file."""
    try:
        header = read_json(arrays["header"].tobytes())
        if header["format"] != FORMAT or header["version"] != VERSION:
            raise InputError(
                f"{label} is a {_cut(header['format'])} of version {_cut(header['version'])}; "
                f"this program reads {FORMAT} of version {VERSION}."
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
    except MemoryError as error:
        raise InputError(f"{label} needs more memory than there is; take a smaller model.") from error
    except Exception as error:  # whatever a forged header makes its readers raise
        why = f"{type(error).__name__} at {error}"[:MAX_REASON]
        raise InputError(f"{label} is not a model that this program saved: {why}.") from error


def _cut(said: object) -> str:
    """What a file says, no longer than a message can bear."""
    return str(said)[:MAX_WORD]


def _step(
    iteration: int, terms: dict[str, float], seconds: float, phase: str, note: str = ""
) -> TrainingStep:
    """A step whose every value is of its kind, whatever the file says."""
    numbers = {str(term): float(x) for term, x in terms.items()}
    if not all(isfinite(x) for x in (*numbers.values(), float(seconds))):
        raise ValueError(f"step {iteration} of the trace, which is not finite")
    return TrainingStep(int(iteration), numbers, float(seconds), str(phase), str(note))


def _function(name: str, arrays: dict[str, Array], number: int, about: dict[str, Any]) -> HashFunction:
    anchors = arrays.get(f"{number}.anchors")
    feature_map = FeatureMap(float(about["power"]), bool(about["unit_rows"]), anchors, float(about["width"]))
    projection, thresholds = arrays[f"{number}.projection"], arrays[f"{number}.thresholds"]
    return HashFunction(name, int(about["dimensions"]), feature_map, projection, thresholds)


def _array_problems(
    label: str, arrays: dict[str, Array], method: HashMethod, modalities: list[dict[str, Any]]
) -> list[str]:
    """Shapes and values that do not fit together."""
    bits, problems = method.bits, []
    items = {len(arrays[f"{number}.codes"]) for number in range(len(modalities))}
    if len(modalities) < 2 or len(items) != 1:
        problems.append(f"{label} should hold codes of the same items for two modalities or more.")
    for number, about in enumerate(modalities):
        name, anchors = _cut(about["name"]), arrays.get(f"{number}.anchors")
        dimensions = int(about["dimensions"])
        inner = dimensions if anchors is None else len(anchors)
        expected: dict[str, tuple[tuple[int, ...], tuple[np.dtype[Any], ...]]] = {
            "projection": ((inner, bits), FLOATS),
            "thresholds": ((bits,), FLOATS),
            "codes": ((*items, -(-bits // 64)), (np.dtype(np.uint64),)),
        }
        if anchors is not None:
            expected["anchors"] = ((inner, dimensions), FLOATS)
        if f"{number}.basis" in arrays:
            expected["basis"] = ((inner, bits), FLOATS)
        for part, (shape, dtypes) in expected.items():
            array = arrays[f"{number}.{part}"]
            if array.shape != shape or array.dtype not in dtypes:
                problems.append(
                    f"{label}: {part} of {name!r} should be {dtypes[0]} {shape}; "
                    f"got {array.dtype} {array.shape}."
                )
            elif array.dtype in FLOATS and not np.isfinite(array).all():
                problems.append(f"{label}: {part} of {name!r} has NaN or infinite values.")
        if not (0 < about["width"] < inf and 0 < about["power"] < inf):
            problems.append(f"{label}: the feature map of {name!r} has no valid width and power.")
    return problems

"""What is known of a run without opening its model: the header of its file, and its identity."""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from smfh.datasets import DATASETS, DatasetSource
from smfh.hashing import HashMethod, make_method
from smfh.jobs import JobKey
from smfh.study import Trained
from smfh.types import InputError, unknown

FORMAT, VERSION = "smfh-run", 1  # raised also when a method comes to yield something else
Direction = tuple[str, str, str]  # source, target, protocol


@dataclass(frozen=True)
class Timing:
    """Seconds on the machine that trained."""

    encoding: Mapping[str, float]  # all queries, by their modality
    whole: float  # training, search and all else that the run took


@dataclass(frozen=True)
class RunRecord:
    """Who, what, when, and how it scored."""

    id: str
    title: str  # that a person gave it; "" for none
    when: datetime
    dataset: str  # a name in DATASETS
    options: Mapping[str, Any]  # of the data set
    training_items: int
    queries: int
    data: str  # fingerprint
    split: str  # fingerprint
    trained_on: str  # fingerprint of the training items
    method: HashMethod
    seconds: float  # of training
    timing: Timing
    versions: Mapping[str, str]
    scores: Mapping[Direction, float]  # mAP@100, divided by the relevant items found there
    model_arrays: tuple[str, ...]  # names of those arrays in the file that are the model
    bytes: int  # of the file

    @property
    def key(self) -> JobKey:
        return JobKey("", self.data, self.split, self.method)

    @property
    def source(self) -> DatasetSource:
        """The data set with its options."""
        return DATASETS[self.dataset](**self.options)

    @property
    def directions(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((source, target) for source, target, _ in self.scores))


@dataclass(frozen=True)
class Damaged:
    """A file of the folder that is no run, or no longer one."""

    id: str
    problem: str
    bytes: int


@dataclass(frozen=True)
class Listing:
    """All that is in the folder, the newest run first."""

    runs: tuple[RunRecord, ...]
    damaged: tuple[Damaged, ...]

    @property
    def bytes(self) -> int:
        return sum(run.bytes for run in self.runs) + sum(file.bytes for file in self.damaged)


@lru_cache(maxsize=4096)
def run_id(key: JobKey) -> str:
    """SHA-256 of all that decides the run; the same in every program and on every machine."""
    identity = {
        "version": VERSION,
        "data": key.data,
        "split": key.split,
        "method": key.method.name,
        "parameters": {f.name: _typed(getattr(key.method, f.name), f.default) for f in fields(key.method)},  # type: ignore[arg-type]
    }
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _typed(value: Any, like: Any) -> Any:
    """2 and 2.0 are the same weight, and must be written alike."""
    if isinstance(value, tuple):
        return [float(part) for part in value]
    return type(like)(value)


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"A parameter must be a number, a word or several of them; got {value!r}.")


def header_of(
    key: JobKey, source: DatasetSource, trained: Trained, timing: Timing, model_arrays: list[str]
) -> dict[str, Any]:
    """The header as it goes into the file."""
    first = next(iter(trained.results.values()))
    return {
        "format": FORMAT,
        "version": VERSION,
        "when": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "dataset": source.name,
        "options": asdict(source),
        "training_items": len(next(iter(trained.hasher.database_codes.values()))),
        "queries": len(first.average_precision),
        "data": key.data,
        "split": key.split,
        "trained_on": trained.hasher.trained_on,
        "method": key.method.name,
        "parameters": asdict(key.method),  # type: ignore[call-overload]
        "seconds": trained.hasher.seconds,
        "timing": asdict(timing),
        "versions": versions(),
        "scores": [
            [*direction, result.scores.mean_average_precision]
            for direction, result in trained.results.items()
        ],
        "model_arrays": model_arrays,
    }


def packed_header(header: Mapping[str, Any]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(json.dumps(header, default=_plain).encode(), dtype=np.uint8)


def record_of(id: str, header: bytes, title: str, size: int) -> RunRecord:
    """The header as it comes from a file, every value checked; it must be the run of this id."""
    try:
        said = json.loads(header)
        if said["format"] != FORMAT or said["version"] != VERSION:
            raise InputError(
                f"It is a {str(said['format'])[:40]} of version {str(said['version'])[:40]}; this program "
                f"reads {FORMAT} of version {VERSION}."
            )
        if said["dataset"] not in DATASETS:
            raise unknown("data set", said["dataset"], DATASETS)
        known = {f.name for f in fields(DATASETS[said["dataset"]])}
        record = RunRecord(
            id=id,
            title=title,
            when=datetime.fromisoformat(said["when"]).astimezone(UTC),
            dataset=str(said["dataset"]),
            options={name: value for name, value in _tuples(said["options"]).items() if name in known},
            training_items=int(said["training_items"]),
            queries=int(said["queries"]),
            data=str(said["data"]),
            split=str(said["split"]),
            trained_on=str(said["trained_on"]),
            method=make_method(str(said["method"]), **_tuples(said["parameters"])),
            seconds=float(said["seconds"]),
            timing=Timing(_numbers(said["timing"]["encoding"]), float(said["timing"]["whole"])),
            versions={str(name): str(text) for name, text in said["versions"].items()},
            scores={(str(s), str(t), str(p)): float(score) for s, t, p, score in said["scores"]},
            model_arrays=tuple(map(str, said["model_arrays"])),
            bytes=size,
        )
        record.source  # noqa: B018  its options must make a data set
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(f"Its header is not one of a run: {type(error).__name__} at {error}.") from error
    if run_id(record.key) != id:
        raise InputError("Its name is not that of the run it holds; it was renamed or changed.")
    return record


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no tuples; the fields of methods and data sets have no lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in values.items()}


@cache
def versions() -> Mapping[str, str]:
    """What a result may depend on beside its parameters."""
    found = {"python": platform.python_version(), "numpy": np.__version__}
    try:
        return found | {"smfh": version("smfh-explorer")}
    except PackageNotFoundError:  # started from its folder, not installed
        return found

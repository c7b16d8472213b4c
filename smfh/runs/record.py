"""What is known of a run without opening its model: the header of its file."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from smfh.datasets import DatasetSource, make_source
from smfh.files import Array, read_json
from smfh.files.content import MAX_REASON
from smfh.hashing import HashMethod, make_method
from smfh.metrics import HEADLINE, Scores
from smfh.runs.key import RunKey, behaviour_of, identify
from smfh.runs.run import Run, Search
from smfh.runs.scores import finite, scores_header
from smfh.types import InputError

FORMAT, VERSION = "smfh-run", 3  # of the file's layout
MOST_ITEMS = 10**12  # that a header may speak of
LONGEST_MAKER = 64  # characters


@dataclass(frozen=True)
class Timing:
    """Seconds on the machine that trained."""

    training: float
    encoding: Mapping[str, float]  # all queries, by their modality
    run: float  # training, search and all else


@dataclass(frozen=True)
class RunRecord:
    """Who, what, when, and how it scored."""

    id: str
    title: str  # that a person gave it; "" for none
    when: datetime
    source: DatasetSource
    training_items: int
    queries: int
    key: RunKey
    behaviour: str  # of the method when it was trained
    trained_on: str  # fingerprint of the training items
    timing: Timing
    versions: Mapping[str, str]
    searches: Mapping[Search, Mapping[str, Any]]  # what of their scores is no array, in the file's order
    model_arrays: tuple[str, ...]  # names of those arrays in the file that are the model
    bytes: int  # of the file
    maker: str = ""  # who started it, as a hash; "" for nobody in particular: no part of what it is

    @property
    def method(self) -> HashMethod:
        return self.key.method

    @property
    def is_current(self) -> bool:
        """Whether its method, trained again, would yield the same."""
        return self.behaviour == behaviour_of(self.method)

    @property
    def directions(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((source, target) for source, target, _ in self.searches))

    def headline(self, source: str, target: str, protocol: str = "training") -> dict[str, float]:
        """mAP@100, mAP of the whole ranking, P@100 by name; nothing where this search is not in the file."""
        header = self.searches.get((source, target, protocol))
        return {} if header is None else {name: finite(header["headline"][name]) for name in HEADLINE}


class OlderVersionError(InputError):
    """The file is one of an older version of this program: there is nothing wrong with it."""


def write_header(
    run: Run, scores: Sequence[Scores], timing: Timing, model_arrays: Sequence[str], maker: str = ""
) -> Array:
    """The header as it goes into the file."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "when": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "dataset": run.source.name,
        "options": asdict(run.source),
        "training_items": len(run.split.train),
        "queries": len(run.split.queries),
        "data": run.key.data,
        "split": run.key.split,
        "trained_on": run.hasher.trained_on,
        "method": run.method.name,
        "parameters": asdict(run.method),
        "behaviour": behaviour_of(run.method),
        "timing": asdict(timing),
        "versions": versions(),
        "searches": [scores_header(one) for one in scores],
        "model_arrays": list(model_arrays),
        "maker": maker,
    }
    return np.frombuffer(json.dumps(header, default=_plain).encode(), dtype=np.uint8)


def read_header(id: str, header: bytes, size: int) -> RunRecord:
    """The header as it comes from a file, every value checked; it must be the run of this id."""
    try:
        said = read_json(header)
        if said["format"] == FORMAT and said["version"] in range(1, VERSION):
            what = f"{str(said.get('method'))[:40]} on {str(said.get('dataset'))[:40]}"
            raise OlderVersionError(f"{what}, made by an older version of this program; train it again.")
        if said["format"] != FORMAT or said["version"] != VERSION:
            raise InputError(
                f"It is a {str(said['format'])[:40]} of version {str(said['version'])[:40]}; this program "
                f"reads {FORMAT} of version {VERSION}."
            )
        timing = said["timing"]
        record = RunRecord(
            id=id,
            title="",
            when=datetime.fromisoformat(said["when"]).astimezone(UTC),
            source=_read_source(str(said["dataset"]), said["options"]),
            training_items=_count(said["training_items"]),
            queries=_count(said["queries"]),
            key=RunKey(
                data=str(said["data"]),
                split=str(said["split"]),
                method=make_method(str(said["method"]), **_tuples(said["parameters"])),
            ),
            behaviour=str(said["behaviour"]),
            trained_on=str(said["trained_on"]),
            timing=Timing(
                training=finite(timing["training"]),
                encoding={str(name): finite(value) for name, value in timing["encoding"].items()},
                run=finite(timing["run"]),
            ),
            versions={str(name): str(text) for name, text in said["versions"].items()},
            searches={_search(about): about for about in said["searches"]},
            model_arrays=tuple(map(str, said["model_arrays"])),
            bytes=size,
            maker=str(said.get("maker", ""))[:LONGEST_MAKER],
        )
        for search in record.searches:
            record.headline(*search)
    except InputError:
        raise
    except Exception as error:  # whatever a forged text makes its readers raise
        why = f"{type(error).__name__} at {error}"[:MAX_REASON]
        raise InputError(f"Its header is not one of a run: {why}.") from error
    if identify(record.key, record.behaviour) != id:
        raise InputError("Its name is not that of the run it holds; it was renamed or changed.")
    return record


def _read_source(name: str, options: Mapping[str, Any]) -> DatasetSource:
    """The data set with those of its options that it has today."""
    known = asdict(make_source(name))
    return make_source(name, **{option: _tuples(options)[option] for option in options if option in known})


def _count(value: Any) -> int:
    """A number of items."""
    if not isinstance(value, int) or not 0 < value <= MOST_ITEMS:
        raise InputError(f"It should hold numbers of items; got {str(value)[:40]!r}.")
    return value


def _search(header: Mapping[str, Any]) -> Search:
    source, target, protocol = map(str, header["search"])
    return source, target, protocol


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no tuples; the fields of methods and data sets have no lists."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"A header holds numbers and words; got {value!r}.")


@cache
def versions() -> Mapping[str, str]:
    """What a result may depend on beside its parameters."""
    found = {"python": platform.python_version(), "numpy": np.__version__}
    try:
        return found | {"smfh": version("smfh-explorer")}
    except PackageNotFoundError:  # started from its folder, not installed
        return found

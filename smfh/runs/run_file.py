"""File formats: a saved run (JSON header, arrays of its scores and its model) and the scores of classifiers.

Every value is checked when the file is read, because anyone may have written the file.
"""

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from smfh.datasets import DatasetSource, make_source
from smfh.files import Array, convert_errors, read_json, read_text
from smfh.files.atomic import write_atomically
from smfh.files.content import MAX_REASON
from smfh.hashing import make_method
from smfh.hashing.storage import hasher_arrays
from smfh.metrics import AP_DEFINITIONS, HEADLINE, APScore, RadiusCurve, Scores
from smfh.retrieval.classifiers import ClassifierLevel, LevelScores
from smfh.runs.run import Run, RunKey, RunRecord, Search, Timing, plain_number, ready_searches
from smfh.types import InputError

FORMAT, FORMAT_VERSION = "smfh-run", 5
OLDEST_VERSION = 4  # that can be read; it has no distances, NDCG and partner ranks
HEADER = "run"  # name of the header's array
MAX_ITEMS = 10**12
MAX_NAME_CHARACTERS = 64
MAX_LEVEL_BYTES = 1 << 24

SCORE_ARRAYS = ("average_precision", "over_answers", "within_radius", "graded")
FIGURES = ("tie_aware", "best", "worst", "chance")
RADIUS_CURVES = ("items", "hits", "precision", "recall")


class OlderVersionError(InputError):
    """Error for a file that is not damaged, but was saved by an older version of this program."""


def run_header(run: Run, timing: Timing, scores: Iterable[Scores], saved_by: str = "") -> dict[str, Any]:
    """Return the header of a run's file: everything except its arrays."""
    searches = [
        {
            "search": one.search,
            "figures": {
                name: [getattr(one.average_precision[name], figure) for figure in FIGURES] for name in AP_DEFINITIONS
            },
            "headline": one.headline,
            "chance_precision": one.chance_precision,
            "distinct_codes": one.distinct_codes,
            "queries": one.queries,
            "queries_without_relevant": one.queries_without_relevant,
        }
        for one in scores
    ]
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "when": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "dataset": run.source.name,
        "options": asdict(run.source),
        "training_items": len(run.split.train),
        "queries": len(run.split.queries),
        "data": run.key.data,
        "split": run.key.split,
        "trained_on": run.hasher.trained_on,
        "method": run.method.name,
        "method_version": run.method.version,
        "parameters": asdict(run.method),
        "timing": asdict(timing),
        "versions": versions(),
        "searches": searches,
        "model_arrays": [],
        "saved_by": saved_by,
    }


def run_arrays(
    run: Run,
    timing: Timing,
    saved_by: str = "",
    searches: Sequence[Search] | None = None,
    model: dict[str, Array] | None = None,
) -> dict[str, Array]:
    """Return all arrays for the file of a run, by name: header, scores and model.

    By default it has all searches that are scored after training, and the whole model.
    """
    model = hasher_arrays(run.hasher) if model is None else model
    searches = ready_searches(run.hasher.directions) if searches is None else searches
    scores = [run.scores(*search) for search in searches]
    header = run_header(run, timing, scores, saved_by) | {"model_arrays": list(model)}
    text = json.dumps(header, default=plain_number)
    arrays = {HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **model}
    for number, one in enumerate(scores):
        parts = (
            [one.average_precision[name].by_query for name in AP_DEFINITIONS],  # (definitions, queries)
            [one.precision, one.recall],  # (2, results)
            [getattr(one.within, curve) for curve in RADIUS_CURVES],  # (4, bits + 1)
            [one.ndcg] if one.partner_ranks is None else [one.ndcg, one.partner_ranks],  # (1 or 2, queries)
        )
        arrays |= {name: np.stack(part) for name, part in zip(array_names(number), parts, strict=True)}
    return arrays


def read_header(id: str, header: bytes, file_bytes: int) -> RunRecord:
    """Return a run's record from its file's header; raise InputError if it is damaged or of another run."""
    try:
        values = read_json(header)
        if values["format"] == FORMAT and values["version"] in range(1, OLDEST_VERSION):
            what = f"{str(values.get('method'))[:40]} on {str(values.get('dataset'))[:40]}"
            raise OlderVersionError(f"{what}, saved by an older version of this program; train it again.")
        if values["format"] != FORMAT or values["version"] not in range(OLDEST_VERSION, FORMAT_VERSION + 1):
            raise InputError(
                f"It has the format {str(values['format'])[:40]}, version {str(values['version'])[:40]}; "
                f"this program reads the format {FORMAT}, version {FORMAT_VERSION}."
            )
        record = header_record(id, values, file_bytes)
        named = record.key.id_for_version(record.method_version)
    except InputError:
        raise
    except Exception as error:  # a forged header can raise anything
        why = f"{type(error).__name__} at {error}"[:MAX_REASON]
        raise InputError(f"Its header does not describe a run: {why}.") from error
    if named != id:
        raise InputError("The name of the file does not match the run in it: the file was renamed or changed.")
    return record


def header_record(
    id: str, values: Mapping[str, Any], file_bytes: int = 0, source: DatasetSource | None = None
) -> RunRecord:
    """Return the record of a run from its header; pass `source` if the header does not name the data set."""
    method = make_method(str(values["method"]), **_lists_to_tuples(values["parameters"]))
    timing = values["timing"]
    if source is None:
        known = asdict(make_source(dataset := str(values["dataset"])))
        options = _lists_to_tuples(values["options"])
        source = make_source(dataset, **{name: options[name] for name in options if name in known})
    searches: dict[Search, Mapping[str, Any]] = {}
    for about in values["searches"]:
        origin, target, protocol, *distances = map(str, about["search"])
        (distance,) = distances or ("hamming",)
        searches[origin, target, protocol, distance] = about
        for name in HEADLINE:
            finite(about["headline"][name])
    return RunRecord(
        id=id,
        title="",
        when=datetime.fromisoformat(values["when"]).astimezone(UTC),
        source=source,
        training_items=_item_count(values["training_items"]),
        queries=_item_count(values["queries"]),
        key=RunKey(str(values["data"]), str(values["split"]), method),
        method_version=int(values["method_version"]),
        trained_on=str(values["trained_on"]),
        timing=Timing(
            training=finite(timing["training"]),
            encoding={str(name): finite(value) for name, value in timing["encoding"].items()},
            run=finite(timing["run"]),
        ),
        versions={str(name): str(text) for name, text in values["versions"].items()},
        searches=searches,
        model_arrays=tuple(map(str, values["model_arrays"])),
        bytes=file_bytes,
        saved_by=str(values.get("saved_by", ""))[:MAX_NAME_CHARACTERS],
    )


def array_names(number: int) -> tuple[str, ...]:
    """Return the names, in a run's file, of the score arrays of the search with this number."""
    return tuple(f"scores.{number}.{part}" for part in SCORE_ARRAYS)


def read_scores(header: Mapping[str, Any], arrays: Sequence[Array], bits: int) -> Scores:
    """Return the scores from a search's header and arrays; check all shapes and numbers."""
    precisions, over_results, radius, graded = arrays
    source, target, protocol, distance = map(str, header["search"])
    queries, has_partners = int(header["queries"]), protocol == "unseen"
    shapes = (
        (len(AP_DEFINITIONS), queries),
        (2, over_results.shape[-1]),
        (len(RADIUS_CURVES), bits + 1),
        (1 + has_partners, queries),
    )
    for part, array, shape in zip(SCORE_ARRAYS, arrays, shapes, strict=True):
        is_sound = array.shape == shape and array.dtype == np.float64 and array.size > 0
        if not (is_sound and np.isfinite(array).all()):
            raise InputError(f"Its {part} should be finite float64 {shape}; got {array.dtype} {array.shape}.")
    return Scores(
        source=source,
        target=target,
        protocol=protocol,
        distance=distance,
        average_precision={
            name: APScore(
                definition=AP_DEFINITIONS[name],
                by_query=by_query,
                **dict(zip(FIGURES, map(finite, header["figures"][name]), strict=True)),
            )
            for name, by_query in zip(AP_DEFINITIONS, precisions, strict=True)
        },
        precision=over_results[0],
        recall=over_results[1],
        chance_precision=finite(header["chance_precision"]),
        within=RadiusCurve(*radius),
        ndcg=graded[0],
        partner_ranks=graded[1] if has_partners else None,
        distinct_codes=None if (codes := header.get("distinct_codes")) is None else _item_count(codes),
        queries=queries,
        queries_without_relevant=int(header["queries_without_relevant"]),
    )


def finite(value: Any) -> float:
    """Convert a value to float; raise InputError for infinity and NaN."""
    number = float(value)
    if not np.isfinite(number):
        raise InputError(f"Expected a finite number; got {str(value)[:40]!r}.")
    return number


@cache
def versions() -> Mapping[str, str]:
    """Return the versions of Python, NumPy and, if it is installed, this program."""
    found = {"python": platform.python_version(), "numpy": np.__version__}
    try:
        return found | {"smfh": version("smfh-explorer")}
    except PackageNotFoundError:
        return found


def _item_count(value: Any) -> int:
    if not isinstance(value, int) or not 0 < value <= MAX_ITEMS:
        raise InputError(f"Expected a number of items; got {str(value)[:40]!r}.")
    return value


def _lists_to_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert lists, as read from JSON, to tuples, as methods and data sets expect."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def write_level(path: Path, level: ClassifierLevel) -> None:
    """Write the scores of classifiers to a JSON file, completely or not at all."""
    classifiers, ridge = (
        [{"search": search, "scores": scores} for search, scores in levels.items()]
        for levels in (level.scores, level.kernel_ridge)
    )
    text = json.dumps({"searches": classifiers, "kernel_ridge": ridge, "told": level.notes})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(text.encode()))


def read_level(path: Path) -> ClassifierLevel | None:
    """Return the scores of classifiers in a file; None if the file is missing or damaged."""
    if not path.is_file():
        return None
    try:
        with convert_errors(path.name):
            values = read_json(read_text(path, max_bytes=MAX_LEVEL_BYTES))
            classifiers, ridge = (_level_scores(values[name]) for name in ("searches", "kernel_ridge"))
            return ClassifierLevel(classifiers, ridge, tuple(map(str, values["told"])))
    except InputError:
        return None


def _level_scores(searches: Any) -> LevelScores:
    scores = {}
    for one in searches:
        source, target, protocol = map(str, one["search"])
        scores[source, target, protocol] = {name: finite(one["scores"][name]) for name in AP_DEFINITIONS}
    return scores

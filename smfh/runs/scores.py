"""Scores as arrays of a run's file, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from smfh.files import Array
from smfh.metrics import AP_DEFINITIONS, APScore, RadiusCurve, Scores
from smfh.types import FloatArray, InputError

PARTS = ("average_precision", "over_answers", "within_radius")
FIGURES = ("tie_aware", "best", "worst", "chance")
RADIUS = ("items", "hits", "precision", "recall")


def array_names(number: int) -> tuple[str, ...]:
    """The names of the arrays of a run's search; numbered, since a modality's name may hold anything."""
    return tuple(f"scores.{number}.{part}" for part in PARTS)


def scores_arrays(number: int, scores: Scores) -> dict[str, Array]:
    """Average precisions (definitions, queries), curves over answers (2, depth) and radius (4, bits + 1)."""
    parts = (
        [scores.average_precision[name].by_query for name in AP_DEFINITIONS],
        [scores.precision, scores.recall],
        [getattr(scores.within, what) for what in RADIUS],
    )
    return {name: np.stack(part) for name, part in zip(array_names(number), parts, strict=True)}


def scores_header(scores: Scores) -> dict[str, Any]:
    """What of the scores is no array."""
    return {
        "search": [scores.source, scores.target, scores.protocol],
        "figures": {
            name: [getattr(scores.average_precision[name], figure) for figure in FIGURES]
            for name in AP_DEFINITIONS
        },
        "headline": scores.headline,
        "chance_precision": scores.chance_precision,
        "queries": scores.queries,
        "queries_without_relevant": scores.queries_without_relevant,
    }


def read_scores(header: Mapping[str, Any], arrays: Sequence[Array], bits: int) -> Scores:
    """The scores that these say; every shape and number is looked at."""
    precisions, answers, radius = arrays
    queries, without = int(header["queries"]), int(header["queries_without_relevant"])
    for part, array, shape in (
        (PARTS[0], precisions, (len(AP_DEFINITIONS), queries)),
        (PARTS[1], answers, (2, answers.shape[-1])),
        (PARTS[2], radius, (len(RADIUS), bits + 1)),
    ):
        if (
            array.shape != shape
            or array.dtype != np.float64
            or not array.size
            or not np.isfinite(array).all()
        ):
            raise InputError(f"Its {part} should be finite float64 {shape}; got {array.dtype} {array.shape}.")
    source, target, protocol = map(str, header["search"])
    return Scores(
        source=source,
        target=target,
        protocol=protocol,
        average_precision={
            name: _score(name, by_query, header["figures"][name])
            for name, by_query in zip(AP_DEFINITIONS, precisions, strict=True)
        },
        precision=answers[0],
        recall=answers[1],
        chance_precision=finite(header["chance_precision"]),
        within=RadiusCurve(*radius),
        queries=queries,
        queries_without_relevant=without,
    )


def _score(name: str, by_query: FloatArray, figures: Sequence[Any]) -> APScore:
    values = dict(zip(FIGURES, map(finite, figures), strict=True))
    return APScore(definition=AP_DEFINITIONS[name], by_query=by_query, **values)


def finite(value: Any) -> float:
    """The number, if it is one."""
    number = float(value)
    if not np.isfinite(number):
        raise InputError(f"It should hold finite numbers; got {str(value)[:40]!r}.")
    return number

"""How training went: the objective and every term of it, iteration by iteration."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from smfh.plots.chart import Axis, Mark
from smfh.plots.lines import Line, LineChart
from smfh.plots.theme import PINNED_DASHES, SYMBOLS, number, term_colour, turn
from smfh.types import FloatArray, TrainingStep

OBJECTIVE = "objective"


def convergence(
    trace: Sequence[TrainingStep],
    pinned: Sequence[TrainingStep] | None = None,
    log: bool = False,
    relative: bool = False,
    total: int | None = None,
) -> LineChart:
    """The objective and its terms over iterations, those of a pinned run dotted beside them.

    `relative` divides each by its first value. `total` iterations keep the axis still while training runs.
    """
    lines = _lines(trace, relative) + _lines(pinned or (), relative, pinned=True)
    last = max([total or 1, *(step.iteration for step in (*trace, *(pinned or ())))])
    return LineChart(
        kind="convergence",
        title=_finding(trace),
        description=_description(trace),
        x=Axis("iteration", limits=(1, max(last, 2))),
        y=Axis("share of the first value" if relative else "weighted value", log=log),
        lines=lines,
        marks=_phases(trace),
        note="No iteration yet. Press Train and watch the objective fall.",
        format=",.4~g",
    )


def _lines(trace: Sequence[TrainingStep], relative: bool, pinned: bool = False) -> tuple[Line, ...]:
    iterations = np.array([step.iteration for step in trace])
    lines = []
    for term, values in _terms(trace).items():
        if relative and values[0] == 0:
            continue  # no share of nothing
        modality = _place_among_kind(term, tuple(trace[0].terms))
        lines.append(
            Line(
                name=f"{term} (pinned)" if pinned else term,
                x=iterations,
                y=values / values[0] if relative else values,
                colour=term_colour(term),
                dash=PINNED_DASHES[0] if pinned else "solid",
                symbol=None if term == OBJECTIVE else turn(SYMBOLS, modality),
                width=3 if term == OBJECTIVE else 2,
                faint=pinned,
                group=term,
                listed=not pinned or term == OBJECTIVE,
            )
        )
    return tuple(lines)


def _terms(trace: Sequence[TrainingStep]) -> Mapping[str, FloatArray]:
    """The objective and the terms that every step has, each over the iterations."""
    if not trace:
        return {}
    return {
        OBJECTIVE: np.array([step.objective for step in trace]),
        **{
            term: np.array([step.terms.get(term, np.nan) for step in trace], dtype=np.float64)
            for term in trace[0].terms
        },
    }


def _place_among_kind(term: str, terms: Sequence[str]) -> int:
    """0 for the first modality that a kind of term names, 1 for the second, …"""
    kind = term.split(" (")[0]
    return [other for other in terms if other.split(" (")[0] == kind].index(term) if term in terms else 0


def _phases(trace: Sequence[TrainingStep]) -> tuple[Mark, ...]:
    """What comes after the descent, shaded."""
    marks = []
    for phase, steps in groupby(trace, key=lambda step: step.phase):
        if phase != "descent":
            iterations = [step.iteration for step in steps]
            marks.append(Mark(phase, iterations[0] - 0.5, iterations[-1] + 0.5))
    return tuple(marks)


def _descent(trace: Sequence[TrainingStep]) -> list[TrainingStep]:
    """The first phase: the objective of another, as of binary codes, cannot be compared with it."""
    return [step for step in trace if step.phase == trace[0].phase]


def _finding(trace: Sequence[TrainingStep]) -> str:
    if not trace:
        return "Nothing has been trained yet"
    steps = _descent(trace)
    first, last = steps[0].objective, steps[-1].objective
    if len(steps) == 1 or first == 0:
        return f"The objective starts at {number(first)}"
    verb = "fell" if last < first else "rose"
    return f"The objective {verb} by {abs(last / first - 1):.1%} in {len(steps)} iterations"


def _description(trace: Sequence[TrainingStep]) -> str:
    if not trace:
        return "Empty axes: nothing has been trained yet."
    steps = _descent(trace)
    terms = steps[-1].terms
    largest = max(terms, key=terms.__getitem__)
    return (
        f"Line chart of the objective and its {len(terms)} terms: in {len(steps)} iterations the objective "
        f"went from {number(steps[0].objective)} to {number(steps[-1].objective)}; its largest term is then "
        f"{largest}, {number(terms[largest])}."
    )

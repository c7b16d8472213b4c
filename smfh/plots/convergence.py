"""How training went: the objective and every term of it, iteration by iteration, a panel for each phase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, Chart, Row, chart
from smfh.plots.lines import Line, LineChart
from smfh.plots.theme import SYMBOLS, number, plain, term_colour, turn
from smfh.types import FloatArray, TrainingStep

OBJECTIVE = "objective"
FIRST_PHASE = "descent"
NOTE = "No iteration yet. Press Train and watch the objective fall."
HEADING = 48  # pixels above the panels
SPLIT, GAP = 0.6, 0.12  # of the width: where the first of two panels ends, and what lies between them
ROUNDING = 1e-6  # share by which an objective may rise without meaning it
Trace = Sequence[TrainingStep]


@dataclass(frozen=True, eq=False, kw_only=True)
class PhaseChart(Chart):
    """The phases of a training side by side, each on its own scale: their objectives cannot be compared."""

    panels: tuple[LineChart, ...]  # the titles of which stand above them

    @property
    def height(self) -> int:
        return max(panel.height for panel in self.panels)

    def _draw(self, figure: go.Figure) -> None:
        figure.update_layout(hovermode="x unified", showlegend=not all(p.ends_named for p in self.panels))
        others = len(self.panels) - 1
        ends = np.linspace(SPLIT if others else 1, 1, others + 1).tolist()
        starts = [0, *(end + GAP for end in ends)]  # the first is the widest, as it is the longest
        for k, panel in enumerate(self.panels):
            name = str(k + 1) if k else ""
            panel.draw_panel(figure, name, domain=[starts[k], ends[k]])
            figure.update_layout({f"yaxis{name}_anchor": f"x{name}"})
            if k:
                figure.update_layout({f"yaxis{name}_title_text": ""})  # as of the first
            if others:
                above = {"x": starts[k], "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left"}
                text = plain(panel.title).replace(": ", "<br>").replace(" in ", "<br>in ")  # fits a phone
                look = {"yanchor": "bottom", "showarrow": False, "align": "left", "font": {"size": 13}}
                figure.add_annotation(text=text, **above, **look)
        if others:
            margin, title = figure.layout.margin.t, figure.layout.title.pad.b
            figure.update_layout(margin_t=margin + HEADING, title_pad_b=title + HEADING)

    def rows(self) -> list[Row]:
        """A row for every value of every phase."""
        return [{"phase": panel.kind, **row} for panel in self.panels for row in panel.rows()]


@chart
def convergence(
    trace: Trace, pinned: Trace | None = None, log: bool = False, relative: bool = False, total: int = 0
) -> PhaseChart:
    """The objective and its terms over iterations, those of a pinned run dotted beside them.

    `relative` divides each by its first value of the phase. `total` iterations keep the last axis still while
    training runs.
    """
    phases, before = _phases(trace), _phases(pinned or ())
    names = list(dict.fromkeys([*phases, *before])) or [FIRST_PHASE]
    panels = []
    for name in names:
        now, then = phases.get(name, []), before.get(name, [])
        iterations = [step.iteration for step in (*now, *then)] or [1]
        last = max(*iterations, 2, total if name == names[-1] else 0)
        x = Axis("iteration", limits=(min(iterations), last))
        panels.append(
            LineChart(
                kind=name,
                title=_words(name, now),
                description="",
                x=x if name == names[0] else replace(x, ticks=x.limits),
                y=Axis("share of the first value" if relative else "weighted value", log=log),
                # named where they end for good: a term looks the same in every phase
                lines=_lines(now, relative, named=[name] == list(phases)[-1:])
                + _lines(then, relative, named=name == names[-1], pinned=True),
                format=",.4~g",
            )
        )
    return PhaseChart(
        kind="convergence",
        title="; ".join(_words(name, steps) for name, steps in phases.items()).capitalize()
        or "Nothing has been trained yet",
        description=_description(phases),
        panels=tuple(panels),
        note=NOTE,
    )


def _phases(trace: Trace) -> dict[str, list[TrainingStep]]:
    return {name: list(steps) for name, steps in groupby(trace, key=lambda step: step.phase)}


def _lines(trace: Trace, relative: bool, named: bool, pinned: bool = False) -> tuple[Line, ...]:
    lines, kinds = [], []
    for term, values in _terms(trace).items():
        kinds.append(term.split(" (")[0])  # without its modality, which the symbol tells
        if relative and values[0] == 0:
            continue  # no share of nothing
        lines.append(
            Line(
                name=f"{term} (pinned)" if pinned else term,
                x=np.array([step.iteration for step in trace]),
                y=values / values[0] if relative else values,
                colour=term_colour(term),
                dash="dot" if pinned else "solid",
                symbol=None if term == OBJECTIVE else turn(SYMBOLS, kinds[:-1].count(kinds[-1])),
                width=3 if term == OBJECTIVE else 2,
                faint=pinned,
                listed=named and (not pinned or term == OBJECTIVE),
            )
        )
    return tuple(lines)


def _terms(trace: Trace) -> Mapping[str, FloatArray]:
    """The objective and the terms of the first step, each over the iterations."""
    if not trace:
        return {}
    terms = {term: [step.terms.get(term, np.nan) for step in trace] for term in trace[0].terms}
    terms = {OBJECTIVE: [step.objective for step in trace]} | terms
    return {term: np.array(values, dtype=np.float64) for term, values in terms.items()}


def _words(phase: str, steps: Trace) -> str:
    """What happened: descent: −81.3 % in 30 iterations."""
    if not steps:
        return phase
    first, last = steps[0].objective, steps[-1].objective
    if len(steps) == 1 or first == 0:
        return f"{phase}: starts at {number(first)}"
    change = f"{100 * (last / first - 1):+.1f} %".replace("-", "−")
    change = change.replace("+0.0", "±0").replace("−0.0", "±0")
    return f"{phase}: {change} in {len(steps)} {'iterations' if phase == FIRST_PHASE else 'rounds'}"


def _description(phases: Mapping[str, Trace]) -> str:
    if not phases:
        return "Empty axes: nothing has been trained yet."
    told = ["Line chart of the objective and its terms, a panel for each phase."]
    for name, steps in phases.items():
        objective, terms = _terms(steps)[OBJECTIVE], steps[-1].terms
        largest = max(terms, key=terms.__getitem__)
        told.append(
            f"{name.capitalize()}: in {len(steps)} steps the objective went from {number(objective[0])} "
            f"to {number(objective[-1])}; its largest term is then {largest}, {number(terms[largest])}."
        )
        if rises := np.count_nonzero(objective[1:] > objective[:-1] * (1 + ROUNDING)):
            told.append(f"In {rises} of {len(steps) - 1} steps it rose: this {name} is not monotone.")
    return " ".join(told)

"""Convergence of a run with a panel per phase, and the charts of the Learn page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import plotly.graph_objects as go

from smfh.plots.chart import Axis, BarChart, Bars, Chart, Mark, Row, chart
from smfh.plots.lines import Band, Line, LineChart
from smfh.plots.theme import BLUE, GREEN, GREY, PALETTE, SYMBOLS, cycle, number, plain, term_colour
from smfh.types import TrainingStep

OBJECTIVE = "objective"
FIRST_PHASE = "descent"
NOTE = "No iteration yet. Press Train to see the objective fall."
HEADING_PIXELS = 48  # above the panels
FIRST_WIDTH, GAP = 0.6, 0.12  # shares of the width: first of several panels, space between panels
MAX_COUNT_TICKS = 10
MIN_CHANGE = 5e-3  # of the objective in a phase that has a panel
ROUNDING = 1e-6  # relative rises below this are ignored
Trace = Sequence[TrainingStep]


@dataclass(frozen=True, eq=False)
class PhaseChart(Chart):
    """The phases of a run side by side, each with its own scale, because their objectives differ."""

    panels: tuple[LineChart, ...]  # each with its title above

    @property
    def height(self) -> int:
        return max(panel.height for panel in self.panels) + (HEADING_PIXELS if len(self.panels) > 1 else 0)

    def _draw(self, figure: go.Figure) -> None:
        figure.update_layout(hovermode="x unified", showlegend=not all(p.ends_named for p in self.panels))
        others = len(self.panels) - 1
        ends = np.linspace(FIRST_WIDTH if others else 1, 1, others + 1).tolist()
        starts = [0, *(end + GAP for end in ends)]  # the first phase has most iterations
        for k, panel in enumerate(self.panels):
            name = str(k + 1) if k else ""
            panel.draw_panel(figure, name, domain=[starts[k], ends[k]])
            figure.update_layout({f"yaxis{name}_anchor": f"x{name}"})
            if k:
                figure.update_layout({f"yaxis{name}_title_text": ""})  # the same as in the first panel
            if others:
                above = {"x": starts[k], "y": 1, "xref": "paper", "yref": "paper", "xanchor": "left"}
                text = plain(panel.title).replace(": ", "<br>").replace(" in ", "<br>in ")  # fits a phone
                look = {"yanchor": "bottom", "showarrow": False, "align": "left", "font": {"size": 13}}
                figure.add_annotation(text=text, **above, **look)
        if others:
            margin, title = figure.layout.margin.t, figure.layout.title.pad.b
            figure.update_layout(margin_t=margin + HEADING_PIXELS, title_pad_b=title + HEADING_PIXELS)

    def rows(self) -> list[Row]:
        """Return a row per point of every line, with its phase."""
        return [{"phase": panel.kind, **row} for panel in self.panels for row in panel.rows()]


@chart
def convergence(
    trace: Trace, pinned: Trace | None = None, log: bool = False, relative: bool = False, total: int = 0
) -> PhaseChart:
    """Show the objective and its terms over iterations; lines of a pinned run are dotted.

    `relative` divides each line by its first value in the phase. `total` is the planned number of iterations,
    which fixes the length of the last axis while training runs. A later phase in which the objective changes by
    less than 0.5 % has no panel.
    """
    phases, before = (
        {name: list(steps) for name, steps in groupby(run, key=lambda step: step.phase)}
        for run in (trace, pinned or ())
    )

    def is_drawn(steps: Trace) -> bool:
        first, last = steps[0].objective, steps[-1].objective
        return len(steps) == 1 or abs(last - first) >= MIN_CHANGE * abs(first)

    drawn = [name for name, steps in phases.items() if name == FIRST_PHASE or is_drawn(steps)]
    names = list(dict.fromkeys([*drawn, *(name for name in before if name not in phases)])) or [FIRST_PHASE]
    panels, y = [], Axis("share of the first value" if relative else "weighted term of the objective", log=log)
    for name in names:
        now, then, is_last = phases.get(name, []), before.get(name, []), name == names[-1]
        iterations = [step.iteration for step in (*now, *then)] or [1]
        x = Axis("iteration", limits=(min(iterations), max(*iterations, 2, total if is_last else 0)))
        if name != names[0]:
            x = replace(x, ticks=x.limits)
        # named only in the last phase: a term looks the same in every phase
        lines = _lines(now, relative, named=[name] == drawn[-1:]) + _lines(then, relative, named=is_last, pinned=True)
        panels.append(LineChart(name, _summary(name, now), "", x, y, lines, format=",.4~g"))
    title = "; ".join(_summary(name, steps) for name, steps in phases.items()).capitalize() or "Nothing trained yet"
    return PhaseChart("convergence", title, _description(phases), tuple(panels), note=NOTE)


def _lines(trace: Trace, relative: bool, named: bool, pinned: bool = False) -> tuple[Line, ...]:
    """Return a line for the objective and for each term of the first step."""
    lines, kinds, at = [], list[str](), np.array([step.iteration for step in trace])
    for term in [OBJECTIVE, *trace[0].terms] if trace else ():
        is_objective = term == OBJECTIVE
        y = np.array([step.objective if is_objective else step.terms.get(term, np.nan) for step in trace])
        kinds.append(term.split(" (")[0])  # without its modality, which the symbol shows
        if relative and y[0] == 0:
            continue  # no division by 0
        line = Line(
            f"{term} (pinned)" if pinned else term,
            at,
            y / y[0] if relative else y,
            term_colour(term),
            "dot" if pinned else "solid",
            None if is_objective else cycle(SYMBOLS, kinds[:-1].count(kinds[-1])),
            width=3 if is_objective else 2,
            faint=pinned,
            listed=named and (is_objective or not pinned),
        )
        lines.append(line)
    return tuple(lines)


def _summary(phase: str, steps: Trace) -> str:
    """Return a summary of a phase, such as "descent: −81.3 % in 30 iterations"."""
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
        return "Empty axes: nothing trained yet."
    sentences = ["Line chart of the objective and its terms, with a panel per phase."]
    for name, steps in phases.items():
        objective, terms = np.array([step.objective for step in steps]), steps[-1].terms
        largest = max(terms, key=terms.__getitem__)
        sentences.append(
            f"{name.capitalize()}: in {len(steps)} steps the objective went from {number(objective[0])} "
            f"to {number(objective[-1])}; its largest term is then {largest}, {number(terms[largest])}."
        )
        if rises := np.count_nonzero(objective[1:] > objective[:-1] * (1 + ROUNDING)):
            sentences.append(f"It rose in {rises} of {len(steps) - 1} steps.")
    return " ".join(sentences)


PADDING = 0.08  # share of the range of values, added above and below
END_SPACE = 0.3  # stops, added at both ends of the axis, so that no marker is cut off


@chart
def along_stops(
    axis: str,
    stops: Sequence[str],
    series: Sequence[tuple[str, Sequence[float], tuple[Sequence[float], Sequence[float]] | None]],
    unit: str,
    at: int = 0,
) -> LineChart:
    """Show series of values (name, values, band) over the stops of a lesson's slider; mark stop `at`."""
    lines = tuple(
        Line(
            name,
            np.arange(len(stops)),
            np.array(values),
            cycle(PALETTE, place),
            symbol=cycle(SYMBOLS, place),
            bands=() if band is None else (Band("ties", np.array(band[0]), np.array(band[1])),),
            points=tuple(f"{axis} {stop}" for stop in stops),
        )
        for place, (name, values, band) in enumerate(series)
        if len(values)
    )
    best, limits = [], None
    for line in lines:
        top = float(line.y.max())
        score = f"{top:,.0f}" if top > 1 and top == round(top) else number(top)
        best.append(f"{line.name} {score} at {axis} {stops[int(line.y.argmax())]}")
    if lines:
        low, high = min(line.y.min() for line in lines), max(line.y.max() for line in lines)
        padding = PADDING * ((high - low) or 1.0)
        limits = float(low - padding), float(high + padding)
    title = f"Highest: {'; '.join(best)}" if best else f"No {unit} yet"
    about = f"Line chart of {unit} along {axis}. Highest: {'; '.join(best) or 'nothing'}."
    x = Axis(axis, limits=(-END_SPACE, max(len(stops) - 1, 1) + END_SPACE), names=tuple(stops))
    marks = (Mark(f"{axis} {stops[at]}", at),) if len(stops) > at else ()
    y = Axis(unit, limits=limits)
    return LineChart(f"{unit} along {axis}", title, about, x, y, lines, is_short=True, marks=marks)


@chart
def objective_at(trace: Sequence[TrainingStep], scores: Sequence[float] = (), at: int = 1) -> LineChart:
    """Show the objective as a share of its first value, and the scores; iteration `at` is marked."""
    iterations = np.array([step.iteration for step in trace])
    lines, marks, title = list[Line](), tuple[Mark, ...](), "Nothing trained yet"
    if len(trace):
        shares = np.array([step.objective for step in trace]) / trace[0].objective
        lines, marks = [Line("objective", iterations, shares, GREY)], (Mark(f"iteration {at}", at),)
        title = f"Iteration {at}: the objective is at {shares[at - 1]:.0%} of its first value"
        if len(scores):
            lines.append(Line("mAP@100", iterations, np.array(scores), PALETTE[0], symbol=SYMBOLS[0]))
            title += f", mAP@100 at {scores[at - 1]:.3f}"
    about = f"Line chart over iterations. {title}."
    x = Axis("iteration", limits=(1 - 2 * END_SPACE, max(len(trace), 2) + 2 * END_SPACE))
    y = Axis("objective / first value; mAP@100")
    return LineChart("objective and score", title, about, x, y, tuple(lines), is_short=True, marks=marks)


@chart
def answer_counts(options: Sequence[str], counts: Sequence[int], measured: int | None = None) -> BarChart:
    """Show how many students chose each option; mark the option that agrees with the measurements."""
    values = np.array(counts, dtype=np.int64)
    total, top = int(values.sum()), int(values.max(initial=0))
    at = np.arange(len(values)) if total else np.zeros(0, dtype=np.int64)
    title = f"{total:,} {'answer' if total == 1 else 'answers'}" if total else "No answers yet"
    series: tuple[Bars, ...] = (Bars("answers", at, values[at], BLUE),)
    if measured is not None:
        title += f"; measured: {options[measured]}"
        same, others = at[at == measured], at[at != measured]
        series = (
            Bars("measured answer", same, values[same], GREEN),
            Bars("other answers", others, values[others], BLUE, pattern="/"),
        )
    chosen = "; ".join(f"{option}: {count:,}" for option, count in zip(options, counts, strict=True))
    step = max(1, -(-top // MAX_COUNT_TICKS))  # whole numbers only
    about = f"Bar chart of a class's answers. {title}. {chosen or 'No options'}."
    value = Axis("students", limits=(0, top + 0.5), ticks=tuple(range(0, top + 1, step)))
    note = "No answers yet. Students open the link or type the room code."
    along = Axis("answer", names=tuple(options))
    return BarChart("answers of a class", title, about, along, value, series, horizontal=True, note=note)

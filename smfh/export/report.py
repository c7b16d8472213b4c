"""Charts of a comparison, and its report: one HTML file with charts, tables, settings and a command."""

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from smfh.experiments.comparison import Grid, View, curves, points
from smfh.export.tables import compared_pairs, pair_rows, score_rows, sentences, settings_of, winners
from smfh.hamming import DISTANCES
from smfh.metrics import GRADED
from smfh.metrics.significance import how_tested
from smfh.plots import (
    Chart,
    Line,
    Published,
    chart_html,
    plotly_script,
    precision_at_k,
    precision_by_recall,
    recall_at_k,
    score_curves,
    with_crosses,
)
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.runs import RunStore, SavedRuns

HITS = "queries with a relevant item within radius {} / all queries"
SECONDS = "wall-clock seconds of one training"
MICROSECONDS = "wall-clock time of all queries / their number"
STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; }
figure { margin: 2rem 0; }
figcaption { font-weight: 600; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: .25rem .75rem; text-align: left; white-space: nowrap; border-bottom: 1px solid #767c8866; }
td { font-variant-numeric: tabular-nums; }
p { overflow-wrap: anywhere; }
pre { white-space: pre-wrap; padding: .75rem; border: 1px solid #767c8866; }
"""


def every_chart(
    grid: Grid, store: SavedRuns, view: View, published: Sequence[Published] = (), log: bool = False
) -> dict[str, Chart]:
    """Return all charts by name, the charts of scores first; `log` sets a log axis for K.

    The score charts show chance and, if known, the levels of classifiers and kernel ridge, and published
    numbers.
    """
    charts: dict[str, Chart] = {}
    level, levels = store.classifier_level(grid.classifier_key), []
    if level is not None:
        levels = [("classifier", "dash", level.scores), ("kernel ridge", "dashdot", level.kernel_ridge)]
    for one in view.told_together:
        found = points(grid, store, one)
        chart = score_curves(found, one.metric.label, formula=one.metric.formula)
        for title, dash, by_search in levels if found else ():
            own = by_search.get((one.source, one.target, one.protocol), {})
            if one.definition in own:
                x = np.unique(np.concatenate([line.x for line in chart.lines]))
                flat = Line(title, x, np.full(len(x), own[one.definition]), dash=dash, width=2)
                chart = replace(chart, lines=(*chart.lines, flat))
        lengths = {point.at for point in found}
        crosses = [cross for cross in published if one == view and cross.at in lengths]
        charts[one.definition] = with_crosses(chart, crosses) if crosses else chart
    for name in view.graded:
        label, formula = GRADED[name]
        found = points(grid, store, view, name)
        charts[name] = score_curves(found, label, formula=formula, time=name == "median_rank")
    at_one_length = curves(grid, store, view)
    hits = points(grid, store, view, f"hits_{view.radius}")
    training, encoding = (points(grid, store, view, measure) for measure in ("training", "encoding"))
    return charts | {
        "at_k": precision_at_k(at_one_length, log=log),
        "recall": recall_at_k(at_one_length, log=log),
        "radius": precision_by_recall(at_one_length),
        "hits": score_curves(hits, "look-up hit rate", formula=HITS.format(view.radius)),
        "training": score_curves(training, "training time (s)", formula=SECONDS, time=True),
        "encoding": score_curves(encoding, "encoding time (µs per query)", formula=MICROSECONDS, time=True),
    }


def document(title: str, sections: Iterable[str]) -> str:
    """Return an HTML document with a title, which is escaped, and sections made by `section`."""
    body = "\n".join(sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>{plotly_script()}</head>\n"
        f"<body><h1>{html.escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def section(
    heading: str,
    paragraphs: Sequence[str] = (),
    table: Sequence[Mapping[str, object]] = (),
    verbatim: str = "",
    charts: Mapping[str, Chart] | None = None,
) -> str:
    """Return a section as HTML: a heading, then paragraphs, a table, verbatim text and charts, if any."""
    parts = [f"<h2>{html.escape(heading)}</h2>"]
    parts += [f"<p>{html.escape(paragraph)}</p>" for paragraph in paragraphs]
    if table:
        columns = list(dict.fromkeys(column for row in table for column in row))
        lines = ["".join(f"<th>{html.escape(column)}</th>" for column in columns)]
        lines += ["".join(f"<td>{html.escape(str(row.get(c, '')))}</td>" for c in columns) for row in table]
        parts.append(f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>")
    if verbatim:
        parts.append(f"<pre>{html.escape(verbatim)}</pre>")
    parts += [chart_html(chart, f"figure-{name}") for name, chart in (charts or {}).items()]
    return "\n".join(parts)


def html_of(grid: Grid, saved: Path | SavedRuns, view: View, command: str, published: Sequence[Published] = ()) -> str:
    """Return the HTML report of saved runs, or of the folder of a store.

    `command` is the shell command that repeats the comparison, or empty.
    """
    store = RunStore(saved) if isinstance(saved, Path) else saved
    pairs = {one.metric.label: compared_pairs(grid, store, one) for one in view.told_together}
    comparison, tests = grid.comparison, []
    for label, found in pairs.items():
        compared = [*sentences(found, view), how_tested(found)]
        tests.append(section(f"Is the difference more than noise? {label}", compared, pair_rows(found)))
    bits, seeds = (", ".join(map(str, each)) for each in (comparison.bits, range(comparison.seeds)))
    settings = [f"{title}: {settings_of(method)}" for method, title in comparison.titles.items()]
    versions = Counter(tuple(sorted(record.versions.items())) for record in grid.found(store).values())
    today = datetime.now(UTC).date().isoformat()
    return document(
        f"Comparison on {comparison.source.card.title}, {view.direction}",
        [
            section("How scores are measured", _measured(view)),
            *tests,
            section("Best method by measure", [winners(pairs)]),
            section("Figures", charts=every_chart(grid, store, view, published)),
            section("Scores", table=score_rows(grid, store, view)),
            section("Data", _data(grid)),
            section("Methods", [f"Bits {bits}; seeds {seeds}.", *settings]),
            section(
                "Software versions",
                table=[{"report of": today, "runs": runs} | dict(found) for found, runs in versions.items()],
            ),
            *([section("Repeat it", verbatim=command)] if command else []),
        ],
    )


def _measured(view: View) -> list[str]:
    metrics = [one.metric for one in view.told_together]
    return [
        *(line for metric in metrics for line in (f"{metric.label}: {metric.formula}", metric.words)),
        *(": ".join(GRADED[name]) for name in view.graded),
        f"Database: {PROTOCOLS[view.protocol]}",
        DISTANCES[view.distance],
        "Lines are means over seeds. Bands range from the lowest to the highest seed; the paler band is the "
        "range over all orders of tied items. Chance is the score of a random order.",
    ]


def _data(grid: Grid) -> list[str]:
    source, key = grid.comparison.source, next(iter(grid.keys.values()))
    options = [f"{f.name} = {getattr(source, f.name)}" for f in fields(source) if f.repr]
    return [
        f"{source.card.title}: {len(grid.split.train):,} training items, "
        f"{len(grid.split.queries):,} queries, {len(grid.data.class_names):,} classes; "
        + ", ".join(f"{name} ({X.shape[1]:,} dimensions)" for name, X in grid.data.modalities.items()),
        f"Options: {', '.join(options) or 'none'}",
        f"Fingerprint of the data (SHA-256): {key.data}",
        f"Fingerprint of the split (SHA-256): {key.split}",
        source.card.terms,
    ]

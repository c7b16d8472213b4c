"""Charts of a comparison, and its report: one HTML file with charts, tables, settings and a command."""

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from smfh.experiments.comparison import Grid, View, curves, points
from smfh.export.tables import compared_pairs, pair_rows, paper_tables, sentences, settings_of, winners
from smfh.files.latex import formula_html
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
body { font: 16px/1.6 "Source Sans 3", "Source Sans Pro", "Source Sans", system-ui, sans-serif;
  max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.25rem 5rem; color: #31333f; background: #fff; }
h1 { font-size: 2.4rem; line-height: 1.2; margin: 0 0 .25rem; }
h2 { font-size: 1.6rem; line-height: 1.2; margin: 3.5rem 0 1rem; padding-top: 1.25rem;
  border-top: 1px solid #767c8833; }
h1 + h2, h1 + p + h2 { border-top: 0; padding-top: 0; margin-top: 1.5rem; }
h1::after { content: ""; display: block; width: 4rem; height: .3rem; margin-top: .75rem; border-radius: 1rem;
  background: var(--accent); }
:root { --accent: #445cb0; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(30rem, 100%), 1fr)); gap: 2rem 1.5rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-weight: 600; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: 1rem 0; }
caption { display: block; text-align: left; max-width: 60rem; margin-bottom: .75rem; color: #5c6270;
  font-size: .95rem; }
th, td { padding: .35rem .9rem; text-align: left; white-space: nowrap; border-bottom: 1px solid #767c8833; }
th { font-weight: 600; font-size: .9rem; color: #5c6270; }
th[colspan] { text-align: center; }
th[scope=row] { color: inherit; font-size: 1rem; font-weight: 400; }
td { font-variant-numeric: tabular-nums; }
td strong { color: var(--accent); }
small { color: #5c6270; }
p { overflow-wrap: anywhere; margin: .5rem 0; }
math { font-size: 1.1em; }
details { margin: .75rem 0; padding: .6rem 1rem; border: 1px solid #767c8844; border-radius: .6rem; }
summary { cursor: pointer; font-weight: 600; color: var(--accent); }
pre { white-space: pre-wrap; padding: .9rem 1rem; border-radius: .6rem; background: #767c881a; }
@media (prefers-color-scheme: dark) {
  :root { --accent: #8da1f0; }
  body { color: #fafafa; background: #0e1117; }
  caption, th, small { color: #a9afbc; }
}
@media print { details:not([open]) { display: none; } }
"""


def every_chart(
    grid: Grid, store: SavedRuns, view: View, published: Sequence[Published] = (), log: bool = False
) -> dict[str, Chart]:
    """Return all charts by name, the charts of scores first; `log` sets a log axis for K.

    The score charts show chance and, if known, the scores of classifiers and kernel ridge, and published
    numbers.
    """
    charts: dict[str, Chart] = {}
    level, levels = store.classifier_level(grid.classifier_key), []
    if level is not None:
        levels = [("classifier", "dash", level.scores), ("kernel ridge", "dashdot", level.kernel_ridge)]
    for one in view.headline_views:
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
        label = f"number of {label}" if name == "distinct_codes" else label
        found, formula = points(grid, store, view, name), formula.partition("; ")[0]  # all of it is too wide
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
    formulas: Sequence[tuple[str, str, str]] = (),
    tables: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return a section as HTML: a heading, then those of the other parts that are given.

    `formulas` are triples (label, formula, explanation); `tables` are tables in HTML, folded under their
    titles, or open under the title "".
    """
    parts = [f"<h2>{html.escape(heading)}</h2>"]
    parts += [f"<p>{html.escape(paragraph)}</p>" for paragraph in paragraphs]
    parts += [
        f"<p><strong>{html.escape(label)}</strong>: {formula_html(formula)}. {html.escape(words)}</p>"
        for label, formula, words in formulas
    ]
    for title, some in (tables or {}).items():
        together = "\n".join(some)
        parts.append(f"<details><summary>{html.escape(title)}</summary>{together}</details>" if title else together)
    parts += [table_html(table)] if table else []
    if verbatim:
        parts.append(f"<pre>{html.escape(verbatim)}</pre>")
    if charts:
        drawn = "\n".join(chart_html(chart, f"figure-{name}") for name, chart in charts.items())
        parts.append(f'<div class="charts">{drawn}</div>')
    return "\n".join(parts)


def table_html(table: Sequence[Mapping[str, object]]) -> str:
    """Return rows as an HTML table with a column per key."""
    columns = list(dict.fromkeys(column for row in table for column in row))
    lines = ["".join(f"<th>{html.escape(column)}</th>" for column in columns)]
    lines += ["".join(f"<td>{html.escape(str(row.get(c, '')))}</td>" for c in columns) for row in table]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def html_of(grid: Grid, saved: Path | SavedRuns, view: View, command: str, published: Sequence[Published] = ()) -> str:
    """Return the HTML report of saved runs, or of the folder of a store.

    `command` is the shell command that repeats the comparison, or empty.
    """
    store = RunStore(saved) if isinstance(saved, Path) else saved
    pairs = {one.metric.label: compared_pairs(grid, store, one) for one in view.headline_views}
    comparison, tests = grid.comparison, []
    for label, found in pairs.items():
        folded = {f"All {len(found)} pairs of methods": [table_html(pair_rows(found))]} if found else {}
        compared = [*sentences(found, view), how_tested(found)]
        tests.append(section(f"Is the difference more than noise? {label}", compared, tables=folded))
    first, *others = [table.html() for table in paper_tables(grid, store, view)] or [""]
    scores = {"": [first]} | ({"Tables of the other measures": others} if others else {})
    bits, seeds = (", ".join(map(str, each)) for each in (comparison.bits, range(comparison.seeds)))
    settings = [f"{title}: {settings_of(method)}" for method, title in comparison.titles.items()]
    versions = Counter(tuple(sorted(record.versions.items())) for record in grid.found(store).values())
    today = datetime.now(UTC).date().isoformat()
    return document(
        f"Comparison on {comparison.source.card.title}, {view.direction}",
        [
            section("Scores", [winners(pairs)], tables=scores),
            section("Figures", charts=every_chart(grid, store, view, published)),
            *tests,
            section("How scores are measured", _about(view), formulas=_measured(view)),
            section("Data", _data(grid)),
            section("Methods", [f"Bits {bits}; seeds {seeds}.", *settings]),
            section(
                "Software versions",
                table=[{"report of": today, "runs": runs} | dict(found) for found, runs in versions.items()],
            ),
            *([section("Repeat it", verbatim=command)] if command else []),
        ],
    )


def _measured(view: View) -> list[tuple[str, str, str]]:
    """Return label, formula and words of each measure."""
    metrics = [one.metric for one in view.headline_views]
    graded = [(*GRADED[name], "") for name in view.graded]
    return [(metric.label, metric.formula, metric.words) for metric in metrics] + graded


def _about(view: View) -> list[str]:
    return [
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

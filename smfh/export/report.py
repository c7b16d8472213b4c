"""The comparison as one HTML report: what was compared, what it says, figures, and how to repeat it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

from smfh.comparison import Grid, View, points
from smfh.evaluation import PROTOCOLS
from smfh.export.document import Section, document
from smfh.export.figures import every_chart
from smfh.export.findings import compared_pairs, sentences, told_directions, winners
from smfh.export.rows import settings_of
from smfh.plots.published import Published
from smfh.runs import KeptRuns, RunStore
from smfh.significance import Difference, how_tested, signed


def html_of(
    grid: Grid, store: KeptRuns, view: View, command: str, published: Sequence[Published] = ()
) -> str:
    """One file that lives without a server; nothing is trained for it. `command` repeats it, if any does."""
    pairs = {one.metric.label: compared_pairs(grid, store, one) for one in view.told_together}
    title = f"Comparison on {grid.comparison.source.card.title}, {view.direction}"
    return document(
        title,
        [
            Section("How it is measured", _measured(view)),
            *(_tested(label, found, view) for label, found in pairs.items()),
            Section("By which measure?", [winners(pairs)]),
            Section("Figures", charts=every_chart(grid, store, view, published)),
            Section("Scores in figures", table=score_rows(grid, store, view)),
            Section("Data", _data(grid)),
            Section("Methods", _methods(grid)),
            Section("Made with", table=_versions(grid, store)),
            *([Section("Repeat it", verbatim=command)] if command else []),
        ],
    )


def html_from(
    kept: Path | KeptRuns, grid: Grid, view: View, command: str, published: Sequence[Published] = ()
) -> str:
    """The same for a process that has no store: from the folder of one, or from runs that came along."""
    return html_of(grid, RunStore(kept) if isinstance(kept, Path) else kept, view, command, published)


def _tested(label: str, pairs: Sequence[Difference], view: View) -> Section:
    return Section(
        f"Is it more than noise? {label}",
        [*sentences(pairs, view), how_tested(pairs)],
        table=pair_rows(pairs),
    )


def _measured(view: View) -> list[str]:
    told = [one.metric for one in view.told_together]
    return [
        *(line for metric in told for line in (f"{metric.label}: {metric.formula}", metric.words)),
        f"Database: {PROTOCOLS[view.protocol]}",
        "Lines are means over seeds, bands reach from the lowest seed to the highest; the wider, paler band "
        "is what another order of items at equal distance could give. Chance is a random order.",
    ]


def pair_rows(pairs: Sequence[Difference]) -> list[dict[str, str]]:
    """All pairs in a table."""
    return [
        {
            "better": pair.first,
            "than": pair.second,
            "difference": signed(pair.mean),
            "interval": f"{signed(pair.low)} to {signed(pair.high)}",
            "± over seeds": "–" if pair.seed_error is None else f"{pair.seed_error:.3f}",
            "more than noise": "yes" if pair.is_clear else "no",
        }
        for pair in pairs
    ]


def score_rows(grid: Grid, store: KeptRuns, view: View) -> list[dict[str, str]]:
    """Mean ± standard deviation, a row for each direction, method and measure, a column for each length."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for direction in told_directions(grid, view):
        views = [one.towards(*direction) for one in view.told_together]
        found = [(one.metric.label, point) for one in views for point in points(grid, store, one)]
        order = list(grid.comparison.titles.values())
        for label, point in sorted(found, key=lambda each: order.index(each[1].title)):
            about = {"direction": point.direction, "method": point.title, "measure": label}
            row = rows.setdefault(tuple(about.values()), about)
            spread = f" ± {point.deviation:.3f}" if len(point.values) > 1 else ""
            row[f"{point.at} bits"] = f"{point.mean:.3f}{spread}"
    return list(rows.values())


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


def _methods(grid: Grid) -> list[str]:
    """Every setting of every method, whether it is as usual or not."""
    comparison = grid.comparison
    bits, seeds = (", ".join(map(str, each)) for each in (comparison.bits, range(comparison.seeds)))
    told = [f"{title}: {settings_of(method)}" for method, title in comparison.titles.items()]
    return [f"Bits {bits}; seeds {seeds}.", *told]


def _versions(grid: Grid, store: KeptRuns) -> list[dict[str, object]]:
    """What the runs were trained with; several rows where they were trained at different times."""
    counts = Counter(tuple(sorted(record.versions.items())) for record in grid.found(store).values())
    today = datetime.now(UTC).date().isoformat()
    return [{"report of": today, "runs": runs} | dict(versions) for versions, runs in counts.items()]

"""The comparison as one HTML report: what was compared, what it says, figures, and how to repeat it."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from smfh.comparison import Grid, command_line, points
from smfh.evaluation import PROTOCOLS
from smfh.plots.published import Published
from smfh.report.document import Section, document
from smfh.report.figures import every_chart
from smfh.report.table import settings_of
from smfh.report.view import View, compared_pairs, sentences, told_directions
from smfh.significance import Difference, how_tested, signed
from smfh.store import RunStore


def html_of(grid: Grid, store: RunStore, view: View, published: Sequence[Published] = ()) -> str:
    """One file that lives without a server; nothing is trained for it."""
    pairs = compared_pairs(grid, store, view)
    title = f"Comparison on {grid.comparison.source.card.title}, {view.direction}"
    findings = [*sentences(pairs, view), how_tested(pairs)]
    return document(
        title,
        [
            Section("How it is measured", _measured(view)),
            Section("Is it more than noise?", findings, table=pair_rows(pairs)),
            Section("Figures", charts=every_chart(grid, store, view, published)),
            Section(f"{view.metric.label} in figures", table=score_rows(grid, store, view)),
            Section("Data", _data(grid)),
            Section("Methods", _methods(grid)),
            Section("Made with", table=_versions(grid, store)),
            Section("Repeat it", verbatim=command_line(grid.comparison, view.definition, view.protocol)),
        ],
    )


def _measured(view: View) -> list[str]:
    metric = view.metric
    return [
        f"{metric.label}: {metric.formula}",
        metric.words,
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


def score_rows(grid: Grid, store: RunStore, view: View) -> list[dict[str, str]]:
    """Mean ± standard deviation, a row for each method and direction, a column for each length."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for point in points(grid, store, "map", view.metric, view.protocol, told_directions(grid, view)):
        row = rows.setdefault(
            (point.direction, point.title), {"direction": point.direction, "method": point.title}
        )
        spread = f" ± {point.deviation:.3f}" if len(point.values) > 1 else ""
        row[f"{point.bits} bits"] = f"{point.mean:.3f}{spread}"
    return list(rows.values())


def _data(grid: Grid) -> list[str]:
    source, key = grid.comparison.source, next(iter(grid.keys.values()))
    options: dict[str, object] = asdict(source)
    return [
        f"{source.card.title}: {len(grid.split.train):,} training items, "
        f"{len(grid.split.queries):,} queries, {len(grid.data.class_names):,} classes; "
        + ", ".join(f"{name} ({X.shape[1]:,} dimensions)" for name, X in grid.data.modalities.items()),
        f"Options: {', '.join(f'{name} = {value}' for name, value in options.items()) or 'none'}",
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


def _versions(grid: Grid, store: RunStore) -> list[dict[str, object]]:
    """What the cells were trained with; several rows where they were trained at different times."""
    rows: dict[tuple[tuple[str, str], ...], int] = {}
    for run in grid.found(store).values():
        versions = tuple(sorted(run.record.versions.items()))
        rows[versions] = rows.get(versions, 0) + 1
    today = datetime.now(UTC).date().isoformat()
    return [{"report of": today, "cells": cells} | dict(versions) for versions, cells in rows.items()]

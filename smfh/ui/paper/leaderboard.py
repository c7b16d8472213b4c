"""The leaderboard: a table of all scores, to filter and sort, with definitions and links."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

from smfh.datasets import DATASETS, DatasetSource
from smfh.experiments.comparison import Comparison, View
from smfh.folders import data_folders
from smfh.lessons.lessons import LESSONS
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.paper import TABLE_1
from smfh.paper.leaderboard import (
    MIN_SEEDS,
    Entry,
    Fingerprints,
    classifier_levels,
    leaderboard,
    load_fingerprints,
    ranked,
)
from smfh.plots import csv_of
from smfh.runs import check_source_size, current_limits
from smfh.types import InputError
from smfh.ui.charts import offer_file
from smfh.ui.server import peek_source, remember, run_store
from smfh.ui.settings import Settings, to_link, unusual_in_words

ALL = "all"
FILTERS: Mapping[str, Mapping[str, str]] = {
    "measure": {name: AP_DEFINITIONS[name].label for name in HEADLINE},
    "database": {"training": "training items", "unseen": "unseen items"},
    "ties": {"database": "database order", "tie_aware": "average order", "worst": "worst order", "best": "best order"},
}
MAX_SOURCES = 512  # data sets whose default splits are remembered
ABOUT = (
    f"Ranked for each data set, direction and number of bits: methods with the seeds 0 to {MIN_SEEDS - 1} or more on "
    "the default split, without the runs of lessons. “=” marks ties: means that differ by at most two standard "
    "errors over seeds. Click a row for its definition, its command and a link."
)
ABOUT_ALL = (
    "All saved runs, also with fewer seeds, and all numbers of the paper's Table 1, not ranked. Published "
    "numbers are shown for runs with the paper's settings on the default split. “classifiers” and “kernel "
    "ridge” are scores without codes on the same features, where they were measured on the Compare page."
)
CommandWriter = Callable[[Comparison, View], str]  # writes the shell command that repeats a comparison


@st.fragment
def draw_leaderboard(write_command: CommandWriter) -> None:
    """Draw the filters, the table, the selected row and the download, as a fragment of the page."""

    def measured_first(entry: Entry) -> tuple[bool, str, str, float]:
        score = entry.mean if entry.mean is not None else entry.published
        return not entry.values, entry.source.name, entry.direction, -(score or 0.0)

    store = run_store()
    records = store.records() + store.shipped_records()
    light = (DATASETS[name]() for name in TABLE_1 if DATASETS[name].is_light)
    with st.spinner("Reading saved runs …"):
        defaults = default_splits([*(record.source for record in records), *light])
        levels = classifier_levels(store, records, defaults)
        ids = tuple(sorted(record.id for record in records))
        entries = remember(
            ("leaderboard", ids, frozenset(defaults.items()), frozenset(levels)),
            lambda: sorted(leaderboard(records, defaults, levels), key=measured_first),
        )
    everything = st.toggle("Show incomplete entries and published numbers", key="leaderboard_everything")
    st.caption(ABOUT_ALL if everything else ABOUT)
    unknown = {record.source.card.title for record in records if record.source not in defaults}
    if unknown:
        st.caption(f"Open {', '.join(sorted(unknown))} in Explore once to see which runs use its default split.")
    lessons = {
        (lesson.runs.source, method)
        for lesson in LESSONS.values()
        if lesson.runs.seeds >= MIN_SEEDS
        for method in lesson.runs.trainings
    }
    places = [("", entry) for entry in entries] if everything else ranked(entries, lessons)
    if not (shown := _draw_filters(places)):
        st.info(
            "No score matches. Remove a filter, or train a method with three seeds on the Compare page.",
            icon=":material/info:",
        )
        return
    explore = explore_address()
    rows = [row_of(entry, place, explore, write_command) for place, entry in shown]
    event = st.dataframe(
        rows,
        hide_index=True,
        key="leaderboard_table",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "link": st.column_config.LinkColumn(display_text="open", help="Open these settings in Explore.")
        },
        alt="Scores of all methods, data sets, code lengths, measures, databases and orders of ties",
    )
    for number in event.selection.rows:
        entry = shown[number][1]
        st.text(f"{entry.source.card.title}, {entry.method.title}, {entry.direction}: {entry.words}")
        if rows[number]["command"]:
            st.code(rows[number]["command"], language="bash", wrap_lines=True)
        if entry.deviates:
            st.caption(f"Explore cannot open this run: {entry.deviates}, but Explore uses the default split.")
        else:
            st.link_button("Open in Explore", rows[number]["link"], icon=":material/open_in_new:")
    offer_file("Table (CSV)", lambda: csv_of(rows), "leaderboard.csv", "text/csv", "leaderboard_csv")


def _draw_filters(places: Sequence[tuple[str, Entry]]) -> list[tuple[str, Entry]]:
    """Draw the filters, by default the paper's definitions; return the ranks and entries that match them."""
    data = {entry.source.name: entry.source.card.title for _, entry in places}
    bits = {str(n): f"{n} bits" for n in sorted({entry.method.bits for _, entry in places})}
    titles = {"data": data, "bits": bits, **FILTERS}
    with st.container(horizontal=True, vertical_alignment="bottom", key="leaderboard_filters"):
        chosen = {
            name: st.selectbox(
                name.capitalize(),
                [ALL, *values],
                index=0 if name in ("data", "bits") else 1,
                format_func=lambda value, values=values: values.get(value, ALL),
                key=f"leaderboard_{name}",
                width=170,
            )
            for name, values in titles.items()
        }
    return [
        (place, entry)
        for place, entry in places
        if all(chosen[name] in (ALL, value) for name, value in _filter_values(entry).items())
    ]


def _filter_values(entry: Entry) -> dict[str, str]:
    source, definition, database = entry.source.name, entry.definition, entry.search[2]
    bits = str(entry.method.bits)
    return {"data": source, "bits": bits, "measure": definition, "database": database, "ties": entry.ties}


def row_of(entry: Entry, place: str, explore: str, write_command: CommandWriter) -> dict[str, str]:
    """Return a leaderboard entry as the texts of a table row; a number that was not measured is empty."""

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    values, seeds = _filter_values(entry), len(entry.values)
    low, high = entry.interval if seeds > 1 else (None, None)
    setting = ", ".join(filter(None, [unusual_in_words(entry.method), entry.deviates]))
    options = [
        f"{field.name.replace('_', ' ')} {value}"
        for field in fields(entry.source)
        if field.repr and (value := getattr(entry.source, field.name)) != field.default
    ]
    command = ""
    if seeds and entry.is_repeatable and not entry.deviates:
        comparison = Comparison(entry.source, (entry.method,), (entry.method.bits,), seeds)
        command = write_command(comparison, View(*entry.search[:2], entry.definition, entry.search[2]))
    link = "" if entry.deviates else to_link(Settings(entry.source, entry.method), explore)
    row = {"rank": place} if place else {}
    return row | {
        "data": ", ".join([entry.source.card.title, *options]),
        "direction": entry.direction,
        "bits": values["bits"],
        "method": entry.method.title,
        "setting": setting or "default",
        "measured": number(entry.mean),
        "95 % interval": "" if low is None else f"{number(low)} to {number(high)}",
        "seeds": str(seeds),
        "distinct codes": "" if entry.codes is None else f"{entry.codes:,.0f}",
        "published": number(entry.published),
        "classifiers": number(entry.classifier),
        "kernel ridge": number(entry.kernel_ridge),
        "chance": number(entry.chance),
        "link": link,
        "command": command,
        **{name: titles[values[name]] for name, titles in FILTERS.items()},
        "definition": entry.words,
    }


def explore_address() -> str:
    """Return the address of the Explore page, including the server's base path."""
    address, base = urlsplit(st.context.url or ""), str(st.get_option("server.baseUrlPath")).strip("/")
    path = f"/{base}/" if base else "/"
    return f"{address.scheme}://{address.netloc}{path}" if address.netloc else path


def default_splits(sources: Iterable[DatasetSource]) -> dict[DatasetSource, Fingerprints]:
    """Return the fingerprints of every available data set and of its default split.

    Large data sets are included only if they are in memory, since loading them would delay the page.
    """
    found: dict[DatasetSource, Fingerprints] = {}
    for source in dict.fromkeys(sources):
        if (loaded := peek_source(source)) is not None:
            found[source] = loaded[0].fingerprint, loaded[1].fingerprint
        elif source.is_light and not source.missing() and (known := _look_up(source, tuple(data_folders()))):
            found[source] = known
    return found


@lru_cache(MAX_SOURCES)
def _look_up(source: DatasetSource, folders: tuple[Path, ...]) -> Fingerprints | None:
    """Load a data set and return its fingerprints, cached; None if it cannot be loaded."""
    try:
        check_source_size(source, current_limits())
        return load_fingerprints(source)
    except InputError:
        return None

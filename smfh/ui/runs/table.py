"""The table of runs: searched, filtered, and a row chosen from it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import streamlit as st

from smfh.datasets import DATASETS
from smfh.hashing import METHODS
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.plots import harmless
from smfh.runs import RunRecord
from smfh.ui.settings import unusual_in_words

TABLE, CHOSEN, WHEN = "runs_table", "runs_chosen", "trained (UTC)"
MOST_DIRECTIONS = 4  # columns; 15 modalities have 210


def filtered(runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Those of the runs that the search and the filters leave."""
    by_word, by_data, by_method = st.columns([4, 3, 3])
    words = by_word.text_input(
        "Search",
        key="runs_words",
        on_change=new_table,
        max_chars=200,
        placeholder="Title, data, method, parameters",
        icon=":material/search:",
    )
    data = by_data.multiselect(
        "Data",
        list(dict.fromkeys(run.source.name for run in runs)),
        key="runs_data",
        on_change=new_table,
        format_func=lambda name: DATASETS[name].card.title,
        placeholder="Any data",
        select_all=False,
    )
    methods = by_method.multiselect(
        "Method",
        list(dict.fromkeys(run.method.name for run in runs)),
        key="runs_method",
        on_change=new_table,
        format_func=lambda name: METHODS[name].title,
        placeholder="Any method",
        select_all=False,
    )
    return matching(runs, words or "", data, methods)


def matching(
    runs: Sequence[RunRecord], words: str, data: Sequence[str] = (), methods: Sequence[str] = ()
) -> list[RunRecord]:
    """The runs of any of these data sets and methods that say all the words somewhere."""
    wanted = words.casefold().split()
    return [
        run
        for run in runs
        if (not data or run.source.name in data)
        and (not methods or run.method.name in methods)
        and all(word in f"{run.title} {description(run)}".casefold() for word in wanted)
    ]


def description(run: RunRecord) -> str:
    """One line that tells runs apart; the same whatever a run is called."""
    method, source = run.method, run.source
    parts = [source.card.title, _options(run), method.title, f"{method.bits} bits"]
    return " · ".join(filter(None, [*parts, f"seed {method.seed}", unusual_in_words(method)]))


def _options(run: RunRecord) -> str:
    """The options of the data set that are not as usual."""
    usual = DATASETS[run.source.name]()
    changed = {name: value for name, value in asdict(run.source).items() if getattr(usual, name) != value}
    return ", ".join(f"{name} {value}" for name, value in changed.items())


def draw_table(runs: Sequence[RunRecord]) -> None:
    """A row a run; what a click on one chooses is told by `CHOSEN`."""
    directions, key = usual_directions(runs), f"{TABLE}_{st.session_state.get(TABLE, 0)}"

    def choose() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        st.session_state[CHOSEN] = runs[rows[0]].id if rows else None

    rows = [row_of(run, directions) for run in runs]
    columns = [name for name in rows[0] if any(row[name] != "" for row in rows)]
    st.dataframe(
        [{name: row[name] for name in columns} for row in rows],
        hide_index=True,
        key=key,
        on_select=choose,
        selection_mode="single-row",
        column_config={
            "title": st.column_config.TextColumn(width="medium"),
            **{
                column: st.column_config.NumberColumn(format="%.3f")
                for direction in directions
                for column in _columns(direction).values()
            },
            "seconds": st.column_config.NumberColumn(format="%.2f", help="Of training, on this machine"),
            WHEN: st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
        },
        alt="Kept runs with their settings, scores and training times",
    )


def new_table() -> None:
    """A table without a chosen row, since the row of the old one may now be another run's."""
    st.session_state[TABLE] = st.session_state.get(TABLE, 0) + 1


def usual_directions(runs: Sequence[RunRecord]) -> list[tuple[str, str]]:
    """The directions that most of these runs have."""
    times = Counter(direction for run in runs for direction in run.directions)
    return [direction for direction, _ in times.most_common(MOST_DIRECTIONS)]


def row_of(run: RunRecord, directions: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """What the table says of a run; only numbers where they were measured."""
    return {
        "title": harmless(run.title),
        "data": " · ".join(filter(None, [run.source.card.title, _options(run)])),
        "method": run.method.title,
        "bits": run.method.bits,
        "seed": run.method.seed,
        **{
            column: run.headline(*direction).get(name)
            for direction in directions
            for name, column in _columns(direction).items()
        },
        "other parameters": unusual_in_words(run.method),
        "seconds": run.timing.training,
        WHEN: run.when,
    }


def _columns(direction: tuple[str, str]) -> dict[str, str]:
    """What the three scores of a direction are called, by their definition's name."""
    return {name: f"{' → '.join(direction)}, {AP_DEFINITIONS[name].label}" for name in HEADLINE}

"""The leaderboard: every score in one table to sort and filter; each says its definition and opens again."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from smfh.datasets import DATASETS, DatasetSource
from smfh.metrics import AP_DEFINITIONS, HEADLINE
from smfh.paper import TABLE_1
from smfh.paper.leaderboard import Entry, kept_ceilings, leaderboard
from smfh.plots import csv_of
from smfh.runs import RunRecord
from smfh.ui.paper.usual import usual_loads
from smfh.ui.server import remember, run_store
from smfh.ui.settings import Settings, to_link, unusual_in_words

ALL = "all"
TITLES: Mapping[str, Mapping[str, str]] = {
    "measure": {name: AP_DEFINITIONS[name].label for name in HEADLINE},
    "database": {"training": "training items", "unseen": "unseen items"},
    "equal distances": {
        "database": "database order",
        "tie_aware": "averaged",
        "worst": "at worst",
        "best": "at best",
    },
}
NUMBERS = ("measured", "±", "published", "features allow", "chance")
AGAIN = "again"
TICK = 2.0  # seconds between two looks at what is being looked up
ABOUT = (
    "Every kept run, and every number of the paper's Table 1. Published stands beside the paper's setting on "
    "the usual split. What the features allow is what tuned classifiers get from them; where that is empty, "
    "choose the data on the left and press “Measure what the features allow” in Compare. Click a heading to "
    "sort; choose a row to read what exactly it says."
)


@st.fragment
def draw_leaderboard() -> None:
    """Filters, the table, and the chosen row in full; drawn anew alone."""
    st.caption(ABOUT)
    records = run_store().records()
    with st.spinner("Reading what was measured before …"):
        usual, looked_up = usual_loads(sources_of(records))
        ceilings = kept_ceilings(run_store(), records, usual)
        ids = tuple(sorted(record.id for record in records))
        entries = remember(
            ("leaderboard", ids, frozenset(usual.items()), frozenset(ceilings)),
            lambda: sorted(leaderboard(records, usual, ceilings), key=_place),
        )
    if looked_up:
        _draw_looked_up(looked_up)
    if not (shown := _filtered(entries)):
        st.info("No score fits. Take away a filter.")
        return
    first = first_page()
    rows = [row_of(entry, first) for entry in shown]
    event = st.dataframe(
        rows,
        hide_index=True,
        key="leaderboard_table",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            **{name: st.column_config.NumberColumn(format="%.3f") for name in NUMBERS},
            AGAIN: st.column_config.LinkColumn(display_text="train it", help="Opens it in Explore."),
        },
        alt="Scores of every method, data set, length, measure, protocol and rule for ties",
    )
    for place in event.selection.rows:
        entry = shown[place]
        st.text(f"{entry.source.card.title}, {entry.method.title}, {entry.direction}: {entry.words}")
        if entry.unlike:
            st.caption(f"Not trained again from here: {entry.unlike}, and Explore opens the usual one.")
        else:
            st.link_button("Train it again in Explore", rows[place][AGAIN], icon=":material/play_arrow:")
    st.download_button(
        "The table (CSV)",
        lambda: csv_of(rows),
        "leaderboard.csv",
        "text/csv",
        "leaderboard_csv",
        icon=":material/download:",
        on_click="ignore",
    )


def sources_of(records: Sequence[RunRecord]) -> list[DatasetSource]:
    """Those of the runs; and the paper's own where it takes no time to know them, for their ceilings."""
    ours = [record.source for record in records]
    return [*ours, *(DATASETS[name]() for name in TABLE_1 if DATASETS[name].is_light)]


def _draw_looked_up(sources: Sequence[DatasetSource]) -> None:
    """Of which data sets the usual split is not known yet; the page is drawn again when all are."""
    titles = ", ".join(dict.fromkeys(source.card.title for source in sources))
    st.caption(f"Still being looked up: which split {titles} comes with …")

    @st.fragment(run_every=TICK)
    def live() -> None:
        if not usual_loads(sources, patience=0.0)[1]:
            st.rerun()

    live()


def first_page() -> str:
    """The address of Explore, below the path that the server is set to."""
    address, base = urlsplit(st.context.url or ""), str(st.get_option("server.baseUrlPath")).strip("/")
    path = f"/{base}/" if base else "/"
    return f"{address.scheme}://{address.netloc}{path}" if address.netloc else path


def _place(entry: Entry) -> tuple[bool, str, str, float]:
    """What was measured, data by data and direction by direction, the best first; then what is published."""
    best = entry.mean if entry.mean is not None else entry.published
    return not entry.values, entry.source.name, entry.direction, -(best or 0.0)


def _filtered(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that are asked for; at first as the paper's tables have them."""
    data = {entry.source.name: entry.source.card.title for entry in entries}
    with st.container(horizontal=True, vertical_alignment="bottom", key="leaderboard_filters"):
        wanted = {
            what: st.selectbox(
                what.capitalize(),
                [ALL, *titles],
                index=0 if what == "data" else 1,
                format_func=lambda name, titles=titles: titles.get(name, ALL),
                key=f"leaderboard_{what}",
                width=190,
            )
            for what, titles in {"data": data, **TITLES}.items()
        }
    return [
        entry
        for entry in entries
        if all(wanted[what] in (ALL, value) for what, value in kinds_of(entry).items())
    ]


def kinds_of(entry: Entry) -> dict[str, str]:
    """What entries are told apart by in the filters."""
    return {
        "data": entry.source.name,
        "measure": entry.definition,
        "database": entry.search[2],
        "equal distances": entry.ties,
    }


def row_of(entry: Entry, explore: str) -> dict[str, Any]:
    """What the table says of an entry; numbers only where there are some."""
    told = {what: TITLES[what][name] for what, name in kinds_of(entry).items() if what in TITLES}
    setting = ", ".join(filter(None, [unusual_in_words(entry.method), entry.unlike]))
    link = None if entry.unlike else to_link(Settings(entry.source, entry.method), explore)
    return {
        "data": entry.source.card.title,
        "method": entry.method.title,
        "setting": setting or "as it comes",
        "bits": entry.method.bits,
        "direction": entry.direction,
        "measured": entry.mean,
        "±": entry.deviation,
        "seeds": len(entry.values),
        "published": entry.published,
        "features allow": entry.allowed,
        "chance": entry.chance,
        AGAIN: link,
        **told,
        "definition": entry.words,
    }

"""Which data, methods and seeds the Paper page is about; its link says them too."""

from dataclasses import dataclass

import streamlit as st

from smfh.datasets import DATASETS
from smfh.hashing import METHODS
from smfh.paper import BENCHMARKS, PAPER_METHODS, SEEDS, STAND_IN, runnable
from smfh.ui.address import Part, current, draw_notes, keep, one_of, part_of, several, told, whole

MOST_SEEDS = 5


@dataclass(frozen=True)
class Choice:
    """What is measured."""

    data: str
    methods: tuple[str, ...] = told(PAPER_METHODS, several(one_of(PAPER_METHODS)))
    seeds: int = told(SEEDS, whole(1, MOST_SEEDS))


def choose() -> Choice:
    """The controls; a link sets them, and they set the link."""
    part = paper_part()
    before, notes = current(part, "paper_")
    for name, value in (("data", before.data), ("seeds", before.seeds), ("methods", list(before.methods))):
        st.session_state.setdefault(f"paper_{name}", value)
    with st.container(horizontal=True, vertical_alignment="bottom", key="paper_choice"):
        offered = (*BENCHMARKS, STAND_IN)
        data = st.selectbox("Data of the paper", offered, format_func=data_title, key="paper_data", width=280)
        seeds = st.segmented_control(
            "Seeds",
            range(1, MOST_SEEDS + 1),
            required=True,
            key="paper_seeds",
            help="Runs from different random starts that a number is the mean of.",
        )
        methods = st.multiselect(
            "Methods",
            PAPER_METHODS,
            format_func=lambda name: METHODS[name].title,
            key="paper_methods",
            placeholder="Choose at least one",
            width=760,  # all seven on one line; on a phone a line of its own
        )
    choice = Choice(data, tuple(name for name in PAPER_METHODS if name in methods), seeds or before.seeds)
    if choice == before:
        draw_notes(notes)
    keep(part, choice)
    return choice


def paper_part() -> Part[Choice]:
    """How the address tells it; usual is the first of the paper's data that is ready, else the stand-in."""
    ready = next((dataset for dataset in BENCHMARKS if not runnable(dataset)), STAND_IN)
    return part_of(Choice(ready), "paper.", data=one_of((*BENCHMARKS, STAND_IN)))


def data_title(dataset: str) -> str:
    """Its title, and what sets it apart here."""
    title = DATASETS[dataset].card.title
    if dataset == STAND_IN:
        return f"{title} (not in the paper)"
    return f"{title} (needs its files)" if runnable(dataset) else title

"""Which data, methods and seeds the Paper page is about; its link says them too."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from smfh.datasets import DATASETS
from smfh.hashing import METHODS
from smfh.paper import BENCHMARKS, SEEDS, STAND_IN, runnable
from smfh.ui.settings import SHOW

MOST_SEEDS = 5
PAPER = f"{SHOW}paper."
KEPT = "paper_kept"  # a widget forgets its value when its page is left


@dataclass(frozen=True)
class Choice:
    """What is measured."""

    dataset: str
    methods: tuple[str, ...]
    seeds: int


def choose() -> Choice:
    """The controls; a link sets them, and they set the link."""
    kept: Choice = st.session_state.get(KEPT) or read_choice(dict(st.query_params))
    with st.container(horizontal=True, vertical_alignment="bottom", key="paper_choice"):
        dataset = st.selectbox(
            "Data of the paper",
            [*BENCHMARKS, STAND_IN],
            index=[*BENCHMARKS, STAND_IN].index(kept.dataset),
            format_func=data_title,
            key="paper_data",
            width=280,
        )
        seeds = st.segmented_control(
            "Seeds",
            range(1, MOST_SEEDS + 1),
            default=kept.seeds,
            required=True,
            key="paper_seeds",
            help="Runs from different random starts that a number is the mean of.",
        )
        methods = st.multiselect(
            "Methods",
            list(METHODS),
            default=list(kept.methods),
            format_func=lambda name: METHODS[name].title,
            key="paper_methods",
            placeholder="Choose at least one",
            width=560,  # all six on one line; on a phone a line of its own
        )
    choice = Choice(dataset, tuple(name for name in METHODS if name in methods), seeds or kept.seeds)
    st.session_state[KEPT] = choice
    _keep_link(choice)
    return choice


def read_choice(query: dict[str, str]) -> Choice:
    """What a link asks for; what it does not say, or says wrongly, is as usual."""
    dataset = query.get(f"{PAPER}data", "")
    methods = tuple(name for name in query.get(f"{PAPER}methods", "").split(",") if name in METHODS)
    seeds = query.get(f"{PAPER}seeds", "")
    return Choice(
        dataset if dataset in (*BENCHMARKS, STAND_IN) else usual_data(),
        methods or tuple(METHODS),
        int(seeds) if seeds in map(str, range(1, MOST_SEEDS + 1)) else SEEDS,
    )


def usual_data() -> str:
    """The first of the paper's data sets that is ready, else the stand-in."""
    return next((dataset for dataset in BENCHMARKS if not runnable(dataset)), STAND_IN)


def _keep_link(choice: Choice) -> None:
    said: Sequence[tuple[str, str]] = (
        ("data", choice.dataset),
        ("methods", ",".join(choice.methods)),
        ("seeds", str(choice.seeds)),
    )
    for name, value in said:
        if st.query_params.get(f"{PAPER}{name}") != value:
            st.query_params[f"{PAPER}{name}"] = value


def data_title(dataset: str) -> str:
    title = DATASETS[dataset].card.title
    if dataset == STAND_IN:
        return f"{title} (not in the paper)"
    return f"{title} (needs its files)" if runnable(dataset) else title

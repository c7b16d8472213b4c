"""The small example as the visitor has set it: weights, sample, bits, items."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from smfh.datasets import DATASETS
from smfh.hashing import SMFH
from smfh.lessons.example import FEWEST, MOST, make_example
from smfh.lessons.iteration import Walk, walk
from smfh.memory import Memory
from smfh.types import MultimodalDataset, parameters
from smfh.ui.address import hold
from smfh.ui.gallery import caption_of
from smfh.ui.learn.studied import CONTROLS, MOST_BITS, Studied, study

MOST_OFFERED = 3_000  # items to choose from
WEIGHTS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0)
_walks: Memory[tuple[str, tuple[int, ...], SMFH], Walk] = Memory(64)


def walk_of(studied: Studied, data: MultimodalDataset) -> Walk:
    """The training of the example, walked once for all who look at it; own data is not remembered."""

    def make() -> Walk:
        return walk(make_example(data, studied.rows), studied.method)

    if data.name not in DATASETS:
        return make()
    return _walks.get((data.fingerprint, studied.rows, studied.method), make)


def draw_settings(studied: Studied, data: MultimodalDataset) -> None:
    """Weights, sample, bits and items: each changes everything above at once."""
    about = parameters(SMFH)
    with st.expander("Change the example", icon=":material/tune:", key="learn_settings"):
        with st.container(horizontal=True):
            _slide(studied, data, "alpha", "α", WEIGHTS, about["graph_weight"].help)
            _slide(studied, data, "mu", "μ", WEIGHTS, about["projection_weight"].help)
            _slide(studied, data, "sample", "m", range(2, len(studied.rows) + 1), about["graph_sample"].help)
            _slide(studied, data, "bits", "bits", range(2, MOST_BITS + 1), about["bits"].help)
        offered = sorted({*range(min(len(data), MOST_OFFERED)), *studied.rows})
        st.multiselect(
            f"Items, {FEWEST} to {MOST}",
            offered,
            key=hold(f"{CONTROLS}rows", list(studied.rows)),
            format_func=lambda row: caption_of(data, row),
            max_selections=MOST,
            on_change=lambda: study(
                studied, data, rows=tuple(st.session_state[f"{CONTROLS}rows"]), entry=None, asks=0
            ),
        )
        st.selectbox(
            "Which one asks",
            range(len(studied.rows)),
            key=hold(f"{CONTROLS}asks", min(studied.asks, len(studied.rows) - 1)),
            format_func=lambda item: caption_of(data, studied.rows[item]),
            on_change=lambda: study(studied, data, asks=st.session_state[f"{CONTROLS}asks"]),
        )
        st.caption(
            "Features of the text are its words, weighed and scaled to length 1; those of a picture are "
            "the shares of its colours. α and μ suit so few items; with thousands the paper has 2 and 25."
        )


def _slide(
    studied: Studied, data: MultimodalDataset, name: str, label: str, values: Sequence[Any], help: str
) -> None:
    key, value = f"{CONTROLS}{name}", getattr(studied, name)
    st.select_slider(
        label,
        sorted({*values, value}),
        key=hold(key, value),
        help=help,
        on_change=lambda: study(studied, data, **{name: st.session_state[key]}),
        width=200,
    )

"""What to compare: methods, lengths and seeds."""

from dataclasses import replace

import streamlit as st

from smfh.comparison import Comparison, Grid
from smfh.hashing import METHODS
from smfh.types import InputError
from smfh.ui.address import current, draw_notes, keep
from smfh.ui.compare.wanted import CONTROLS, LENGTHS, MOST_SEEDS, PRESETS, WANTED, Wanted, begin_controls
from smfh.ui.server import Loaded
from smfh.ui.session import owner_of
from smfh.ui.settings import Settings, differences


def choose_grid(settings: Settings, loaded: Loaded) -> Grid:
    """What the controls make of the data; the page ends here where that is no comparison."""
    before, notes = current(WANTED, CONTROLS)
    begin_controls(before)
    wanted = _choose(before, settings)
    if wanted == before:
        draw_notes(notes)
    keep(WANTED, wanted)
    if not wanted.methods or not wanted.bits:
        st.info("Choose at least one method and one number of bits.")
        st.stop()
    try:
        methods = wanted.chosen_methods(settings.method, settings.source.name)
        comparison = Comparison(settings.source, methods, wanted.bits, wanted.seeds)
        return Grid(comparison, *loaded, owner_of(settings))
    except InputError as error:
        st.info("Nothing to compare here.", icon=":material/info:")
        st.text("\n".join(error.problems))
        st.stop()


def _choose(wanted: Wanted, settings: Settings) -> Wanted:
    left, right = st.columns(2, gap="large")
    with left:
        methods = st.pills(
            "Methods",
            list(METHODS),
            selection_mode="multi",
            key="compare_methods",
            format_func=lambda name: METHODS[name].title,
            wrap=True,
        )
        preset = st.segmented_control(
            "Settings",
            list(PRESETS),
            required=True,
            key="compare_preset",
            help="; ".join(f"**{name}**: {words}" for name, words in PRESETS.items()),
        )
    with right:
        bits = st.pills("Bits", LENGTHS, selection_mode="multi", key="compare_bits", wrap=True)
        seeds = st.slider("Seeds", 1, MOST_SEEDS, key="compare_seeds")
    return replace(
        wanted,
        methods=tuple(name for name in METHODS if name in methods),
        bits=tuple(sorted(bits)),
        seeds=seeds,
        preset=preset or wanted.preset,
        own=_add_own(settings),
    )


def _add_own(settings: Settings) -> bool:
    """Whether the sidebar's method is wanted too; asked only where it is set other than usual."""
    method = settings.method
    usual = replace(METHODS[method.name](), bits=method.bits, seed=method.seed)
    if not (changed := differences(usual, method)):
        return False
    own = st.toggle(f"Also {method.title} as set on the left", key="compare_own")
    st.text(", ".join(changed))
    return own

"""The Measure button of a table or figure: what it costs, how far it is, and how to stop it."""

from collections.abc import Callable

import streamlit as st

from smfh.comparison import Comparison, ComparisonRun, Grid, seconds_left
from smfh.hashing import HashMethod
from smfh.paper import Part
from smfh.ui.comparing import REFUSED, TICK, duration, progress_in_words, start_comparison
from smfh.ui.kept import comparisons, run_store
from smfh.ui.session import visitor


def draw_measured(part: Part, grid: Grid, draw: Callable[[], None]) -> None:
    """The button, or the progress as long as it runs, and below it what there is."""
    run = run_of(grid.comparison)
    if run is None or run.over:
        _draw_button(part, grid, run)
        draw()
        return

    @st.fragment(run_every=TICK)
    def live() -> None:
        _draw_progress(part, run)
        draw()
        if run.over:
            st.rerun()  # other parts may share its trainings

    live()


def run_of(comparison: Comparison) -> ComparisonRun | None:
    """What this visitor has under way, or had last, if it is this."""
    run = comparisons().of(visitor())
    return run if run is not None and run.grid.comparison == comparison else None


def _draw_progress(part: Part, run: ComparisonRun) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"progress_{part.name}"):
        st.progress(run.done / run.total, progress_in_words(run))
        st.button("Cancel", icon=":material/close:", key=f"cancel_{part.name}", on_click=run.cancel)


def _draw_button(part: Part, grid: Grid, run: ComparisonRun | None) -> None:
    missing = grid.missing(run_store())
    busy = (other := comparisons().of(visitor())) is not None and not other.over
    with st.container(horizontal=True, vertical_alignment="center", key=f"measure_row_{part.name}"):
        if not missing:
            several = f"All {len(grid.keys)} trainings are" if len(grid.keys) > 1 else "Its training is"
            st.badge(f"{several} there", icon=":material/check:", color="blue")
        else:
            st.button(
                "Measure",
                type="primary",
                icon=":material/play_arrow:",
                key=f"measure_{part.name}",
                on_click=start_comparison,
                args=(grid,),
                disabled=busy,
                help="Something else of yours is being measured or compared." if busy else None,
            )
            st.text(cost_in_words(missing, grid))
    if run is not None and run.state == "cancelled" and missing:
        st.info("Cancelled. What was finished is kept; Measure goes on from there.")
    _draw_problems(run)


def cost_in_words(missing: list[HashMethod], grid: Grid) -> str:
    """The number of trainings to do, and an estimate from what was trained on this data before."""
    seconds = seconds_left(missing, run_store().records(), grid.data.fingerprint)
    there = len(grid.keys) - len(missing)
    words = f"{len(missing)} training{'s' * (len(missing) > 1)}"
    words += f" ({there} more are there)" if there else ""
    return f"{words}, {'time not known yet' if seconds is None else f'about {duration(seconds)}'}"


def _draw_problems(run: ComparisonRun | None) -> None:
    problems: list[str] = list(st.session_state.pop(REFUSED, ()))
    if run is not None:
        problems += [*run.stopped_by, *(why for several in run.problems.values() for why in several)]
    if problems:
        st.error("Not everything could be measured. What was finished is kept:")
        st.text("\n".join(dict.fromkeys(problems)))

"""A comparison in the background, as Compare and Paper start it and tell how far it is."""

import streamlit as st

from smfh.comparison import ComparisonRun, Grid
from smfh.types import InputError
from smfh.ui.kept import comparisons
from smfh.ui.session import visitor

TICK = 1.0  # seconds between two looks at the progress
REFUSED = "comparison_refused"
MINUTE, HOUR = 60, 3600


def start_comparison(grid: Grid) -> None:
    """For callbacks: before the page is drawn, so that no time is lost."""
    try:
        comparisons().start(grid, visitor())
    except InputError as error:
        st.session_state[REFUSED] = error.problems


def progress_in_words(run: ComparisonRun) -> str:
    """How many trainings are done, which one is at work, and how long the rest takes."""
    words = [f"{run.done} of {run.total} trainings"]
    if run.state == "paused":
        words.append("paused")
    elif position := run.position:
        words.append(f"waiting, number {position} in line")
    elif (cell := run.current) is not None:
        words.append(f"now {cell.title}, {cell.bits} bits, seed {cell.seed}")
    if (left := run.time_left) is not None:
        words.append(f"about {duration(left)} left")
    return " · ".join(words)


def duration(seconds: float) -> str:
    """Such as 40 s, 3 min or 2.5 h."""
    if seconds < 1.5 * MINUTE:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 1.5 * HOUR else f"{seconds / HOUR:.1f} h"

"""A public data set fetched from its card: a button, how far it is, and what to do where that fails."""

import streamlit as st

from smfh.datasets import DATASETS, DatasetSource
from smfh.jobs import Course, Job
from smfh.types import InputError
from smfh.ui.plain import plain
from smfh.ui.running import follow, is_over, steer
from smfh.ui.server import data_queue, forget_sources
from smfh.ui.session import visitor

TICK = 1.0  # seconds between two looks at the progress
STARTED = "fetching_"  # before the name of a set, in the session: what this visitor has started last
KEPT = "What has come is kept: the next try goes on from there."


def draw_fetch(source: DatasetSource) -> None:
    """The button, or how far the download is, whoever began it; nothing where there is no public file."""
    if not source.can_be_fetched:
        return
    under_way = data_queue().find(_key(source.name))
    job: Job[None] | None = st.session_state.get(STARTED + source.name)
    if under_way is not None and not under_way.over:
        _draw_progress(under_way, source.name)
        return
    label, icon = "Download it" if source.missing() else "Download it again", ":material/download:"
    st.button(label, on_click=start_fetch, args=(source.name,), key=f"fetch_{source.name}", icon=icon)
    if job is not None and job.state == "cancelled":
        st.caption(f"Cancelled. {KEPT}")
    elif job is not None and job.state == "failed":
        card = source.card
        st.error(f"The download did not work. {KEPT}", icon=":material/cloud_off:")
        st.text("\n".join(job.problems))
        st.text(
            "Where this computer has no connection, or may not go there: fetch the archive on another one, "
            f"and put {', '.join(card.files)} from it into {card.folder}/ below the data folder."
        )


def start_fetch(name: str) -> None:
    """For callbacks: fetch the set once for all who ask; what is in memory of it is loaded anew then."""
    source, queue = DATASETS[name](), data_queue()

    def work(course: Course) -> None:
        source.fetch(lambda share, what: course.report((share, what)))
        forget_sources(lambda key: isinstance(key, DatasetSource) and key.name == name)

    try:
        st.session_state[STARTED + name] = queue.submit(_key(name), work, visitor(), again=True)
    except InputError as error:
        st.toast(plain(" ".join(error.problems)))


def _draw_progress(job: Job[None], name: str) -> None:
    st.button("Cancel", icon=":material/close:", on_click=steer, args=(job.cancel,), key=f"stop_{name}")
    follow(job, False, lambda: st.progress(*_how_far(job)), is_over, TICK)


def _how_far(job: Job[None]) -> tuple[float, str]:
    share, what = job.reports[-1] if job.reports else (0.0, "Asking for it …")
    return min(share, 1.0), what


def _key(name: str) -> tuple[str, str]:
    return "fetch", name

"""What every page begins with, and how a visitor starts a run."""

from dataclasses import replace

import streamlit as st

from smfh.jobs import Job
from smfh.study import Trained
from smfh.types import InputError
from smfh.ui.session import Loaded, key_of, load, shown, start
from smfh.ui.settings import Settings
from smfh.ui.sidebar import draw_sidebar
from smfh.ui.training import draw_waiting, job_method, run_key


def begin_page(title: str, subtitle: str) -> tuple[Settings, Loaded]:
    """Title, sidebar and data; a page ends here where its data is not there, with what to do about it."""
    st.set_page_config(
        page_title=f"{title} · SMFH Explorer", page_icon=":material/image_search:", layout="wide"
    )
    settings = draw_sidebar()
    st.title(title)
    st.caption(subtitle)
    if missing := settings.source.missing():
        st.info("\n\n".join([*missing, "Choose another data set on the left, or see the Data page."]))
        st.stop()
    try:
        return settings, load(settings)
    except InputError as error:
        st.error("\n\n".join(error.problems))
        st.stop()


def begin_run(title: str, subtitle: str) -> tuple[Settings, Job[Trained]]:
    """The beginning of a page about a trained model: it ends here until there is one."""
    settings, loaded = begin_page(title, subtitle)
    job = draw_train(settings, loaded)
    draw_waiting(job)
    return settings, job


def draw_train(settings: Settings, loaded: Loaded) -> Job[Trained]:
    """The Train button and the run to show: the visitor's last one, or a first one that starts by itself."""
    if shown() is None:
        _train(settings, loaded)
    for problem in st.session_state.pop("refused", ()):
        st.error(problem)
    job = shown()
    if job is None:
        st.button("Try again", key="train")
        st.stop()
    # a model that was loaded from a file is its visitor's own, whatever the data
    same = replace(run_key(job), owner="") == replace(key_of(settings, loaded), owner="")
    is_current = same and job.state not in ("cancelled", "failed")
    method, split = settings.method, loaded[1]
    with st.container(horizontal=True, vertical_alignment="center", key="train_row"):
        st.button(
            "Train",
            type="primary",
            icon=":material/play_arrow:",
            disabled=is_current,
            key="train",
            on_click=_train,  # before the page is drawn, so that no time is lost
            args=(settings, loaded),
        )
        st.text(
            f"{settings.source.card.title} · {len(split.train):,} training items · "
            f"{len(split.queries):,} queries · {method.title} · {method.bits} bits · seed {method.seed}"
        )
        if not is_current:
            st.badge("Settings changed — press Train", icon=":material/sync_problem:", color="orange")
    return job


def _train(settings: Settings, loaded: Loaded) -> None:
    try:
        start(settings, loaded)
    except InputError as error:
        st.session_state["refused"] = error.problems


def describe(job: Job[Trained]) -> str:
    """Which run is on the screen."""
    method = job_method(job)
    return f"{method.title} · {method.bits} bits · seed {method.seed}"

"""What every page begins with."""

import streamlit as st

from smfh.runs import Run, begin_compiling
from smfh.types import InputError
from smfh.ui.navigation import draw_navigation, set_up_page
from smfh.ui.plain import paragraphs
from smfh.ui.running import describe_run, draw_waiting
from smfh.ui.server import Loaded, job_queue, processes
from smfh.ui.session import (
    GONE,
    OWN,
    Shown,
    be_seen,
    load,
    remember_visitor,
    shown,
    start_wanted,
    stay,
    visitor,
)
from smfh.ui.settings import Settings
from smfh.ui.sidebar import draw_end_of_presentation, draw_sidebar
from smfh.ui.touch import keep_in_touch


def begin_plainly(title: str, subtitle: str, trains: bool = False, methods: bool = True) -> Settings:
    """Navigation, title and controls, as `draw_sidebar` has them."""
    begin_compiling(processes().call)
    top = st.container(gap="xxsmall", key="top")
    settings = draw_sidebar(trains, methods)
    set_up_page(title, settings.present)
    if settings.source.name == OWN:
        stay()
    with top:
        draw_navigation()
        remember_visitor()
        keep_in_touch()
        if job_queue().unfinished_of(visitor(), object) is not None:
            be_seen()
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.title(title, anchor=False, width="content")
            st.caption(subtitle, width="content")
            if settings.present:
                draw_end_of_presentation()
    return settings


def begin_page(
    title: str, subtitle: str, trains: bool = False, methods: bool = True
) -> tuple[Settings, Loaded]:
    """The same with the data; a page ends here where it is not there, and says what to do."""
    settings = begin_plainly(title, subtitle, trains, methods)
    if missing := settings.source.missing():
        choose = "Choose another data set on the left, or see the Data page."
        st.info(GONE if settings.source.name == OWN else paragraphs([*missing, choose]))
        st.stop()
    try:
        return settings, load(settings)
    except InputError as error:
        st.error(paragraphs(error.problems))
        st.stop()


def begin_run(title: str, subtitle: str) -> Run:
    """The beginning of a page about a trained model: it ends here until there is one."""
    looked_at = begin_training(title, subtitle)
    draw_waiting(looked_at)
    st.subheader(describe_run(looked_at.job.result), anchor=False)
    return looked_at.job.result


def begin_training(title: str, subtitle: str) -> Shown:
    """The beginning of a page about a run, on its way or finished: the visitor's last one, or a first one."""
    settings, loaded = begin_page(title, subtitle, trains=True)
    try:
        start_wanted(settings, loaded)
    except InputError as error:
        st.error(paragraphs(error.problems))
    if (looked_at := shown()) is None:
        st.button("Try again")
        st.stop()
    return looked_at

"""What every page begins with, and how a visitor starts a run."""

from dataclasses import replace

import streamlit as st

from smfh.hashing import HashMethod
from smfh.runs import Run
from smfh.types import InputError
from smfh.ui.running import draw_waiting
from smfh.ui.server import Loaded
from smfh.ui.session import Shown, key_of, load, shown, start
from smfh.ui.settings import Settings
from smfh.ui.sidebar import draw_sidebar

REFUSED = "refused"


def set_up_page(title: str) -> None:
    """What the browser's tab says, and the whole width."""
    st.set_page_config(
        page_title=f"{title} · SMFH Explorer", page_icon=":material/image_search:", layout="wide"
    )


def begin_page(title: str, subtitle: str) -> tuple[Settings, Loaded]:
    """Title, sidebar and data; a page ends here where its data is not there, with what to do about it."""
    set_up_page(title)
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


def begin_run(title: str, subtitle: str) -> Run:
    """The beginning of a page about a trained model: it ends here until there is one."""
    settings, loaded = begin_page(title, subtitle)
    looked_at = draw_train(settings, loaded)
    draw_waiting(looked_at)
    return looked_at.job.result


def draw_train(settings: Settings, loaded: Loaded) -> Shown:
    """The Train button and the run to show: the visitor's last one, or a first one that starts by itself."""
    if shown() is None:
        _train(settings, loaded)
    for problem in st.session_state.pop(REFUSED, ()):
        st.error(problem)
    if (looked_at := shown()) is None:
        st.button("Try again", key="train")
        st.stop()
    # a model that was loaded from a file is its visitor's own, whatever the data
    same = replace(looked_at.key, owner="") == replace(key_of(settings, loaded), owner="")
    is_current = same and looked_at.job.state not in ("cancelled", "failed")
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
        split = loaded[1]
        st.text(
            f"{settings.source.card.title} · {len(split.train):,} training items · "
            f"{len(split.queries):,} queries · {describe_training(settings.method)}"
        )
        if not is_current:
            st.badge("Settings changed — press Train", icon=":material/sync_problem:", color="orange")
    return looked_at


def describe_training(method: HashMethod) -> str:
    """Which training it is, in a few words."""
    return f"{method.title} · {method.bits} bits · seed {method.seed}"


def _train(settings: Settings, loaded: Loaded) -> None:
    try:
        start(settings, loaded)
    except InputError as error:
        st.session_state[REFUSED] = error.problems

"""Where trainings are done, when that is not here."""

import streamlit as st

from smfh.ui import server

SOUGHT = (
    "Trainings are done on a cluster, which is looked for when one begins. Own data stays on this server."
)


def draw_cluster() -> None:
    """Nothing where the server was given no cluster; else its workers and Dask's own page about them."""
    if (named := server.cluster()) is None:
        return
    if (workers := named.found) is None:
        st.caption(SOUGHT)
        return
    count, dashboard = workers.count, workers.dashboard
    with st.container(horizontal=True, vertical_alignment="center", key="runs_cluster"):
        st.caption(
            f"Trainings are done by {count} worker{'s' * (count != 1)} of a cluster. Own data stays on this "
            "server.",
            width="content",
        )
        if dashboard.startswith(("http://", "https://")):
            st.link_button("Dask's dashboard", dashboard, icon=":material/open_in_new:")

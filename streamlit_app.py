"""Explore: type words, find pictures, train, and compare.

`streamlit run` imports this file for the server, `app`, and then runs it for each visit.
"""

import streamlit as st

if __name__ == "__main__":
    from smfh.ui.explore.page import draw_explore

    draw_explore()
else:
    from smfh.ui.start import ROUTES, note_fault, running

    app = st.App(__file__, routes=ROUTES, lifespan=running, on_script_error=note_fault)

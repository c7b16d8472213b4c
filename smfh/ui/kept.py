"""The store of finished runs and the comparisons under way, shared by all visitors."""

import streamlit as st

from smfh.comparison import Comparisons
from smfh.store import RunStore


@st.cache_resource
def run_store() -> RunStore:
    return RunStore()


@st.cache_resource
def comparisons() -> Comparisons:
    from smfh.ui.session import queue  # which itself asks here for what is kept

    return Comparisons(run_store(), queue())

"""Every hostile text, escaped, in all elements with Markdown; a page for a separate server."""

import streamlit as st
from hostile_texts import MODALITIES, TEXTS

from smfh.ui.plain import plain

SHOWN = [plain(text) for text in (*TEXTS, *MODALITIES, "- item", "1. item", "+ item", "2) item")]
for text in SHOWN:
    st.caption(text)
for place, text in enumerate(SHOWN):
    st.error(text)
    st.info(f"It says:\n\n{text}\n\nEnd.")
    st.metric(text, "0")
    st.button(text, f"button_{place}", help=text)
    st.progress(0.5, text)
    st.expander(text)
st.pills("Choose", SHOWN)
st.tabs(SHOWN)
st.toast(SHOWN[0])

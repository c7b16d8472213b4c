"""Explore: for now, what is coming and what already runs."""

import streamlit as st

from smfh import DATASETS, METHODS

st.set_page_config(page_title="SMFH Explorer", layout="wide")
st.title("SMFH Explorer")
st.write("Words find pictures, and pictures find words, by counting bits.")
st.info(
    "The page where you train and search is on its way. The methods and data sets below already run from "
    "the command line: `python -m smfh fit planted`."
)
left, right = st.columns(2)
left.subheader("Methods")
for method in METHODS.values():
    left.markdown(f"**{method.title}** · `{method.name}`")
right.subheader("Data sets")
for name, source in DATASETS.items():
    missing = source().missing()
    right.markdown(f"**{source.card.title}** · `{name}` · {'needs its files' if missing else 'ready'}")
    right.caption(f"{source.card.about} {source.card.size}.")
    for line in missing:
        right.caption(line)

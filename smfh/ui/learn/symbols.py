"""Symbols: a table of all, and beside an equation what stands in it and what the paper prints instead."""

from collections.abc import Sequence

import streamlit as st

from smfh.lessons.symbols import SYMBOLS, meanings_in
from smfh.paper import ERRATA, NUMBERS, Erratum
from smfh.ui.navigation import PAGES


def draw_equation(latex: str) -> None:
    """With the meaning of its symbols a hover or a tap away."""
    st.latex(latex, help=meanings_in(latex))


def draw_symbols() -> None:
    """Every symbol once, and every erratum."""
    lines = [f"| ${symbol.latex}$ | {symbol.meaning} | {symbol.where} |" for symbol in SYMBOLS]
    st.markdown("\n".join(["| symbol | meaning | where from |", "|---|---|---|", *lines]))
    st.subheader("Where the paper prints something else", anchor=False)
    st.caption(NUMBERS)
    for erratum in ERRATA:
        with st.expander(erratum.where):
            _draw_erratum(erratum)


def errata_of(equations: Sequence[str]) -> list[Erratum]:
    """Those that concern one of these equations of the paper."""
    return [erratum for erratum in ERRATA if set(erratum.where.replace(",", " ").split()) & set(equations)]


def draw_errata_of(equations: Sequence[str], key: str) -> None:
    """What the paper prints instead, behind a click, and the way to all of it."""
    if concerned := errata_of(equations):
        many = f"{len(concerned)} errata" if len(concerned) > 1 else "an erratum"
        with st.popover(f"In the paper: {many}", icon=":material/edit_note:", type="tertiary", key=key):
            for erratum in concerned:
                st.markdown(f"**{erratum.where}**")
                _draw_erratum(erratum)
            st.page_link(
                PAGES["Paper"].script, label="All errata, and what was reproduced", icon=PAGES["Paper"].icon
            )


def _draw_erratum(erratum: Erratum) -> None:
    for caption, latex in (("The paper prints", erratum.printed), ("It should read", erratum.right)):
        st.caption(caption)
        st.latex(latex)
    st.markdown(erratum.why)

"""What the numbers alone do not tell: what could not be reproduced, and where the equations are wrong."""

import streamlit as st

from smfh.paper import ERRATA, NOT_REPRODUCED, NUMBERS, RIGHT, WORDS


def draw_differences() -> None:
    """What could not be reproduced, and why."""
    for what, why in NOT_REPRODUCED:
        st.markdown(f"**{what}.** {why}")


def draw_errata() -> None:
    """Each mistake: as printed, as it should be, and why."""
    st.caption(NUMBERS)
    for place, erratum in enumerate(ERRATA):
        with st.container(border=True, key=f"erratum_{place}"):
            st.markdown(f"**{erratum.where}**")
            printed, right = st.columns(2)
            with printed:
                st.caption("The paper prints")
                st.latex(erratum.printed)
            with right:
                st.caption("It should read")
                st.latex(erratum.right)
            st.markdown(erratum.why)
    st.markdown(f"**Not a mistake.** {RIGHT}")
    st.subheader("Words against tables", anchor=False)
    for words in WORDS:
        st.markdown(f"- {words}")

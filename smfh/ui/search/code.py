"""The query's code to be edited: flip bits and see the answers change, or let the fewest flips be found."""

import streamlit as st

from smfh.asking import Answer, mend
from smfh.runs import Run
from smfh.ui.address import hold
from smfh.ui.asked import Asked, ask, draw_ask, found_once
from smfh.ui.gallery import in_bits

BITS = "search_code"
HELP = "A bit that is lit is on. Click one to flip it: the answers below are those of the code as it is here."
CANNOT = "No flips can: whatever is right has the very code of something wrong."


def draw_code(asked: Asked, answer: Answer, run: Run) -> None:
    """Every bit as a switch; flips are a part of the link."""
    on = answer.code.nonzero()[0].tolist()
    flipped = f" · {in_bits(len(asked.flips))} flipped" if asked.flips else ""
    with st.expander(f"Edit the code{flipped}", icon=":material/edit:", expanded=bool(asked.flips)):
        st.pills(
            "Bits of the query's code",
            range(len(answer.code)),
            selection_mode="multi",
            key=hold(BITS, on),
            help=HELP,
            on_change=lambda: ask(asked, run, flips=_turned(asked, on, st.session_state[BITS])),
        )
        with st.container(horizontal=True, vertical_alignment="center", key="search_flips"):
            if asked.flips:
                draw_ask("Undo", "search_unflip", asked, run, {"flips": ()}, icon=":material/undo:")
            elif answer.relevance is not None and not answer.relevance[0]:
                st.button(
                    "Fewest flips that bring a right answer to the top",
                    key="search_mend",
                    icon=":material/healing:",
                    on_click=_mend,
                    args=(asked, answer, run),
                )


def _turned(asked: Asked, on: list[int], now: list[int]) -> tuple[int, ...]:
    """The flips, with those undone that are back as they were."""
    return tuple(sorted(set(asked.flips) ^ set(on) ^ set(now)))


def _mend(asked: Asked, answer: Answer, run: Run) -> None:
    question, how = answer.question, (asked.target, asked.database)
    found = found_once(
        run, question, ("fewest flips", how), lambda: mend(run.hasher, run.data, run.split, question, *how)
    )
    if found is None:
        st.toast(CANNOT, icon=":material/block:")
    else:
        ask(asked, run, flips=tuple(found.tolist()))

"""A room collects a class's answers to a lesson: the teacher's view and the students' view."""

from contextlib import suppress
from urllib.parse import urlencode

import streamlit as st

from smfh.lessons.lesson_runs import Prediction
from smfh.lessons.rooms import MAX_ANSWERS, read_code
from smfh.plots import answer_counts
from smfh.types import InputError, MultimodalDataset
from smfh.ui.charts import show_chart
from smfh.ui.learn.state import CONTROLS, LearnState, change_state
from smfh.ui.plain import paragraphs
from smfh.ui.server import class_rooms
from smfh.ui.session import visitor
from smfh.ui.sidebar import draw_link, page_address

POLL_SECONDS = 2.0  # between two updates of the teacher's chart
MAX_TYPED = 20  # characters of a typed room code
ROOM_HELP = (
    "Students open a link or type a code; this page counts their predictions, without names. Nothing is stored on disk."
)


def draw_own_room(name: str, prediction: Prediction) -> None:
    """Draw the room that this visitor has opened, if any: its code, its link, a live chart and buttons."""
    if (room := class_rooms().owned_by(visitor())) is None:
        return

    @st.fragment(run_every=POLL_SECONDS)
    def draw_answers() -> None:
        """Draw the number of students for each option; once the answer is shown, mark the measured option."""
        if (now := class_rooms().owned_by(visitor())) is None:  # closed in another tab, or its time is over
            st.rerun()
        truth = prediction.truth if name in now.shown else None
        show_chart(answer_counts(prediction.options, now.counts(name, len(prediction.options)), truth), "room_answers")

    with st.container(border=True, key=f"{CONTROLS}room"):
        left, right = st.columns([1, 2], gap="medium")
        with left:
            st.metric("Room code", room.code)
            draw_link(f"{page_address()}?{urlencode({'learn.lesson': name, 'learn.room': room.code})}")
        with right:
            st.markdown(prediction.question)
            draw_answers()
            with st.container(horizontal=True):
                st.button(
                    "Show the answer",
                    icon=":material/visibility:",
                    on_click=class_rooms().show_answer,
                    args=(room.code, visitor(), name),
                    disabled=name in room.shown,
                    help="Shows the measured answer here and on the students' screens.",
                    key=f"{CONTROLS}room_show",
                )
                st.button(
                    "Close the room",
                    icon=":material/close:",
                    on_click=class_rooms().close,
                    args=(room.code, visitor()),
                    help="Deletes the room and its answers, for all lessons.",
                    key=f"{CONTROLS}room_close",
                )


def draw_room_controls(name: str, state: LearnState, data: MultimodalDataset) -> None:
    """Draw the button that opens a room, and the field in which students type a room code."""
    if class_rooms().owned_by(visitor()) is None and st.button(
        "Collect answers from a class", icon=":material/groups:", help=ROOM_HELP, key=f"{CONTROLS}room_open"
    ):
        try:
            class_rooms().create(visitor())
        except InputError as error:  # too many rooms
            st.warning(paragraphs(error.problems))
        else:
            st.rerun()
    with st.popover("Join a room", icon=":material/login:"), st.form(f"{CONTROLS}room_form", border=False):
        text = st.text_input("Room code", max_chars=MAX_TYPED, key=f"{CONTROLS}room_code")
        if not st.form_submit_button("Join"):
            return
        try:
            code = read_code(text)
        except InputError as error:
            st.warning(paragraphs(error.problems))
        else:
            change_state(state, data, lesson=name, room=code)
            st.rerun()


def waits_for_answer(name: str, state: LearnState) -> bool:
    """Whether this student has sent an answer, and the teacher has not shown the measured one yet."""
    room = class_rooms().find(state.room) if state.room is not None else None
    return room is not None and room.owner != visitor() and (name, visitor()) in room.answers and name not in room.shown


def draw_waiting(name: str, state: LearnState) -> None:
    """Draw a message that asks a student to wait until the teacher shows the answer; then redraw the page."""

    @st.fragment(run_every=POLL_SECONDS)
    def wait() -> None:
        st.caption("The measurements appear here when the teacher shows the answer.")
        if not waits_for_answer(name, state):
            st.rerun()

    wait()


def draw_status(name: str, prediction: Prediction, state: LearnState, data: MultimodalDataset) -> None:
    """Show a student whether the room is open and the answer was sent; draw nothing without a room."""
    if (code := state.room) is None:
        return
    room, options = class_rooms().find(code), prediction.options
    option = room.answers.get((name, visitor())) if room is not None else None
    with st.container(horizontal=True, vertical_alignment="center"):
        if room is None:
            st.warning(f"Room {code} is not open, so predictions are not sent; the lesson works as usual.")
        elif option is not None and option < len(options):
            st.success(f"Your answer was sent to room {code}: {options[option]}.")
        elif option is None and len(room.answers) >= MAX_ANSWERS:
            st.warning(f"Room {code} is full, so predictions are not sent; the lesson works as usual.")
        elif state.guess is not None and 0 <= state.guess < len(options):  # predicted before joining
            st.info(f"You predicted “{options[state.guess]}” before you joined room {code}.")
            st.button(
                "Send this answer", on_click=send_prediction, args=(code, name, state.guess), key=f"{CONTROLS}room_send"
            )
        elif state.guess is not None:  # shown without predicting
            st.info(f"You have not sent a prediction to room {code}.")
            again = {"guess": None, "at": 0}
            st.button("Predict", on_click=change_state, args=(state, data), kwargs=again, key=f"{CONTROLS}room_again")
        else:
            st.info(f"Your prediction will be sent to room {code}, without your name.")
        if st.button("Leave the room", type="tertiary", key=f"{CONTROLS}room_leave"):
            change_state(state, data, room=None)
            st.rerun()  # the whole page: controls outside this fragment must not restore the room


def send_prediction(code: str | None, name: str, option: int | None) -> None:
    """Send a student's prediction to the room that the visitor has joined, if any."""
    if code is not None and option is not None:
        with suppress(InputError):  # closed or full: `draw_status` says so when the page is drawn again
            class_rooms().send(code, name, visitor(), option)

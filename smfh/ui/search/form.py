"""The ways to ask: words, a held-out query, a picture; from what to what, and how to show it."""

from functools import partial

import numpy as np
import streamlit as st

from smfh.asking import (
    MOST_BYTES,
    MOST_CHARACTERS,
    TIES,
    near_words,
    replace_word,
    takes_pictures,
    takes_words,
    unknown_words,
)
from smfh.evaluation import PROTOCOLS
from smfh.runs import Run
from smfh.types import MultimodalDataset
from smfh.ui.asked import NUMBERS, UPLOAD, WORDS, Asked, ask
from smfh.ui.gallery import caption_of, labels_of
from smfh.ui.items import cut

PICK = "search_pick"
FORMATS = ("png", "jpg", "jpeg", "gif", "webp", "bmp")
MOST_OFFERED = 5_000  # queries in the list
MOST_UNKNOWN = 5  # words that near spellings are sought for
OPTION, WORD = 70, 40  # characters shown
DATABASES = {"training": "training items", "unseen": "unseen items"}
WIDTHS = {"source": 120, "target": 120, "database": 160, "ties": 175, "number": 90}  # pixels
ORDERS = {"likeness": "likest first", "database": "as in the database"}


def draw_form(asked: Asked, run: Run) -> None:
    """Every control says what the link says; a change goes into the link."""
    data = run.data
    speaking, seeing = takes_words(data), takes_pictures(data)
    widths = [5, 5, *([2] if seeing else [])]
    if not speaking:
        widths = widths[1:]
    columns = iter(st.columns(widths, vertical_alignment="bottom"))
    if speaking:
        with next(columns):
            _draw_words(asked, run)
    with next(columns):
        _draw_queries(asked, run)
    if seeing:
        with next(columns):
            _draw_upload(asked, run, seeing[0])
    _draw_ways(asked, run)
    if not speaking:
        st.caption("This data set has no words of its own to type: pick one of its held-out items.")


def _draw_words(asked: Asked, run: Run) -> None:
    st.session_state[WORDS] = asked.words or ""
    st.text_input(
        "Words",
        key=WORDS,
        max_chars=MOST_CHARACTERS,
        placeholder="Type any words",
        icon=":material/search:",
        on_change=lambda: ask(asked, run, words=st.session_state[WORDS], row=None),
    )


def _draw_queries(asked: Asked, run: Run) -> None:
    data, split = run.data, run.split
    offered = split.queries[:MOST_OFFERED].tolist()
    st.session_state[PICK] = asked.row if asked.row in set(offered) else None

    def picked() -> None:
        if st.session_state[PICK] is not None:
            ask(asked, run, words=None, row=st.session_state[PICK])

    st.selectbox(
        f"{'or one' if takes_words(data) else 'One'} of {len(split.queries):,} held-out queries",
        offered,
        key=PICK,
        format_func=partial(_option, data),
        placeholder="Pick one, or type to filter",
        on_change=picked,
    )


def _option(data: MultimodalDataset, row: int) -> str:
    parts = [caption_of(data, row), ", ".join(labels_of(data, row))]
    return f"{cut(' · '.join(dict.fromkeys(parts)), OPTION)} · item {row}"


def _draw_upload(asked: Asked, run: Run, source: str) -> None:
    def uploaded() -> None:
        ask(asked, run, words=None, row=None, source=source)

    with st.popover("Picture", icon=":material/upload:", width="stretch", key="search_upload_place"):
        st.file_uploader(
            "A picture of your own",
            FORMATS,
            key=UPLOAD,
            on_change=uploaded,
            max_upload_size=MOST_BYTES // 2**20,
        )
        st.caption("It is looked at here and kept nowhere; a link does not carry it.")
        if st.session_state.get(UPLOAD) is not None and (asked.words is not None or asked.row is not None):
            st.button("Ask with it again", key="search_upload_again", on_click=uploaded)


def _draw_ways(asked: Asked, run: Run) -> None:
    """From, to, database, order of ties, number of results."""
    names = list(run.data.modalities)
    with st.container(horizontal=True, vertical_alignment="bottom", key="search_ways"):
        _select("From", "source", names, asked, run)
        st.button(
            "Swap",
            icon=":material/swap_horiz:",
            key="search_turn",
            help="Ask in the other direction.",
            on_click=_turn_round,
            args=(asked, run),
        )
        _select("To", "target", [name for name in names if name != asked.source], asked, run)
        _select("Database", "database", list(PROTOCOLS), asked, run, DATABASES, " ".join(PROTOCOLS.values()))
        _select("Equal distances", "ties", list(TIES), asked, run, ORDERS, " ".join(TIES.values()))
        _select("Results", "number", sorted({*NUMBERS, asked.number}), asked, run)
        st.button(
            "Any query",
            icon=":material/casino:",
            key="search_any",
            help="Ask with a held-out query drawn at random.",
            on_click=_ask_any,
            args=(asked, run),
        )


def _ask_any(asked: Asked, run: Run) -> None:
    ask(asked, run, words=None, row=int(np.random.default_rng().choice(run.split.queries)))


def _select(
    label: str,
    field: str,
    options: list[str] | list[int],
    asked: Asked,
    run: Run,
    names: dict[str, str] | None = None,
    help: str | None = None,
) -> None:
    key = f"search_{field}"
    st.session_state[key] = getattr(asked, field)

    def changed() -> None:
        changes = {field: st.session_state[key]}
        if field == "source" and st.session_state[key] not in takes_words(run.data):
            changes["words"] = None
        if field in ("number", "ties"):
            changes["page"] = 1
        ask(asked, run, **changes)

    st.selectbox(
        label,
        options,
        key=key,
        on_change=changed,
        format_func=lambda option: (names or {}).get(option, str(option)),
        width=WIDTHS[field],
        help=help,
    )


def _turn_round(asked: Asked, run: Run) -> None:
    words = asked.words if asked.target in takes_words(run.data) else None
    ask(asked, run, source=asked.target, target=asked.source, words=words)


def draw_unknown(asked: Asked, run: Run) -> None:
    """Words that training never taught, and what was perhaps meant, to be put in their place."""
    data, sentence = run.data, asked.words or ""
    strange = unknown_words(data, asked.source, sentence)
    for place, word in enumerate(strange[:MOST_UNKNOWN]):
        near = near_words(data, asked.source, word)
        with st.container(horizontal=True, vertical_alignment="center", key=f"search_unknown_{place}"):
            st.text(f"“{cut(word, WORD)}” is not known from training.{' Did you mean' if near else ''}")
            for known in near:  # letters and digits alone, so nothing in it is markup
                st.button(
                    known,
                    key=f"search_instead_{place}_{known}",
                    on_click=ask,
                    args=(asked, run),
                    kwargs={"words": replace_word(sentence, word, known)},
                )
    if len(strange) > MOST_UNKNOWN:
        st.text(f"… and {len(strange) - MOST_UNKNOWN} more words are not known.")

"""The ways to ask: words, a held-out query, a picture; from what to what, and how to show it."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import streamlit as st

from smfh.asking import MOST_BYTES, MOST_CHARACTERS, TIES, takes_pictures, takes_words
from smfh.evaluation import PROTOCOLS
from smfh.runs import Run
from smfh.ui.address import hold
from smfh.ui.asked import NUMBERS, UPLOAD, Asked, ask, draw_ask
from smfh.ui.gallery import caption_of, labels_of
from smfh.ui.items import cut

WORDS, PICK = "search_words", "search_pick"
FORMATS = ("png", "jpg", "jpeg", "gif", "webp", "bmp")
MOST_OFFERED = 5_000  # queries in the list
OPTION = 70  # characters shown
DATABASES = {"training": "training items", "unseen": "unseen items"}
ORDERS = {"likeness": "most alike first", "database": "in database order"}


def draw_form(asked: Asked, run: Run) -> None:
    """Every control says what the link says; a change goes into the link."""
    speaks = takes_words(run.data)
    ways = [(5, _draw_words)] if speaks else []
    ways += [(5, _draw_queries)]
    ways += [(2, _draw_upload)] if takes_pictures(run.data) else []
    columns = st.columns([width for width, _ in ways], vertical_alignment="bottom")
    for column, (_, draw) in zip(columns, ways, strict=True):
        with column:
            draw(asked, run)
    _draw_direction(asked, run)
    if not speaks:
        st.caption("This data set has no words of its own to type: pick one of its held-out items.")


def _draw_words(asked: Asked, run: Run) -> None:
    st.text_input(
        "Words",
        key=hold(WORDS, asked.words or ""),
        max_chars=MOST_CHARACTERS,
        placeholder="Type any words",
        icon=":material/search:",
        on_change=lambda: ask(asked, run, words=st.session_state[WORDS], row=None),
    )


def _draw_queries(asked: Asked, run: Run) -> None:
    data, queries = run.data, run.split.queries
    offered = queries[:MOST_OFFERED].tolist()

    def option(row: int) -> str:
        said = dict.fromkeys([caption_of(data, row), ", ".join(labels_of(data, row))])
        return f"{cut(' · '.join(said), OPTION)} · item {row}"

    def picked() -> None:
        if (row := st.session_state[PICK]) is not None:
            ask(asked, run, words=None, row=row)

    st.selectbox(
        f"{'or one' if takes_words(data) else 'One'} of {len(queries):,} held-out queries",
        offered,
        key=hold(PICK, asked.row if asked.row in offered else None),
        format_func=option,
        placeholder="Pick one, or type to filter",
        on_change=picked,
    )


def _draw_upload(asked: Asked, run: Run) -> None:
    picture = {"words": None, "row": None, "source": takes_pictures(run.data)[0]}
    with st.popover("Picture", icon=":material/upload:", width="stretch", key="search_upload_place"):
        upload = st.file_uploader(
            "A picture of your own",
            FORMATS,
            key=UPLOAD,
            on_change=ask,
            args=(asked, run),
            kwargs=picture,
            max_upload_size=MOST_BYTES // 2**20,
        )
        st.caption("It is looked at here and kept nowhere; a link does not carry it.")
        if upload is not None and (asked.words is not None or asked.row is not None):
            draw_ask("Ask with it again", "search_upload_again", asked, run, picture)


def _draw_direction(asked: Asked, run: Run) -> None:
    """From, to, database, order of ties, number of results."""
    names = list(run.data.modalities)
    speaks_back = asked.target in takes_words(run.data)
    back = {"source": asked.target, "target": asked.source, "words": asked.words if speaks_back else None}
    drawn = int(np.random.default_rng().choice(run.split.queries))
    with st.container(horizontal=True, vertical_alignment="bottom", key="search_ways"):
        _select("From", "source", names, asked, run, 120)
        look = {"icon": ":material/swap_horiz:", "help": "Ask in the other direction."}
        draw_ask("Swap", "search_turn", asked, run, back, **look)
        _select("To", "target", [name for name in names if name != asked.source], asked, run, 120)
        _select("Database", "database", list(PROTOCOLS), asked, run, 160, DATABASES, PROTOCOLS)
        _select("Equal distances", "ties", list(TIES), asked, run, 175, ORDERS, TIES)
        _select("Results", "number", sorted({*NUMBERS, asked.number}), asked, run, 90)
        look = {"icon": ":material/casino:", "help": "Ask with a held-out query drawn at random."}
        draw_ask("Any query", "search_any", asked, run, {"words": None, "row": drawn}, **look)


def _select(
    label: str,
    field: str,
    options: Sequence[str | int],
    asked: Asked,
    run: Run,
    width: int,
    titles: Mapping[Any, str] = MappingProxyType({}),
    meanings: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """A list for one field of what is asked, so many pixels wide."""
    key = f"search_{field}"

    def changed() -> None:
        changes: dict[str, Any] = {field: st.session_state[key]}
        if field == "source" and changes[field] not in takes_words(run.data):
            changes["words"] = None
        if field in ("number", "ties"):
            changes["page"] = 1
        ask(asked, run, **changes)

    st.selectbox(
        label,
        options,
        key=hold(key, getattr(asked, field)),
        on_change=changed,
        format_func=lambda option: titles.get(option, str(option)),
        width=width,
        help=" ".join(meanings.values()) or None,
    )

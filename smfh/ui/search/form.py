"""The search form: words, a held-out item or a picture; direction and display; the query's code."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from smfh.hamming import DISTANCES
from smfh.retrieval.search import (
    MAX_PICTURE_BYTES,
    TIES,
    SearchResults,
    find_fewest_flips,
    picture_modalities,
    text_modalities,
)
from smfh.runs import Run
from smfh.ui.address import hold
from smfh.ui.items import caption_of, cut, in_bits, labels_of, looks_of
from smfh.ui.plain import plain
from smfh.ui.search_state import (
    DISTANCE_NAMES,
    RESULT_COUNTS,
    UPLOAD,
    SearchState,
    change_search,
    derive_from_query,
    draw_database,
    draw_label,
    draw_search_button,
    draw_word_box,
    uploaded_files,
)

PICK, CODE, COMBINE = "search_pick", "search_code", "search_combine"  # session keys
PART_PIXELS = 32  # width of the picture of an item that is part of a query
FORMATS = ("png", "jpg", "jpeg", "gif", "webp", "bmp")
MAX_OFFERED = 5_000  # queries in the list
OPTION_CHARACTERS = 70
TIE_ORDERS = {"likeness": "by similarity", "database": "in database order"}
CODE_HELP = "Highlighted bits are on. Click a bit to flip it: the results below use the code shown here."
NO_FLIPS = "No flips help: every relevant item has the same code as an item that is not relevant."


def draw_form(state: SearchState, run: Run) -> None:
    """Draw the inputs of a query, its direction and its display; changes are written to the link."""
    has_words, pictures = bool(text_modalities(run.data)), picture_modalities(run.data)
    widths = [*([5] if has_words else []), 5, *([2] if pictures else [])]
    columns = st.columns(widths, vertical_alignment="bottom")
    if has_words:
        with columns[0]:
            draw_word_box(state, run, "Words")
    with columns[1 if has_words else 0]:
        _draw_queries(state, run)
    if pictures:
        with columns[-1], st.popover("Picture", icon=":material/upload:", width="stretch"):
            _draw_upload(state, run, {"words": None, "row": None, "also": (), "source": pictures[0]})
    _draw_parts(state, run)
    _draw_direction(state, run)
    if not has_words:
        st.caption("This data set does not support typed words. Choose a held-out item.")


def _draw_queries(state: SearchState, run: Run) -> None:
    data, queries = run.data, run.split.queries
    offered = queries[:MAX_OFFERED].tolist()

    def option(row: int) -> str:
        texts = dict.fromkeys([caption_of(data, row), ", ".join(labels_of(data, row))])
        return f"{cut(' · '.join(texts), OPTION_CHARACTERS)} · item {row}"

    def picked() -> None:
        if (row := st.session_state[PICK]) is not None:
            change_search(state, run, words=None, row=row, also=())

    st.selectbox(
        f"{'or one' if text_modalities(data) else 'One'} of {len(queries):,} held-out queries",
        offered,
        key=hold(PICK, state.row if state.row in offered else None),
        format_func=option,
        placeholder="Choose one, or type to filter",
        on_change=picked,
    )


def _draw_upload(state: SearchState, run: Run, picture: Mapping[str, Any]) -> None:
    """Draw the picture uploader; `picture` are the changes that make the uploads the only query."""
    is_typed = state.words is not None or state.row is not None
    st.file_uploader(
        "Upload one or more pictures",
        FORMATS,
        accept_multiple_files=True,
        key=UPLOAD,
        on_change=lambda: change_search(state, run, **({} if state.with_uploads else picture)),
        max_upload_size=MAX_PICTURE_BYTES // 2**20,
    )
    st.caption("Pictures are not saved, and a link does not contain them.")
    if is_typed:
        st.toggle(
            "Combine with the words or the item",
            key=hold(COMBINE, state.with_uploads),
            on_change=lambda: change_search(state, run, with_uploads=st.session_state[COMBINE]),
        )
    if uploaded_files() and is_typed:
        draw_search_button("Search with pictures only", "search_upload_again", state, run, picture)


def _draw_parts(state: SearchState, run: Run) -> None:
    """Draw the items that the visitor has added to the query, with buttons to remove them."""
    if not state.also:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="search_also"):
        st.text("Combined with", width="content")
        for row in state.also:
            st.image(looks_of(run.data, [row], None)[0], width=PART_PIXELS, alt=caption_of(run.data, row))
            rest = tuple(other for other in state.also if other != row)
            label = f"Remove {plain(cut(caption_of(run.data, row), OPTION_CHARACTERS))}"
            look = {"type": "tertiary", "icon": ":material/close:"}
            draw_search_button(label, f"search_remove_{row}", state, run, {"also": rest}, **look)


def _draw_direction(state: SearchState, run: Run) -> None:
    names, texts = list(run.data.modalities), text_modalities(run.data)
    words = state.words if state.target in texts else None
    swapped = {"source": state.target, "target": state.source, "words": words}
    row = int(np.random.default_rng().choice(run.split.queries))
    random = {"words": None, "row": row, "also": ()}

    def select(label: str, field: str, options: Iterable[Any], width_pixels: int, **look: Any) -> None:
        key = f"search_{field}"

        def changed() -> None:
            changes: dict[str, Any] = {field: st.session_state[key]}
            if field == "source" and changes[field] not in texts:
                changes["words"] = None
            if field in ("number", "ties", "distance"):
                changes["page"] = 1
            change_search(state, run, **changes)

        held = hold(key, getattr(state, field))
        st.selectbox(label, list(options), key=held, on_change=changed, width=width_pixels, **look)

    with st.container(horizontal=True, vertical_alignment="bottom", key="search_ways"):
        select("From", "source", names, 120)
        look = {"icon": ":material/swap_horiz:", "help": "Search in the other direction."}
        draw_search_button("Swap", "search_turn", state, run, swapped, **look)
        select("To", "target", [name for name in names if name != state.source], 120)
        draw_database(state, run)
        draw_label(state, run)
        about = " ".join(DISTANCES.values())
        select("Distance", "distance", DISTANCES, 135, format_func=DISTANCE_NAMES.__getitem__, help=about)
        about = " ".join(TIES.values())
        select("Ties", "ties", TIES, 175, format_func=TIE_ORDERS.__getitem__, help=about)
        select("Results", "number", sorted({*RESULT_COUNTS, state.number}), 90)
        look = {"icon": ":material/casino:", "help": "Search with a random held-out query."}
        draw_search_button("Random query", "search_any", state, run, random, **look)


def draw_code(state: SearchState, results: SearchResults, run: Run) -> None:
    """Draw the bits of the query's code as switches that flip them; flipped bits are part of the link."""
    on = results.code.nonzero()[0].tolist()
    flipped = f" · {in_bits(len(state.flips))} flipped" if state.flips else ""

    def changed() -> None:
        flips = set(state.flips) ^ set(on) ^ set(st.session_state[CODE])
        change_search(state, run, flips=tuple(sorted(flips)))

    def fix() -> None:
        query, how = results.query, (state.target, state.database)
        find = partial(find_fewest_flips, run.hasher, run.data, run.split, query, *how)
        flips = derive_from_query(run, query, ("fewest flips", how), find)
        if flips is None:
            st.toast(NO_FLIPS, icon=":material/block:")
        else:
            change_search(state, run, flips=tuple(flips.tolist()), distance="hamming")

    with st.expander(f"Edit the code{flipped}", icon=":material/edit:", expanded=bool(state.flips)):
        st.pills(
            "Bits of the query's code",
            range(len(results.code)),
            selection_mode="multi",
            key=hold(CODE, on),
            help=CODE_HELP,
            on_change=changed,
        )
        with st.container(horizontal=True, vertical_alignment="center", key="search_flips"):
            if state.flips:
                look = {"icon": ":material/undo:"}
                draw_search_button("Undo flips", "search_unflip", state, run, {"flips": ()}, **look)
            elif results.relevance is not None and not results.relevance[0]:
                label = "Flip the fewest bits that bring a relevant item to the top by Hamming distance"
                st.button(label, key="search_mend", icon=":material/healing:", on_click=fix)

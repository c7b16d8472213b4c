"""The state of the search controls, which is part of the link; the query they form, and its results."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import streamlit as st

from smfh.features.text import split_words
from smfh.features.words import STOP_WORDS
from smfh.hamming import DISTANCES
from smfh.retrieval.bits import BitTopic, describe_bits
from smfh.retrieval.search import (
    DATABASES,
    MAX_CHARACTERS,
    TIES,
    Query,
    SearchResults,
    combine,
    exclude,
    find_language,
    picture_modalities,
    query_from_item,
    query_from_picture,
    query_from_words,
    replace_word,
    search,
    suggest_words,
    text_modalities,
    unknown_words,
)
from smfh.retrieval.typed_words import split_excluded
from smfh.runs import Run
from smfh.types import InputError, MultimodalDataset
from smfh.ui.address import Part, any_text, current, hold, keep, link_field, one_of, part_of, several, switch, whole
from smfh.ui.items import cut, in_bits
from smfh.ui.log import logging_upload
from smfh.ui.server import derive, read_in_worker
from smfh.ui.session import cache_for_visit, visitor

V = TypeVar("V")
RESULT_COUNTS = (12, 24, 48, 100)
DISTANCE_NAMES = {"hamming": "Hamming", "asymmetric": "asymmetric"}
DATABASE_NAMES = {"all": "all items", "training": "training items", "unseen": "unseen items"}
MAX_UNKNOWN_WORDS = 5  # for which suggestions are drawn
WORD_CHARACTERS = 40
QUERY_SECONDS = 15.0  # to decode a picture
CONTROLS = "search_"  # prefix of the keys of controls that are reset after Back
WORDS, UPLOAD = "search_words", "upload_to_search"  # session keys


@dataclass(frozen=True)
class SearchState:
    """The settings of a search: its query (words, else an item, else uploads), and how to show results."""

    source: str
    target: str
    words: str | None = link_field(None, any_text(MAX_CHARACTERS + 1))  # longer texts get a message
    row: int | None = None
    also: tuple[int, ...] = ()  # rows of items whose pictures are combined with the query
    with_uploads: bool = link_field(False, switch)  # combine uploaded pictures with the words or the item
    interpret: bool = link_field(True, switch)  # unknown words are related to known ones
    database: str = link_field("all", one_of(DATABASES))
    ties: str = link_field("likeness", one_of(TIES))
    distance: str = link_field("asymmetric", one_of(DISTANCES))
    number: int = link_field(RESULT_COUNTS[0], whole(RESULT_COUNTS[0], RESULT_COUNTS[-1]))
    page: int = link_field(1, whole(1, RESULT_COUNTS[-1]))
    why: int | None = None  # the row of a result to explain
    radius: int = 8
    flips: tuple[int, ...] = ()  # bits of the query's code that the visitor flipped
    label: str | None = None  # the class that every result must have


def search_state_part(run: Run) -> Part[SearchState]:
    """Return the Part of the link that holds the search; ranges of its parameters depend on the run."""
    data, bits = run.data, run.hasher.bits
    modality, item = one_of(data.modalities), whole(0, len(data) - 1)
    return part_of(
        default_search_state(data),
        "search.",
        about=f"{data.fingerprint} {bits}",
        source=modality,
        target=modality,
        row=item,
        also=several(item),
        why=item,
        radius=whole(0, bits),
        flips=several(whole(0, bits - 1)),
        label=one_of(data.class_names),
    )


def default_search_state(data: MultimodalDataset) -> SearchState:
    """Return a search without a query, from text to image if the data has these modalities."""
    names = list(data.modalities)
    source = "text" if "text" in names else names[-1]
    return SearchState(source, _other_modality(names, source))


def _other_modality(names: list[str], name: str) -> str:
    others = [other for other in names if other != name]
    return "image" if "image" in others else others[0]


def current_search_state(run: Run) -> tuple[SearchState, Sequence[str]]:
    """Return the search in the link, or else the visitor's last one, and notes on invalid link parameters."""
    state, notes = current(search_state_part(run), CONTROLS)
    return adapt_state(state, run.data), notes


def save_search_state(state: SearchState, run: Run) -> None:
    """Save the search in the session and the address."""
    keep(search_state_part(run), state)


def change_search(state: SearchState, run: Run, **changes: Any) -> None:
    """Save the search with these changes; for callbacks, which run before the page is drawn."""
    query = {"words", "row", "also", "with_uploads", "interpret", "source", "target", "database", "label"}
    reset: dict[str, Any] = {"page": 1} if changes.keys() - {"page", "why", "radius"} else {}
    if query & changes.keys():
        reset |= {"why": None, "flips": ()}
    if changes.get("source", state.source) not in text_modalities(run.data):
        reset["words"] = None
    save_search_state(adapt_state(replace(state, **(reset | changes)), run.data), run)


def adapt_state(state: SearchState, data: MultimodalDataset) -> SearchState:
    """Return the search with the text modality that knows most of the words as source, another as target."""
    if state.words is not None and not (state.words.strip() and text_modalities(data)):
        state = replace(state, words=None)
    if state.words is not None:
        state = replace(state, source=find_language(data, state.source, state.words), row=None)
    if state.source == state.target:
        state = replace(state, target=_other_modality(list(data.modalities), state.source))
    return state


def draw_search_button(
    label: str, key: str, state: SearchState, run: Run, changes: Mapping[str, Any], **look: Any
) -> None:
    """Draw a button that changes fields of the search, given in `changes`."""
    st.button(label, key, on_click=change_search, args=(state, run), kwargs=dict(changes), **look)


def draw_word_box(state: SearchState, run: Run, label: str, **look: Any) -> None:
    """Draw a field for the words of the query."""
    st.text_input(
        label,
        key=hold(WORDS, state.words or ""),
        max_chars=MAX_CHARACTERS,
        placeholder="Type words",
        icon=":material/search:",
        on_change=lambda: change_search(state, run, words=st.session_state[WORDS], row=None),
        **look,
    )


def draw_choice(
    label: str, field: str, options: Iterable[Any], width: int, state: SearchState, run: Run, **look: Any
) -> None:
    """Draw a menu that sets a field of the search."""
    key = f"{CONTROLS}{field}"
    st.selectbox(
        label,
        list(options),
        key=hold(key, getattr(state, field)),
        width=width,
        on_change=lambda: change_search(state, run, **{field: st.session_state[key]}),
        **look,
    )


def draw_filters(state: SearchState, run: Run, **look: Any) -> None:
    """Draw menus of the items to search, and of a label that all results must have if items have labels."""
    about, names = " ".join(DATABASES.values()), DATABASE_NAMES.__getitem__
    draw_choice("Database", "database", DATABASES, 150, state, run, format_func=names, help=about, **look)
    if run.data.class_names:
        look |= {"index": None, "placeholder": "any label", "help": "Search only the items that have this label."}
        draw_choice("Label", "label", run.data.class_names, 150, state, run, **look)


def draw_random_button(key: str, state: SearchState, run: Run, **look: Any) -> None:
    """Draw a button that searches with a random held-out query."""
    query = {"words": None, "row": int(np.random.default_rng().choice(run.split.queries)), "also": ()}
    look |= {"icon": ":material/casino:", "help": "Search with a random held-out query."}
    draw_search_button("Random query", key, state, run, query, **look)


def draw_unknown_words(state: SearchState, run: Run) -> None:
    """Draw notes on how unknown words are interpreted, and suggestions for words that cannot be interpreted."""
    data, sentence = run.data, state.words or ""
    try:
        query = make_query(state, run) if state.words is not None else None
    except InputError:  # shown in place of the results
        query = None
    interpreted = {} if query is None else query.interpreted_as
    if query is not None and (query.notes or not state.interpret):
        with st.container(horizontal=True, vertical_alignment="center", key="search_interpreted"):
            st.text("\n".join(query.notes))
            label = "Use exact words" if state.interpret else "Interpret unknown words"
            change = {"interpret": not state.interpret}
            draw_search_button(label, "search_interpret", state, run, change, type="tertiary")
    missing = [word for word in unknown_words(data, state.source, sentence) if word not in interpreted]
    missing = [word for word in missing if not (state.interpret and word in STOP_WORDS)]
    for place, word in enumerate(missing[:MAX_UNKNOWN_WORDS]):
        similar = suggest_words(data, state.source, word)
        with st.container(horizontal=True, vertical_alignment="center", key=f"search_unknown_{place}"):
            question = " Did you mean" if similar else ""
            st.text(f"“{cut(word, WORD_CHARACTERS)}” does not occur in the training data.{question}")
            for known in similar:  # letters and digits only, so it cannot contain markup
                replaced = {"words": replace_word(sentence, word, known)}
                draw_search_button(known, f"search_instead_{place}_{known}", state, run, replaced)
    if len(missing) > MAX_UNKNOWN_WORDS:
        st.text(f"… and {len(missing) - MAX_UNKNOWN_WORDS} more unknown words")


def make_query(state: SearchState, run: Run) -> Query:
    """Return the query made of words, item, uploads and added items; by default a typical held-out query."""
    data, source, row = run.data, state.source, state.row
    pictures, uploads = picture_modalities(data), uploaded_files()
    is_typed = state.words is not None or row is not None
    parts, excluded = [], list[str]()
    wanted, without = split_excluded(state.words or "")
    if without and not split_words(wanted) and ((pictures and uploads) or state.also):
        excluded = without  # "-cat" with a picture
    elif state.words is not None:
        parts.append(query_from_words(data, source, state.words, state.interpret))
    elif row is not None:
        parts.append(query_from_item(data, source, row))
    if pictures and (excluded or (state.with_uploads if is_typed else source in pictures)):
        parts += [_query_from_upload(run, pictures[0], file) for file in uploads]
    if not parts and not excluded:
        row = int(run.split.queries[run.typical_query(source, state.target)])
        parts.append(query_from_item(data, source, row))
    query = combine([*parts, *(query_from_item(data, (pictures or [source])[0], one) for one in state.also)])
    query = exclude(query, " ".join(excluded))
    return replace(query, label=None if state.label is None else data.class_names.index(state.label))


def uploaded_files() -> list[bytes]:
    """Return the pictures that the visitor uploaded to search with."""
    return [upload.getvalue() for upload in st.session_state.get(UPLOAD) or ()]


def _query_from_upload(run: Run, modality: str, file: bytes) -> Query:
    # decoded and measured in a worker process, because a damaged file can crash a decoder
    call = partial(read_in_worker, visitor(), max_seconds=QUERY_SECONDS)

    def read() -> Query:
        with logging_upload("picture", visitor(), len(file)):
            return query_from_picture(run.data, modality, file, "The picture", call)

    return cache_for_visit((run.key, "picture", modality, hashlib.sha256(file).hexdigest()), read)


def results_of(run: Run, query: Query, state: SearchState) -> SearchResults:
    """Return the results of a query, cached for equal queries."""
    how = (state.target, state.database, state.ties, state.flips)
    find = partial(search, run.hasher, run.data, run.split, query, *how, distance=state.distance)
    return derive_from_query(run, query, ("results", how, state.distance), find)


def derive_from_query(run: Run, query: Query, what: Hashable, make: Callable[[], V]) -> V:
    """Return a value computed from a query, cached for all visitors; for uploads, for this visitor only."""
    key = (what, query.identity)
    return cache_for_visit((run.key, key), make) if query.pictures else derive(run, key, make)


def describe_nearest(results: SearchResults) -> str:
    """Return a sentence with the number of nearest items and their distance from the query."""
    if same := int(results.counts.items[0, 0]):
        return f"{same:,} items have the query's code" if same > 1 else "1 item has the query's code"
    first = int(results.distances.argmin())
    nearest = f"{results.tied[first]:,} nearest items" if results.tied[first] > 1 else "1 nearest item"
    if results.distance == "hamming":
        return f"{nearest}, {in_bits(results.distances[first])} away by Hamming distance"
    return f"{nearest}, at {results.distance} distance {results.distances[first]:.3g}"


def searched_items(results: SearchResults, state: SearchState) -> str:
    """Return a sentence that says which items are searched and how many, without excluded ones."""
    name = DATABASE_NAMES[state.database] + ("" if state.label is None else f" with label {state.label}")
    first = [f"{results.names} with exactly this name"] if results.names else []
    first += [f"{results.containing} whose text has all words"] if results.containing else []
    listed = f"; first {', then '.join(first)}" if first else ""
    return f"{int(results.counts.items.sum()):,} items ({name}) searched{listed}"


def topics_of(run: Run) -> tuple[BitTopic, ...]:
    """Return the topics of all bits of a run (what each bit stands for), cached."""
    describe = partial(describe_bits, run.hasher, run.data, run.split)
    return derive(run, "topics", describe, "Describing each bit …")

"""Convert page states to link parameters and back; decide whether the link or the session applies.

The state of a page (below: its value) is a frozen dataclass. Its link parameters share a prefix such as
`search.`, which is the part of a key up to its last dot. Streamlit's `bind="query-params"` (1.67) is not
used: it drops invalid parameters without a message, and other parameters cannot be written in one call.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar, cast

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from smfh.types import InputError, read_value, unknown

T = TypeVar("T")
UrlQuery = Mapping[str, str]
Reader = Callable[[str, str], Any]  # name and text → value, or InputError

MAX_TEXT_CHARACTERS = 4_000  # in one parameter
MAX_DIGITS = 15  # in a whole number
MAX_NOTES, NOTE_CHARACTERS, QUOTE_CHARACTERS = 10, 300, 40
SHARED = ("", "data.")  # prefixes of the settings, which every page has
SAVED_PARTS = "address"  # session key: prefix → SavedPart


def link_field(default: Any, reader: Reader) -> Any:
    """Return a dataclass field that is part of the page's link; the function `reader` parses its text."""
    return field(default=default, metadata={"reader": reader})


def one_of(known: Sequence[str] | Mapping[str, object]) -> Reader:
    """Return a function that parses one of these words from a link parameter."""

    def read(name: str, text: str) -> str:
        if text not in known:
            raise unknown(name, text[:QUOTE_CHARACTERS], known)
        return text

    return read


def whole(low: int, high: int) -> Reader:
    """Return a function that parses a whole number from `low` to `high` from a link parameter."""

    def read(name: str, text: str) -> int:
        digits = text.removeprefix("-")
        is_number = digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS
        if not is_number or not low <= int(text) <= high:
            raise InputError(
                f"{name} must be a whole number from {low:,} to {high:,}; got {text[:QUOTE_CHARACTERS]!r}."
            )
        return int(text)

    return read


def several(reader: Reader, least: int = 0) -> Reader:
    """Return a function that parses distinct comma-separated values, at least `least`, from a link parameter."""

    def read(name: str, text: str) -> tuple[Any, ...]:
        values = tuple(dict.fromkeys(reader(name, part) for part in text.split(",") if part))
        if len(values) < least:
            raise InputError(f"{name} must name at least {least}; got {len(values)}.")
        return values

    return read


def any_text(limit: int) -> Reader:
    """Return a function that reads any text from a link parameter and cuts it to `limit` characters."""
    return lambda name, text: text[:limit]


def switch(name: str, text: str) -> bool:
    """Return the Boolean value of the text "true" or "false"; raise InputError for other texts."""
    return bool(read_value(name, text[:QUOTE_CHARACTERS], False))


def readers_of(value: Any) -> dict[str, Reader]:
    """Return the functions that parse the fields of a dataclass from link parameters, by field name."""
    readers: dict[str, Reader] = {}
    for f in fields(value):
        if "reader" in f.metadata:
            readers[f.name] = f.metadata["reader"]
        elif "parameter" in f.metadata or "choice" in f.metadata:
            readers[f.name] = partial(read_value, like=f.default)
    return readers


def encode(value: Any, default: Any, prefix: str = "", always: Sequence[str] = (), /, **readers: Reader) -> UrlQuery:
    """Return a page state as link parameters, without None and without defaults of fields not in `always`."""
    query = {}
    for name in readers_of(value) | readers:
        own = getattr(value, name)
        if own is not None and (name in always or own != getattr(default, name)):
            query[f"{prefix}{name}"] = ",".join(map(str, own)) if isinstance(own, tuple) else str(own)
    return query


def decode(query: UrlQuery, default: T, prefix: str = "", /, **readers: Reader) -> tuple[T, list[str]]:
    """Return the page state in a link, with defaults for invalid parameters, and a note on each of these."""
    value: Any = default
    notes: list[str] = []
    known = readers_of(default) | readers
    for key, text in own_keys(query, (prefix,)).items():
        name = key.removeprefix(prefix)
        try:
            if name not in known:
                names = [f"{prefix}{other}" for other in known] or ["none"]
                raise unknown("link parameter", key[:QUOTE_CHARACTERS], names)
            if len(text) > MAX_TEXT_CHARACTERS:
                raise InputError(f"{name} must have at most {MAX_TEXT_CHARACTERS:,} characters; got {len(text):,}.")
            value = replace(value, **{name: known[name](name, text)})
        except InputError as error:
            notes += error.problems
    return value, shorten_notes(notes)


def shorten_notes(notes: Sequence[str]) -> list[str]:
    """Shorten a list of notes on a link, and each note, because a link can contain many long texts."""
    first = [note if len(note) <= NOTE_CHARACTERS else f"{note[:NOTE_CHARACTERS]} …" for note in notes[:MAX_NOTES]]
    more = len(notes) - MAX_NOTES
    return [*first, f"{more:,} more parameters of the link are not valid."] if more > 0 else first


def own_keys(query: UrlQuery, prefixes: Sequence[str]) -> dict[str, str]:
    """Return the link parameters whose prefix (the key up to its last dot) is in `prefixes`."""
    return {key: text for key, text in query.items() if key[: key.rfind(".") + 1] in prefixes}


@dataclass(frozen=True)
class Part(Generic[T]):
    """A page state in the address: the prefixes of its parameters, and functions that read and write it."""

    prefixes: tuple[str, ...]
    read: Callable[[UrlQuery], tuple[T, list[str]]]
    write: Callable[[T], UrlQuery]
    about: str = ""  # identifies the data; when it changes, the link parameters are read again


def part_of(default: T, prefix: str, /, always: Sequence[str] = (), about: str = "", **readers: Reader) -> Part[T]:
    """Return the Part for a page's state; `readers` parse fields whose range depends on the data."""
    return Part(
        (prefix,),
        lambda query: decode(query, default, prefix, **readers),
        lambda value: encode(value, default, prefix, always, **readers),
        about,
    )


@dataclass(frozen=True)
class SavedPart:
    """A page state and its link parameters, as this session last read or wrote them."""

    value: Any
    notes: Sequence[str]
    texts: UrlQuery  # link parameters: now in the address, or when the visitor left the page
    about: str | None  # None: another page has set the texts, and they have not been read yet
    page: str  # on which the part was read or written
    moved: bool = False  # whether Back or Forward was pressed since then


def current(part: Part[T], controls: str) -> tuple[T, Sequence[str]]:
    """Return a page's current state, and notes on invalid parameters of the link.

    The address is read in the first run of a session (a link or a reload) and after Back or Forward.
    Otherwise the value of the session applies and `keep` updates the address, so an outdated address has no
    effect. Controls whose keys start with `controls` are reset when the value or the page has changed;
    initialise each with `st.session_state.setdefault` or `hold`.
    """
    state, (page, moved) = _saved_parts(), _current_page()
    if moved:  # mark all parts: this script run may end before the other parts are read
        state.update({prefix: replace(saved, moved=True) for prefix, saved in state.items()})
    saved = state.get(part.prefixes[0])
    texts = own_keys(st.query_params, part.prefixes) if saved is None or saved.moved else saved.texts
    if saved is None or saved.texts != texts or saved.about != part.about:
        now = SavedPart(*part.read(texts), texts, part.about, page)
    else:
        now = replace(saved, page=page, moved=False)
    if saved is not None and (saved.value, saved.page) != (now.value, page):
        forget(controls)
    state[part.prefixes[0]] = now
    return cast(T, now.value), now.notes


def keep(part: Part[T], value: T) -> None:
    """Save a page state in the session and the address, where it replaces the states of other pages."""
    query, saved = st.query_params.to_dict(), _saved_parts().get(part.prefixes[0])
    written = own_keys(query, part.prefixes)
    rest = {key: text for key, text in query.items() if key not in written}
    if part.prefixes != SHARED:
        rest = own_keys(rest, SHARED)
    unchanged = saved if saved is not None and saved.value == value else None
    # an address that already means this value stays as it is, even if empty or spelled differently
    texts = unchanged.texts if unchanged and unchanged.texts == written else part.write(value)
    notes = unchanged.notes if unchanged else ()
    _saved_parts()[part.prefixes[0]] = SavedPart(value, notes, texts, part.about, _current_page()[0])
    if rest | dict(texts) != query:
        st.query_params.from_dict(rest | dict(texts))


def forget(controls: str) -> None:
    """Delete the session values of the controls whose keys start with `controls`, which resets them."""
    for key in [key for key in map(str, st.session_state) if key.startswith(controls)]:
        del st.session_state[key]


def hold(key: str, value: Any) -> str:
    """Set the control with this key to a value, unless it already has the value; return the key."""
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    return key


def bound_control(key: str, value: T, act: Callable[[T], None]) -> dict[str, Any]:
    """Return `key` and `on_change` of a control that shows `value` and calls `act` with a new choice.

    When `value` changes, a new control with another key replaces the old one. Otherwise an old value that a
    slow browser sends late would look like a choice of the visitor.
    """
    turn = f"turn_{key}"
    now = st.session_state.setdefault(turn, 0)
    if st.session_state.get(f"{key}_{now}") != value:
        now = st.session_state[turn] = now + 1
        st.session_state[f"{key}_{now}"] = value
    own = f"{key}_{now}"

    def changed() -> None:
        if (chosen := st.session_state[own]) != value:
            act(chosen)

    return {"key": own, "on_change": changed}


def saved_texts(*prefixes: str) -> dict[str, str]:
    """Return the saved link parameters with these prefixes, for `st.page_link`."""
    saved = [_saved_parts()[prefix].texts for prefix in prefixes if prefix in _saved_parts()]
    return {key: text for texts in saved for key, text in texts.items()}


def go(script: str, prefix: str, **texts: str) -> NoReturn:
    """Switch to another page, with these link parameters or in its last state; not from a callback."""
    if texts:
        parameters = {f"{prefix}{name}": text for name, text in texts.items()}
        _saved_parts()[prefix] = SavedPart(None, (), parameters, about=None, page="")
    st.switch_page(script, query_params=saved_texts("", prefix))


def draw_notes(notes: Sequence[str]) -> None:
    """Draw the notes on an invalid link, as plain text because they quote the link."""
    if notes:
        st.warning("Part of the link is not valid; defaults are used instead.", icon=":material/link_off:")
        st.text("\n".join(notes))


def _saved_parts() -> MutableMapping[str, SavedPart]:
    saved: dict[str, SavedPart] = st.session_state.setdefault(SAVED_PARTS, {})
    return saved


def _current_page() -> tuple[str, bool]:
    """Return the page that is being drawn, and whether the visitor pressed Back or Forward."""
    context = get_script_run_ctx()
    return ("", False) if context is None else (context.page_script_hash, context.is_history_navigation)

"""The address bar: values to the parameters of a link and back, and who wins when the two differ.

A value is a frozen dataclass. Each page's value has a prefix of its own, such as `search.`: a key up to its
last dot tells whose it is. Streamlit's own `bind="query-params"` drops what is wrong in a link without a
word, and forbids to write the rest of the address in one go (1.67), so it is not used.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar, cast

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from smfh.types import InputError, read_value, unknown

T = TypeVar("T")
Query = Mapping[str, str]
Reader = Callable[[str, str], Any]  # name and text → value, or InputError

LONGEST = 4_000  # characters of one text in a link
WHOLE = 15  # digits of a whole number in a link
MOST_NOTES, NOTE, SHOWN = 10, 300, 40  # notes; characters of one, and of what was wrong
SHARED = ("", "data.")  # prefixes of the settings, which every page shows
KEPT = "address"  # in the session: prefix → what is kept


def told(default: Any, reader: Reader) -> Any:
    """A field of a dataclass that a link carries, and how its text is read."""
    return field(default=default, metadata={"reader": reader})


def one_of(known: Sequence[str] | Mapping[str, object]) -> Reader:
    """Reads one of these words."""

    def read(name: str, text: str) -> str:
        if text not in known:
            raise unknown(name, text[:SHOWN], known)
        return text

    return read


def whole(low: int, high: int) -> Reader:
    """Reads a whole number of this range."""

    def read(name: str, text: str) -> int:
        digits = text.removeprefix("-")
        if not (
            digits.isascii() and digits.isdecimal() and len(digits) <= WHOLE and low <= int(text) <= high
        ):
            raise InputError(f"{name} must be a whole number from {low:,} to {high:,}; got {text[:SHOWN]!r}.")
        return int(text)

    return read


def several(reader: Reader, least: int = 0) -> Reader:
    """Reads what stands between commas, each thing once, in the order that the link gives."""

    def read(name: str, text: str) -> tuple[Any, ...]:
        values = tuple(dict.fromkeys(reader(name, part) for part in text.split(",") if part))
        if len(values) < least:
            raise InputError(f"{name} must name at least {least}; got {len(values)}.")
        return values

    return read


def any_text(longest: int) -> Reader:
    """Reads any text, cut to this many characters."""
    return lambda name, text: text[:longest]


def switch(name: str, text: str) -> bool:
    """Reads true or false."""
    return bool(read_value(name, text[:SHOWN], False))


def readers_of(value: Any) -> dict[str, Reader]:
    """How each field that a link can carry is read: as it was told, or by its description as a parameter."""
    readers: dict[str, Reader] = {}
    for f in fields(value):
        if "reader" in f.metadata:
            readers[f.name] = f.metadata["reader"]
        elif "parameter" in f.metadata or "choice" in f.metadata:
            readers[f.name] = partial(read_value, like=f.default)
    return readers


def encode(
    value: Any, usual: Any, prefix: str = "", always: Sequence[str] = (), /, **readers: Reader
) -> Query:
    """The parameters of a link to this value; None and what is as usual are left out, save for `always`."""
    query = {}
    for name in readers_of(value) | readers:
        own = getattr(value, name)
        if own is not None and (name in always or own != getattr(usual, name)):
            query[f"{prefix}{name}"] = ",".join(map(str, own)) if isinstance(own, tuple) else str(own)
    return query


def decode(query: Query, usual: T, prefix: str = "", /, **readers: Reader) -> tuple[T, list[str]]:
    """The value that a link asks for, and notes: what is wrong in it falls back to the usual."""
    value: Any = usual
    notes: list[str] = []
    known = readers_of(usual) | readers
    for key, text in own_keys(query, (prefix,)).items():
        name = key.removeprefix(prefix)
        try:
            if name not in known:
                raise unknown(
                    "part of a link", key[:SHOWN], [f"{prefix}{other}" for other in known] or ["none"]
                )
            if len(text) > LONGEST:
                raise InputError(f"{name} must have at most {LONGEST:,} characters; got {len(text):,}.")
            value = replace(value, **{name: known[name](name, text)})
        except InputError as error:
            notes += error.problems
    return value, short(notes)


def short(notes: Sequence[str]) -> list[str]:
    """The first notes, each cut: a link may hold anything, and any amount of it."""
    cut = [note if len(note) <= NOTE else f"{note[:NOTE]} …" for note in notes[:MOST_NOTES]]
    more = len(notes) - MOST_NOTES
    return [*cut, f"{more:,} more parts of the link cannot be used."] if more > 0 else cut


def own_keys(query: Query, prefixes: Sequence[str]) -> dict[str, str]:
    """The parameters whose key, up to its last dot, is one of the prefixes."""
    return {key: text for key, text in query.items() if key[: key.rfind(".") + 1] in prefixes}


@dataclass(frozen=True)
class Part(Generic[T]):
    """One value in the address: which keys are its own, how it is read, and how it is written."""

    prefixes: tuple[str, ...]
    read: Callable[[Query], tuple[T, list[str]]]
    write: Callable[[T], Query]
    about: str = ""  # the data that it speaks of: for other data, what was told is read again


def part_of(
    usual: T, prefix: str, /, always: Sequence[str] = (), about: str = "", **readers: Reader
) -> Part[T]:
    """The part of a page; readers that depend on the data come beside those that the fields declare."""
    return Part(
        (prefix,),
        lambda query: decode(query, usual, prefix, **readers),
        lambda value: encode(value, usual, prefix, always, **readers),
        about,
    )


@dataclass(frozen=True)
class Kept:
    """A part as this visit last read or wrote it."""

    value: Any
    notes: Sequence[str]
    texts: Query  # what the address says, or said when its page was left
    about: str | None  # None: another page told the texts, and they are still to be read
    page: str  # where that was
    moved: bool = False  # Back or Forward was pressed since


def current(part: Part[T], controls: str) -> tuple[T, Sequence[str]]:
    """The value of this visit, with notes on the link that it came from.

    The address wins where the browser goes by it: at the first run of a visit (a link, a reload), at Back and
    at Forward. Else the visit wins, and `keep` makes the address follow: an address that merely lags behind a
    quick hand changes nothing. The controls, whose keys begin so, forget what they hold where the value is
    another or the page is: then let each begin with the value by `st.session_state.setdefault` or `hold`.
    """
    state, (page, went) = _kept(), _page()
    if went:  # for the other parts too: this run may end before they are asked for
        state.update({prefix: replace(kept, moved=True) for prefix, kept in state.items()})
    kept = state.get(part.prefixes[0])
    texts = own_keys(st.query_params, part.prefixes) if kept is None or kept.moved else kept.texts
    if kept is None or kept.texts != texts or kept.about != part.about:
        now = Kept(*part.read(texts), texts, part.about, page)
    else:
        now = replace(kept, page=page, moved=False)
    if kept is not None and (kept.value, kept.page) != (now.value, page):
        forget(controls)
    state[part.prefixes[0]] = now
    return cast(T, now.value), now.notes


def keep(part: Part[T], value: T) -> None:
    """Let this be the value of the visit, and let the address say so, without the parts of other pages."""
    query, kept = st.query_params.to_dict(), _kept().get(part.prefixes[0])
    said = own_keys(query, part.prefixes)
    rest = {key: text for key, text in query.items() if key not in said}
    if part.prefixes != SHARED:
        rest = own_keys(rest, SHARED)
    same = kept is not None and kept.value == value
    # a link that says the same in other words stays as it is, and a bare address stays bare
    texts = kept.texts if kept is not None and same and kept.texts == said else part.write(value)
    notes = kept.notes if kept is not None and same else ()
    _kept()[part.prefixes[0]] = Kept(value, notes, texts, part.about, _page()[0])
    if rest | dict(texts) != query:
        st.query_params.from_dict(rest | dict(texts))


def forget(controls: str) -> None:
    """Let the controls whose keys begin so take their values anew."""
    for key in [key for key in map(str, st.session_state) if key.startswith(controls)]:
        del st.session_state[key]


def hold(key: str, value: Any) -> str:
    """The key of a control that holds this value; set only where it holds another: a quick hand is spared."""
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    return key


def follow(key: str, value: T, act: Callable[[T], None]) -> dict[str, Any]:
    """Key and `on_change` of a control that shows what others decide, and acts where a person changes it.

    Where it is to show another value it becomes another control. A browser that lags behind a quick hand
    sends the old one along, as it was given; in the same control that would look like the person's doing.
    """
    turn = f"turn_{key}"
    now = st.session_state.setdefault(turn, 0)
    if st.session_state.get(f"{key}_{now}") != value:
        now = st.session_state[turn] = now + 1
        st.session_state[f"{key}_{now}"] = value
    own = f"{key}_{now}"

    def changed() -> None:
        if (said := st.session_state[own]) != value:
            act(said)

    return {"key": own, "on_change": changed}


def told_by(*prefixes: str) -> dict[str, str]:
    """What a link to the page with these parts says, as they were left: for `st.page_link`."""
    kept = [_kept()[prefix].texts for prefix in prefixes if prefix in _kept()]
    return {key: text for texts in kept for key, text in texts.items()}


def go(script: str, prefix: str, **texts: str) -> NoReturn:
    """Leave for another page, whose part says these texts, or what was left there; not from a callback."""
    if texts:
        told_texts = {f"{prefix}{name}": text for name, text in texts.items()}
        _kept()[prefix] = Kept(None, (), told_texts, about=None, page="")
    st.switch_page(script, query_params=told_by("", prefix))


def draw_notes(notes: Sequence[str]) -> None:
    """What is wrong in the link, as plain text: it may hold anything."""
    if notes:
        st.warning(
            "A part of the link cannot be used; the usual is shown instead.", icon=":material/link_off:"
        )
        st.text("\n".join(notes))


def _kept() -> MutableMapping[str, Kept]:
    kept: dict[str, Kept] = st.session_state.setdefault(KEPT, {})
    return kept


def _page() -> tuple[str, bool]:
    """Which page is drawn, and whether Back or Forward brought the person here."""
    context = get_script_run_ctx()
    return ("", False) if context is None else (context.page_script_hash, context.is_history_navigation)


# Streamlit makes a step for Back of every change of the address, and two of `switch_page`: the old page under
# the new query, then the new page. Here a change on the same page replaces the present step, unless a key
# that makes another place has changed, and then once for each thing that the person does; and the step of the
# old page is put right. Where this cannot run, Back takes more steps and nothing else is lost.
_HISTORY = st.components.v2.component(
    "smfh_history",
    js="""
    export default function ({ data }) {
      const history = window.history
      if (!history.smfh) {
        const push = history.pushState
        const own = (history.smfh = { places: [] })
        // whether the person did something, the address before what came of it, whether that made a step
        const begin = (acted) => Object.assign(own, { acted, before: null, stepped: false })
        for (const kind of ["pointerdown", "keydown"]) window.addEventListener(kind, () => begin(true), true)
        window.addEventListener("popstate", () => begin(false))
        begin(true)
        history.pushState = function (state, title, url) {
          const here = new URL(window.location.href)
          const next = new URL(url ?? here, here)
          const differs = (key) => next.searchParams.get(key) !== here.searchParams.get(key)
          let step = true
          if (next.pathname === here.pathname) {
            step = own.acted && own.places.some(differs)
            own.before ??= here.href
            if (step) Object.assign(own, { acted: false, stepped: true })
          } else {
            if (own.before && next.search === here.search) {
              step = !own.stepped
              if (step) history.replaceState(state, title, own.before)
            }
            begin(false)
          }
          return (step ? push : history.replaceState).call(history, state, title, url)
        }
      }
      history.smfh.places = data.places
    }
    """,
)


def draw_history(places: Sequence[str]) -> None:
    """Nothing to see: from now on only another page, or a change of one of these keys, is a step for Back."""
    _HISTORY(data={"places": list(places)}, key="smfh_history")

"""The sidebar of every page: data set, method and parameters, the Train button, and a link to share.

The controls of parameters are built from their metadata: sliders, number fields, toggles and lists.
"""

import io
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from smfh.datasets import DATASETS, DatasetSource
from smfh.datasets.user_data import UserDataset
from smfh.experiments.comparison import value_in_words
from smfh.hashing import METHODS, HashMethod, make_method
from smfh.types import InputError, Parameter, choices, parameters, read_value
from smfh.ui.address import SHARED, bound_control, current, draw_notes, keep, own_keys
from smfh.ui.plain import plain
from smfh.ui.server import derive
from smfh.ui.session import (
    MAX_SECONDS_ON_CHANGE,
    REQUESTED_RUN,
    TRAIN_ON_CHANGE,
    UPLOAD,
    current_run,
    current_upload,
    finished_run,
    seconds_to_train,
    will_start,
)
from smfh.ui.settings import DATA, METHOD, OPTION, SETTINGS, Settings, hideable, in_words, to_link

REDUNDANT = "redundant_presets"  # presets to leave out, by data set and method
CONTROL = "control_"  # prefix of the keys of the settings' controls
MAIN = ("bits", "graph_weight", "projection_weight", "graph_sample")
ROUND_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 258, 300, 500, 750)
BITS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)
SWEEP = "requested_sweep"  # session key: the parameter that Tune is to sweep
FIELD_PIXELS = 72  # width of a number field
QR_PIXELS = 240
PRESENTATION_HELP = "Large type, no menus."


def draw_sidebar(trains: bool = False, methods: bool = True, data: bool = True) -> Settings:
    """Draw the sidebar and return the settings chosen in it.

    `trains` adds the Train button, for pages about a run. Pages on which the method or the data set has no
    effect set `methods` or `data` to False: its controls are left out, and its values stay unchanged.
    """
    before, notes = current(SETTINGS, CONTROL)
    if before.source.name == UPLOAD:  # the link does not contain the data, and it may have been removed
        before = replace(before, source=source_of(UPLOAD))
    with st.sidebar:
        settings = _choose_data_and_method(before, methods, data)
        names = parameters(settings.method) if methods else {}
        for name in MAIN:
            if name in names and name not in settings.hidden:
                settings = replace(settings, method=_draw_main_parameter(settings.method, name))
        train = st.container(gap="xsmall")
        if methods:
            _draw_presets(settings)
        others = [name for name in names if name not in MAIN and name not in settings.hidden]
        if others:
            with st.expander("More parameters"):
                method = settings.method
                for name in others:
                    value = _draw_value(name, names[name], getattr(method, name), method.name)
                    method = _with_parameter(method, name, value)
                settings = replace(settings, method=method)
        settings = _choose_options(settings) if data else settings
        with st.container(horizontal=True, vertical_alignment="center"):
            key = f"{CONTROL}present"
            present = st.toggle("Present", settings.present, key=key, help=PRESENTATION_HELP)
            settings = replace(settings, present=present)
            keep(SETTINGS, settings)
            if settings.source.name == UPLOAD:
                st.caption("Uploaded data cannot be shared by a link.")
            elif st.button("Share", icon=":material/qr_code:", key="share"):
                show_link(settings)
    if trains:
        with train:
            _draw_train(settings)
    if settings == before:
        draw_notes(notes)
    return settings


def source_of(name: str) -> DatasetSource:
    """Return the data source with this name; a deleted upload becomes a source without content."""
    if name != UPLOAD:
        return DATASETS[name]()
    return own.source if (own := current_upload()) else UserDataset()


def _choose_data_and_method(settings: Settings, methods: bool, data: bool) -> Settings:
    def select(label: str, titles: dict[str, str], value: str) -> str:
        key = f"{CONTROL}{label.lower()}"
        if st.session_state.get(key) not in titles:
            st.session_state[key] = value
        chosen: str = st.selectbox(label, list(titles), key=key, format_func=titles.__getitem__)
        return chosen

    if data and DATA not in settings.hidden:
        titles = {}
        for name in [*DATASETS, *([UPLOAD] if current_upload() or settings.source.name == UPLOAD else [])]:
            source, state = source_of(name), "removed" if name == UPLOAD else "files missing"
            titles[name] = f"{source.card.title}{f' ({state})' if source.missing() else ''}"
        if (chosen := select("Data", titles, settings.source.name)) != settings.source.name:
            settings = replace(settings, source=source_of(chosen))
    if methods and METHOD not in settings.hidden:
        method, titles = settings.method, {name: one.title for name, one in METHODS.items()}
        if (chosen := select("Method", titles, method.name)) != method.name:
            settings = replace(settings, method=make_method(chosen, bits=method.bits, seed=method.seed))
    return settings


def _choose_options(settings: Settings) -> Settings:
    """Draw the options of the data set, and return the settings with the chosen options."""
    source = settings.source
    numbers, lists = parameters(source), choices(source)
    if DATA in settings.hidden or source.name == UPLOAD or not (numbers or lists):
        return settings
    owner = f"{OPTION}{source.name}"
    with st.expander(f"{source.card.title} options"):
        for option, about in numbers.items():
            source = replace(source, **{option: _draw_value(option, about, getattr(source, option), owner)})
        for option, choice in lists.items():
            key, value, label = key_of(option, owner), getattr(source, option), title_of(option)
            look: dict[str, Any] = {"key": key, "help": choice.help, "format_func": choice.name}
            if isinstance(value, tuple):
                st.session_state.setdefault(key, list(value))
                chosen: Any = tuple(st.multiselect(label, choice.options, **look))
            else:
                st.session_state.setdefault(key, value)
                chosen = st.selectbox(label, choice.options, **look)
            source = replace(source, **{option: chosen})
    return replace(settings, source=source)


def _draw_presets(settings: Settings) -> None:
    """Draw the method's presets as buttons; a click sets the controls of its parameters."""
    method = settings.method
    offered = method.preset_names(settings.source.name)
    if not offered or "preset" in settings.hidden:
        return

    def apply(chosen: str | None) -> None:
        if chosen is not None:
            for name, value in method.preset_values(chosen).items():
                st.session_state[key_of(name, method.name)] = _control_value(value)

    now, redundant = method.current_preset(settings.source.name), _redundant_presets(settings)
    offered = [name for name in offered if name == now or name not in redundant]
    shown_preset = bound_control(f"{CONTROL}preset_{method.name}", now, apply)
    st.pills(
        "Preset", offered, help="Ready-made settings; the number of bits and the seed stay unchanged.", **shown_preset
    )


def _redundant_presets(settings: Settings) -> frozenset[str]:
    """Return the presets that have the same effect as the defaults, as the last run with defaults shows."""
    known: dict[tuple[DatasetSource, str], frozenset[str]] = st.session_state.setdefault(REDUNDANT, {})
    if (shown := finished_run()) is not None:
        method, run, (data, split) = shown.method, shown.job.result, shown.loaded

        def find() -> frozenset[str]:
            codes = run.hasher.database_codes[run.hasher.modalities[0]]
            return method.redundant_presets(codes, data.labels[split.train])

        if method == make_method(method.name, bits=method.bits, seed=method.seed):
            key = shown.settings.source, method.name
            known[key] = derive(run, "redundant presets", find)
    return known.get((settings.source, settings.method.name), frozenset())


def _draw_train(settings: Settings) -> None:
    """Draw the Train button, and a badge if the settings differ from those of the run on the page."""
    run = current_run()
    is_shown = run is not None and run.has(settings) and run.state not in ("failed", "cancelled")
    is_current = is_shown or will_start(settings)
    st.button(
        "Train",
        type="primary",
        icon=":material/play_arrow:",
        disabled=is_current,
        key="train",
        width="stretch",
        on_click=st.session_state.__setitem__,
        args=(REQUESTED_RUN, settings),
    )
    about = f"Train whenever a slider moves, if this takes under {MAX_SECONDS_ON_CHANGE:.0f} s."
    moves = st.toggle("Train while I move the sliders", key=TRAIN_ON_CHANGE, help=about)
    seconds = seconds_to_train(settings)
    takes = "Time not known yet" if seconds is None else f"Takes about {max(seconds, 1):.0f} s"
    with st.container(key="train_note"):
        if not is_current:
            note = f"{takes}: press Train" if moves else "Settings changed"
            st.badge(note, icon=":material/sync_problem:", color="orange")


@st.dialog("Link to this page")
def show_link(settings: Settings) -> None:
    """Draw a link to the page as text and QR code, with options for students: hide controls, start paused."""
    own = own_keys(st.query_params, SHARED)
    rest = {key: text for key, text in st.query_params.items() if key not in own}
    top = st.container()
    hidden = st.multiselect("Hide controls", hideable(settings), key="share_hidden", format_func=title_of)
    with st.container(horizontal=True):
        about = "The first run waits until someone clicks Resume."
        paused = st.toggle("Start paused", key="share_paused", help=about)
        label = "Presentation mode"
        present = st.toggle(label, settings.present, key="share_present", help=PRESENTATION_HELP)
    shared = replace(settings, hidden=frozenset(hidden), paused=paused, present=present)
    with top:
        draw_link(to_link(shared, page_address(), rest))


def page_address() -> str:
    """Return the address of this page as in the visitor's browser; the path of the first page is /."""
    address = st.context.url or ""
    return address if urlsplit(address).path else f"{address}/"


def draw_link(link: str) -> None:
    """Draw a link as text and QR code, with a warning if it works only on this computer."""
    import segno

    st.code(link, language=None, wrap_lines=True)
    if urlsplit(link).hostname in ("localhost", "127.0.0.1", "::1"):
        st.warning(
            "This link works only on this computer. To share it, open the app at the server's address.",
            icon=":material/link_off:",
        )
    picture = io.BytesIO()
    segno.make(link, micro=False).save(picture, kind="png", scale=6, border=2)
    st.image(picture.getvalue(), width=QR_PIXELS, alt="QR code of the link")


def _draw_main_parameter(method: HashMethod, name: str) -> HashMethod:
    """Draw a parameter's slider, text field and sweep button; return the method with the chosen value."""
    about, key = parameters(method)[name], key_of(name, method.name)
    problem = f"{key}_problem"  # session key: the typed text, and why it is not valid

    def read(text: str) -> None:
        try:
            st.session_state[key] = read_typed(method, name, text)
            st.session_state.pop(problem, None)
        except InputError as error:
            st.session_state[problem] = text, " ".join(error.problems)

    value = st.session_state.setdefault(key, getattr(method, name))
    label, show = _label_of(name, about), partial(in_words, name)
    row = st.container(horizontal=True, vertical_alignment="bottom", wrap=False)
    value = row.select_slider(
        label,
        round_values(name, about, value),
        key=key,
        help=about.help,
        format_func=show,
        on_change=lambda: st.session_state.pop(problem, None),
    )
    text, why = st.session_state.get(problem, (show(value), ""))
    look: dict[str, Any] = {"label_visibility": "collapsed", "width": FIELD_PIXELS, "max_chars": 20}
    row.text_input(f"{label}: exact value", **look, **bound_control(f"{key}_typed", text, read))
    order: dict[str, Any] = {"on_click": st.session_state.__setitem__, "args": (SWEEP, name)}
    sweep, icon = f"Sweep {title_of(name).lower()} ({about.symbol})", ":material/query_stats:"
    about_sweep = f"{sweep}: opens Tune and measures the scores over the parameter's range."
    row.button(sweep, f"sweep_{name}", about_sweep, icon=icon, type="tertiary", **order)
    if why:
        st.warning(plain(why))
    return _with_parameter(method, name, value)


def read_typed(method: HashMethod, name: str, text: str) -> Any:
    """Return the number that was typed for a parameter; raise InputError if it is not valid."""
    value, before = text.strip(), getattr(method, name)
    if name == "graph_sample" and value.lower() == "all":
        value = "0"
    number = read_value(name, value.replace(",", "") if isinstance(before, int) else value, before)
    replace(method, **{name: number})
    return number


def _with_parameter(method: HashMethod, name: str, value: Any) -> HashMethod:
    """Return the method with another parameter value; if it is not valid, warn and return it unchanged."""
    try:
        return replace(method, **{name: value})
    except InputError as error:
        st.warning(plain(" ".join(error.problems)))
        return method


def _draw_value(name: str, about: Parameter, value: Any, owner: str) -> Any:
    """Draw the control that fits a parameter (slider, toggle or field), and return its value."""
    key, label = key_of(name, owner), _label_of(name, about)
    current = st.session_state.setdefault(key, _control_value(value))
    if isinstance(value, tuple):  # one number per modality, such as 0.7, 0.3
        text = st.text_input(label, key=key, help=about.help, placeholder="equal", max_chars=100)
        try:
            return tuple(float(part) for part in text.split(",") if part.strip())
        except ValueError:
            st.warning(plain(f"{label}: expected numbers such as 0.7, 0.3; got {text!r}."))
            return value
    if isinstance(value, bool):
        return st.toggle(label, key=key, help=about.help)
    if name in ("seed", "data_seed"):
        return int(st.number_input(label, int(about.low), int(about.high), key=key, help=about.help))
    options = round_values(name, about, current)
    return st.select_slider(label, options, key=key, help=about.help, format_func=value_in_words)


def _control_value(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else value


def round_values(name: str, about: Parameter, value: Any) -> list[Any]:
    """Return round values in the typical range (1, 2, 5, 10, … on a log scale), and `value` itself."""
    kind, (low, high) = type(value), about.typical
    if name == "bits":
        values: set[Any] = set(BITS)
    elif about.scale == "log":
        values = {kind(m * 10.0**power) for power in range(-9, 8) for m in (1, 2, 5)}
    else:
        values = set(ROUND_STEPS) if kind is int else {step / 20 for step in range(21)}
    chosen = {v for v in values if low <= v <= high} | {value} | ({kind(0)} if about.low == 0 else set())
    return sorted(chosen, key=lambda v: inf if name == "graph_sample" and v == 0 else v)  # 0 means all


def _label_of(name: str, about: Parameter) -> str:
    """Return the label of a parameter with its symbol, such as "Graph weight (α)"."""
    return title_of(name) if about.symbol == name else f"{title_of(name)} ({about.symbol})"


def title_of(name: str) -> str:
    return {"seed": "Random seed"}.get(name, name.replace("_", " ").capitalize())


def key_of(name: str, owner: str) -> str:
    return f"{CONTROL}{owner}_{name}"

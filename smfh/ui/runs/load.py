"""A saved model from a file: checked, matched with its data, searched, and shown in Explore."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import streamlit as st

from smfh.datasets import DATASETS, DatasetSource
from smfh.hashing import FittedHasher, load_hasher
from smfh.memory import Memory
from smfh.runs import Run, current_limits, run_key, scored
from smfh.types import InputError, MultimodalDataset, Split
from smfh.ui.log import told_upload
from smfh.ui.opening import open_settings
from smfh.ui.server import MODEL, Loaded, forget_later, job_queue, peek_source, reading, run_store
from smfh.ui.session import load, show, visitor
from smfh.ui.settings import Settings

UPLOADED = "runs_uploaded"
HOW = (
    "A model that was downloaded here or written by `python -m smfh fit … --save model.npz`. Its data set "
    "must be one that this app has. The file is checked, nothing in it is executed, and only you see it."
)
_trained_on: Memory[tuple[str, str], str] = Memory(64)  # by the fingerprint of the data and of the rows


@dataclass(frozen=True, eq=False)
class Uploaded:
    """A file that was read, so that a rerun need not do it again."""

    id: str  # Streamlit's name of it
    digest: str
    hasher: FittedHasher | InputError


def draw_load(settings: Settings) -> None:
    """From a file to the shown run."""
    st.subheader("Load a model", anchor=False)
    st.caption(HOW)
    file = st.file_uploader("A model file (.npz)", "npz", key="runs_upload")
    if file is None:
        st.session_state.pop(UPLOADED, None)
        return
    uploaded: Uploaded | None = st.session_state.get(UPLOADED)
    if uploaded is None or uploaded.id != file.file_id:
        uploaded = st.session_state[UPLOADED] = read_upload(file.file_id, file.getvalue(), file.name)
    hasher = uploaded.hasher
    try:
        if isinstance(hasher, InputError):
            raise hasher
        source, loaded = data_of(hasher, settings)
    except InputError as error:
        st.error("This file cannot be used:")
        for problem in error.problems:
            st.text(f"✗ {problem[:400]}")
        return
    method = hasher.method
    st.text(f"{method.title} · {method.bits} bits · seed {method.seed} · trained on {source.card.title}")
    if st.button("Show it in Explore", type="primary", icon=":material/open_in_new:", key="runs_show"):
        settings = replace(settings, source=source, method=method)
        show_loaded(hasher, f"{visitor()}{MODEL}{uploaded.digest}", settings, loaded)


def read_upload(id: str, content: bytes, name: str) -> Uploaded:
    """The model in the file, or what is wrong with it; kept in this visit's state alone."""
    digest = hashlib.sha256(content).hexdigest()
    try:
        with told_upload("model", visitor(), len(content)):
            most = current_limits().data_bytes
            return Uploaded(id, digest, reading().call(load_hasher, content, name[:80], most))
    except InputError as error:
        return Uploaded(id, digest, error)


def data_of(hasher: FittedHasher, settings: Settings) -> tuple[DatasetSource, Loaded]:
    """The data set whose training items the model was trained on, or what to do to have it."""
    for source in known_sources(hasher, settings):
        data, split = load(replace(settings, source=source))
        if trained_on(data, split) == hasher.trained_on:
            check_fits(hasher, data, split)
            return source, (data, split)
    raise InputError(
        f"The model was trained on other items than {settings.source.card.title} as set on the left has, "
        "and no kept run knows them. Choose there the data set and the options that it was trained with; "
        "the file stays here."
    )


def known_sources(hasher: FittedHasher, settings: Settings) -> Iterator[DatasetSource]:
    """Where its items may be, without loading what nobody asked for."""
    of_runs = [run.source for run in run_store().records() if run.trained_on == hasher.trained_on]
    in_memory = [source() for source in DATASETS.values() if peek_source(source()) is not None]
    for source in dict.fromkeys([*of_runs, settings.source, *in_memory]):
        if not source.missing():
            yield source


def trained_on(data: MultimodalDataset, split: Split) -> str:
    """The fingerprint that a model trained on this split bears; hashed once."""
    rows = hashlib.sha256(split.train.astype("<i8").tobytes()).hexdigest()
    return _trained_on.get((data.fingerprint, rows), lambda: data.take(split.train).fingerprint)


def check_fits(hasher: FittedHasher, data: MultimodalDataset, split: Split) -> None:
    """A file may claim any data; here all that a search relies on is looked at."""
    problems = [
        f"The model encodes {name[:40]!r} of {function.dimensions} dimensions; {data.name} has no such thing."
        for name, function in hasher.functions.items()
        if name not in data.modalities or data.modalities[name].shape[1] != function.dimensions
    ]
    problems += [
        f"The model holds {len(codes):,} codes; {data.name} has {len(split.train):,} training items."
        for codes in hasher.database_codes.values()
        if len(codes) != len(split.train)
    ]
    if problems:
        raise InputError(list(dict.fromkeys(problems)))


def show_loaded(hasher: FittedHasher, owner: str, settings: Settings, loaded: Loaded) -> None:
    """Search with it as the visitor's own run: nobody else may be shown what a file claims."""
    key = run_key(*loaded, hasher.method, owner)
    run = Run(key, settings.source, *loaded, hasher)
    try:
        job = job_queue().submit(key, lambda course: scored(run, course.call), visitor())
    except InputError as error:
        st.error("It cannot be searched now:")
        st.text("\n".join(error.problems))
        return
    forget_later(owner)
    show(settings, loaded, job)
    open_settings(settings)

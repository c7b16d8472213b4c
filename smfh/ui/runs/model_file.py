"""Load a model from an uploaded file: check it, find its data set, score it, open it in Explore."""

import hashlib
from dataclasses import replace
from typing import Any

import streamlit as st

from smfh.datasets import DATASETS, DatasetSource
from smfh.hashing import FittedHasher, load_hasher
from smfh.jobs import JobContext
from smfh.runs import Run, current_limits, run_key, score_run
from smfh.types import InputError, MultimodalDataset, Split
from smfh.ui.log import logging_upload
from smfh.ui.page import open_settings
from smfh.ui.plain import draw_problems
from smfh.ui.server import Loaded, job_queue, local_engine, peek_source, remember, run_store
from smfh.ui.session import load, show, visitor
from smfh.ui.settings import Settings
from smfh.ui.visitor import PrivateKey

UPLOADED = "runs_uploaded"  # session key: id and SHA-256 of the file, and its model or the error
HOW = (
    "A model downloaded from this page, or written by `python -m smfh fit … --save model.npz`. Its data set "
    "must be available here. The file is checked, nothing in it is executed, and only you can see it."
)


def draw_load(settings: Settings) -> None:
    """Draw the file uploader and, for a usable model, the button that opens it."""
    st.subheader("Load a model", anchor=False)
    st.caption(HOW)
    file = st.file_uploader("Model file (.npz)", "npz", key="runs_upload")
    if file is None:
        st.session_state.pop(UPLOADED, None)
        return
    if st.session_state.get(UPLOADED, ("",))[0] != file.file_id:
        content, max_bytes = file.getvalue(), current_limits().data_bytes
        try:
            with logging_upload("model", visitor(), len(content)):
                read: Any = local_engine().call(load_hasher, content, file.name[:80], max_bytes)
        except InputError as error:
            read = error
        st.session_state[UPLOADED] = (file.file_id, hashlib.sha256(content).hexdigest(), read)
    digest: str = st.session_state[UPLOADED][1]
    hasher: FittedHasher | InputError = st.session_state[UPLOADED][2]
    try:
        if isinstance(hasher, InputError):
            raise hasher
        source, loaded = find_data(hasher, settings)
    except InputError as error:
        draw_problems("This file cannot be used:", [problem[:400] for problem in error.problems], mark="✗ ")
        return
    method = hasher.method
    st.text(f"{method.title} · {method.bits} bits · seed {method.seed} · trained on {source.card.title}")
    if st.button("Open model in Explore", type="primary", icon=":material/open_in_new:", key="runs_show"):
        settings = replace(settings, source=source, method=method)
        open_model(hasher, digest, settings, loaded)


def find_data(hasher: FittedHasher, settings: Settings) -> tuple[DatasetSource, Loaded]:
    """Find the data set that a model was trained on: that of the sidebar, of a saved run, or one in memory."""
    of_runs = [run.source for run in run_store().records() if run.trained_on == hasher.trained_on]
    in_memory = [source() for source in DATASETS.values() if peek_source(source()) is not None]
    for source in dict.fromkeys([*of_runs, settings.source, *in_memory]):
        if source.missing():
            continue
        data, split = load(replace(settings, source=source))
        key = ("training items", data.fingerprint, split.fingerprint)
        fingerprint = remember(key, lambda: data.take(split.train).fingerprint)  # noqa: B023, called at once
        if fingerprint == hasher.trained_on:
            check_fits(hasher, data, split)
            return source, (data, split)
    raise InputError(
        f"This model was trained neither on the items of {settings.source.card.title} with the options in the sidebar "
        "nor on those of a saved run. Choose the data set and options that were used for training; you need not "
        "upload the file again."
    )


def check_fits(hasher: FittedHasher, data: MultimodalDataset, split: Split) -> None:
    """Raise InputError unless the model's modalities and codes match the data that its file names."""
    problems = [
        f"The model encodes {name[:40]!r} with {function.dimensions} dimensions; {data.name} has no such data."
        for name, function in hasher.functions.items()
        if name not in data.modalities or data.modalities[name].shape[1] != function.dimensions
    ]
    problems += [
        f"The model has {len(codes):,} codes; {data.name} has {len(split.train):,} training items."
        for codes in hasher.database_codes.values()
        if len(codes) != len(split.train)
    ]
    if problems:
        raise InputError(list(dict.fromkeys(problems)))


def open_model(hasher: FittedHasher, digest: str, settings: Settings, loaded: Loaded) -> None:
    """Score the model in a private job of this visitor, and open it in Explore."""
    key = run_key(*loaded, hasher.method)
    run, job_key = Run(key, settings.source, *loaded, hasher), PrivateKey(visitor(), key, digest)

    def score(context: JobContext) -> Run:
        score_run(run, context.call)
        return run

    try:
        job = job_queue().submit(job_key, score, visitor())
    except InputError as error:
        draw_problems("The model cannot be opened now:", error.problems)
        return
    show(settings, loaded, job)
    open_settings(settings)

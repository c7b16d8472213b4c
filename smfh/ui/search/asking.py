"""What is asked on the Search page: kept in the link, turned into a question, answered once."""

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from smfh.asking import (
    Answers,
    Question,
    Ties,
    answer,
    ask_item,
    ask_picture,
    ask_words,
    takes_pictures,
)
from smfh.jobs import Job
from smfh.study import Trained, typical_query
from smfh.types import MultimodalDataset, Split
from smfh.ui.search.link import Asked, fitting, read_asked, to_show
from smfh.ui.settings import SHOW

WORDS, UPLOAD = "search_words", "search_upload"  # keys of controls
KEPT = "search_kept"  # what was asked before the page was left, and of which data


def current_asked(data: MultimodalDataset, bits: int) -> tuple[Asked, list[str]]:
    """What the link asks for, or what was asked before the visitor left this page; with notes."""
    told = {key: text for key, text in st.query_params.items() if key.startswith(SHOW)}
    kept = st.session_state.get(KEPT)
    # a control is gone from the state when its page was left: so the visitor comes back just now
    if not told and kept is not None and WORDS not in st.session_state and kept[0] == data.fingerprint:
        told = kept[1]
        _show(told)
    asked, notes = read_asked(told, data, bits)
    st.session_state[KEPT] = (data.fingerprint, to_show(asked, data))
    return asked, notes


def ask(asked: Asked, data: MultimodalDataset, **changes: Any) -> None:
    """Ask something else: for callbacks, before the page is drawn again."""
    about_query = {"words", "row", "source", "target", "database"} & changes.keys()
    fresh = {"page": 1, "why": None} if about_query else {}
    _show(to_show(fitting(replace(asked, **(fresh | changes)), data), data))


def _show(told: dict[str, str]) -> None:
    """Let the address bar say it, beside the settings."""
    others = {key: text for key, text in st.query_params.items() if not key.startswith(SHOW)}
    st.query_params.from_dict(others | told)


@dataclass(frozen=True, eq=False)
class Posed:
    """The question, and a name for it that no other question of the same data has."""

    question: Question
    identity: tuple[Hashable, ...]
    picture: bytes | None = None  # that was uploaded


def pose(asked: Asked, trained: Trained, data: MultimodalDataset, split: Split) -> Posed:
    """Words, or an item, or the uploaded picture, or the query in the middle of all scores."""
    if asked.words is not None:
        return Posed(ask_words(data, asked.source, asked.words), ("words", asked.source, asked.words))
    upload = st.session_state.get(UPLOAD)
    if asked.row is None and upload is not None and asked.source in takes_pictures(data):
        return _pose_picture(asked.source, upload, data)
    row = asked.row
    if row is None:
        result = trained.results[asked.source, asked.target, asked.database]
        row = int(split.queries[typical_query(result)])
    return Posed(ask_item(data, asked.source, row), ("item", asked.source, row))


def _pose_picture(source: str, upload: Any, data: MultimodalDataset) -> Posed:
    """Looked at once: a large picture takes a while to unpack."""
    kept: Posed | None = st.session_state.get("search_picture")
    file: bytes = upload.getvalue()
    identity = ("picture", source, hashlib.sha256(file).hexdigest(), data.fingerprint)
    if kept is None or kept.identity != identity:
        kept = Posed(ask_picture(data, source, file, "The picture"), identity, file)
        st.session_state["search_picture"] = kept
    return kept


def answers_of(
    job: Job[Trained], posed: Posed, asked: Asked, data: MultimodalDataset, split: Split
) -> Answers:
    """The answers of a finished run; found once for all who ask the same of the same data."""
    # the key of a run tells its owner, so that answers from private data stay with their visitor
    name = repr((job.key, posed.identity, asked.target, asked.database, asked.ties))
    answers: Answers = _answers(name, job.result, posed.question, asked, data, split)
    return answers


@st.cache_resource(max_entries=256, show_spinner=False)
def _answers(
    name: str,
    _trained: Trained,
    _question: Question,
    _asked: Asked,
    _data: MultimodalDataset,
    _split: Split,
) -> Answers:
    ties: Ties = "likest" if _asked.ties == "likest" else "database"
    return answer(_trained.hasher, _data, _split, _question, _asked.target, _asked.database, ties)

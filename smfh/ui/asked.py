"""What a visitor asks: a value that the link carries, the question it makes, and its answer, found once."""

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from smfh.asking import (
    MOST_CHARACTERS,
    TIES,
    Answer,
    Question,
    answer,
    ask_item,
    ask_picture,
    ask_words,
    takes_pictures,
    takes_words,
)
from smfh.evaluation import PROTOCOLS
from smfh.runs import Run
from smfh.types import MultimodalDataset
from smfh.ui.address import Part, any_text, current, keep, one_of, part_of, told, whole
from smfh.ui.server import derive

NUMBERS = (12, 24, 48, 100)
RADIUS = 8
CONTROLS, WORDS, UPLOAD = "search_", "search_words", "search_upload"  # keys of controls


@dataclass(frozen=True)
class Asked:
    """Words, else an item, else what the visitor uploads, else the usual query; and how to show it."""

    source: str
    target: str
    words: str | None = told(None, any_text(MOST_CHARACTERS + 1))  # the page says what is too long
    row: int | None = None
    database: str = told("training", one_of(PROTOCOLS))
    ties: str = told("likeness", one_of(TIES))
    number: int = told(NUMBERS[0], whole(NUMBERS[0], NUMBERS[-1]))
    page: int = told(1, whole(1, NUMBERS[-1]))
    why: int | None = None  # the row of an answer
    radius: int = RADIUS


def asked_part(data: MultimodalDataset, bits: int) -> Part[Asked]:
    """How the address tells it, for this data."""
    modality, item = one_of(data.modalities), whole(0, len(data) - 1)
    return part_of(
        usual_asked(data),
        "search.",
        about=f"{data.fingerprint} {bits}",
        source=modality,
        target=modality,
        row=item,
        why=item,
        radius=whole(0, bits),
    )


def usual_asked(data: MultimodalDataset) -> Asked:
    """From text to image where there are such modalities; nothing is asked yet."""
    names = list(data.modalities)
    source = "text" if "text" in names else names[-1]
    return Asked(source, _another(names, source))


def _another(names: list[str], name: str) -> str:
    others = [other for other in names if other != name]
    return "image" if "image" in others else others[0]


def current_asked(run: Run) -> tuple[Asked, list[str]]:
    """What the link asks for, or what was asked before the visitor left the page; with notes."""
    asked, notes = current(asked_part(run.data, run.hasher.bits), CONTROLS)
    return fitting(asked, run.data), list(notes)


def ask(asked: Asked, run: Run, **changes: Any) -> None:
    """Ask something else: for callbacks, before the page is drawn again."""
    about_query = {"words", "row", "source", "target", "database"} & changes.keys()
    fresh: dict[str, Any] = {"page": 1, "why": None} if about_query else {}
    keep_asked(fitting(replace(asked, **(fresh | changes)), run.data), run)


def keep_asked(asked: Asked, run: Run) -> None:
    """Let the address say it."""
    keep(asked_part(run.data, run.hasher.bits), asked)


def fitting(asked: Asked, data: MultimodalDataset) -> Asked:
    """The same with modalities that can be asked so: words need one that takes them, and two must differ."""
    speaking = takes_words(data)
    if asked.words is not None and asked.source not in speaking and speaking:
        asked = replace(asked, source=speaking[0])
    if asked.source == asked.target:
        asked = replace(asked, target=_another(list(data.modalities), asked.source))
    return replace(asked, row=None) if asked.words is not None else asked


@dataclass(frozen=True, eq=False)
class Posed:
    """The question, and a name for it that no other question of the same data has."""

    question: Question
    identity: tuple[Hashable, ...]
    picture: bytes | None = None  # that was uploaded


def pose(asked: Asked, run: Run) -> Posed:
    """Words, or an item, or the uploaded picture, or the query in the middle of all scores."""
    data = run.data
    if asked.words is not None:
        return Posed(ask_words(data, asked.source, asked.words), ("words", asked.source, asked.words))
    upload = st.session_state.get(UPLOAD)
    if asked.row is None and upload is not None and asked.source in takes_pictures(data):
        file: bytes = upload.getvalue()
        identity = ("picture", asked.source, hashlib.sha256(file).hexdigest())
        question = derive(run, identity, lambda: ask_picture(data, asked.source, file, "The picture"))
        return Posed(question, identity, file)
    row = asked.row
    if row is None:
        row = int(run.split.queries[run.typical_query(asked.source, asked.target, asked.database)])
    return Posed(ask_item(data, asked.source, row), ("item", asked.source, row))


def answer_of(run: Run, posed: Posed, asked: Asked) -> Answer:
    """The answer of a run; found once for all who ask it the same."""
    what = ("answer", posed.identity, asked.target, asked.database, asked.ties)
    return derive(
        run,
        what,
        lambda: answer(
            run.hasher, run.data, run.split, posed.question, asked.target, asked.database, asked.ties
        ),
    )

"""What a visitor asks: a value that the link carries, the question it makes, and its answer, found once."""

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

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
    find_language,
    near_words,
    replace_word,
    takes_pictures,
    unknown_words,
)
from smfh.evaluation import PROTOCOLS
from smfh.runs import Run
from smfh.types import MultimodalDataset
from smfh.ui.address import Part, any_text, current, keep, one_of, part_of, several, told, whole
from smfh.ui.gallery import in_bits
from smfh.ui.items import cut
from smfh.ui.log import told_upload
from smfh.ui.server import derive
from smfh.ui.session import during_visit, visitor

V = TypeVar("V")
NUMBERS = (12, 24, 48, 100)
MOST_UNKNOWN = 5  # words that near spellings are sought for
WORD = 40  # characters shown
CONTROLS = "search_"  # how the keys of controls begin that take their values anew after Back
UPLOAD = "upload_to_search"  # that of the one which keeps its file


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
    radius: int = 8
    flips: tuple[int, ...] = ()  # bits of the query's code that the visitor turned round


def asked_part(run: Run) -> Part[Asked]:
    """How the address tells it, for this data."""
    data, bits = run.data, run.hasher.bits
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
        flips=several(whole(0, bits - 1)),
    )


def usual_asked(data: MultimodalDataset) -> Asked:
    """From text to image where there are such modalities; nothing is asked yet."""
    names = list(data.modalities)
    source = "text" if "text" in names else names[-1]
    return Asked(source, _another(names, source))


def _another(names: list[str], name: str) -> str:
    others = [other for other in names if other != name]
    return "image" if "image" in others else others[0]


def current_asked(run: Run) -> tuple[Asked, Sequence[str]]:
    """What the link asks for, or what was asked before the visitor left the page; with notes."""
    asked, notes = current(asked_part(run), CONTROLS)
    return fitting(asked, run.data), notes


def ask(asked: Asked, run: Run, **changes: Any) -> None:
    """Ask something else: for callbacks, before the page is drawn again."""
    is_another_query = {"words", "row", "source", "target", "database"} & changes.keys()
    fresh: dict[str, Any] = {"page": 1, "why": None, "flips": ()} if is_another_query else {}
    keep_asked(fitting(replace(asked, **(fresh | changes)), run.data), run)


def draw_ask(label: str, key: str, asked: Asked, run: Run, changes: Mapping[str, Any], **look: Any) -> None:
    """A button that asks something else."""
    st.button(label, key, on_click=ask, args=(asked, run), kwargs=dict(changes), **look)


def draw_unknown(asked: Asked, run: Run) -> None:
    """Words that training never taught, and what was perhaps meant, to be put in their place."""
    data, sentence = run.data, asked.words or ""
    strange = unknown_words(data, asked.source, sentence)
    for place, word in enumerate(strange[:MOST_UNKNOWN]):
        near = near_words(data, asked.source, word)
        with st.container(horizontal=True, vertical_alignment="center", key=f"search_unknown_{place}"):
            st.text(f"“{cut(word, WORD)}” is not known from training.{' Did you mean' if near else ''}")
            for known in near:  # letters and digits alone, so nothing in it is markup
                meant = {"words": replace_word(sentence, word, known)}
                draw_ask(known, f"search_instead_{place}_{known}", asked, run, meant)
    if len(strange) > MOST_UNKNOWN:
        st.text(f"… and {len(strange) - MOST_UNKNOWN} more words are not known.")


def keep_asked(asked: Asked, run: Run) -> None:
    """Let the address say it."""
    keep(asked_part(run), asked)


def fitting(asked: Asked, data: MultimodalDataset) -> Asked:
    """The same with modalities that can be asked so: words in one that knows them, and two must differ.
    Blank words ask nothing."""
    if asked.words is not None and not asked.words.strip():
        asked = replace(asked, words=None)
    if asked.words is not None:
        asked = replace(asked, source=find_language(data, asked.source, asked.words))
    if asked.source == asked.target:
        asked = replace(asked, target=_another(list(data.modalities), asked.source))
    return replace(asked, row=None) if asked.words is not None else asked


def pose(asked: Asked, run: Run) -> Question:
    """Words, or an item, or the uploaded picture, or the query in the middle of all scores."""
    data, source, row, upload = run.data, asked.source, asked.row, st.session_state.get(UPLOAD)
    if asked.words is not None:
        return ask_words(data, source, asked.words)
    if row is None and upload is not None and source in takes_pictures(data):
        file: bytes = upload.getvalue()

        def read() -> Question:
            with told_upload("picture", visitor(), len(file)):
                return ask_picture(data, source, file, "The picture")

        return during_visit((run.key, "picture", source, hashlib.sha256(file).hexdigest()), read)
    if row is None:
        row = int(run.split.queries[run.typical_query(source, asked.target, asked.database)])
    return ask_item(data, source, row)


def nearest_in_words(found: Answer) -> str:
    """How many items share the code of what is asked, or are nearest to it."""
    tied = int(found.counts.items[0, found.nearest])
    if found.nearest == 0:
        return f"{tied:,} items share this code" if tied > 1 else "one item has this code"
    return f"{f'{tied:,} items are' if tied > 1 else 'one item is'} nearest, {in_bits(found.nearest)} away"


def answer_of(run: Run, question: Question, asked: Asked) -> Answer:
    """The answer of a run."""
    how = (asked.target, asked.database, asked.ties, asked.flips)
    return found_once(
        run, question, ("answer", how), lambda: answer(run.hasher, run.data, run.split, question, *how)
    )


def found_once(run: Run, question: Question, what: Hashable, find: Callable[[], V]) -> V:
    """What follows from a question, found once for all who ask the same; from an upload, for its visitor."""
    asked = (what, question.identity)
    return during_visit((run.key, asked), find) if question.picture else derive(run, asked, find)

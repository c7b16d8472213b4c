"""What is asked on the Search page, as one value that a link carries: no Streamlit in here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from smfh.asking import MOST_CHARACTERS, TIES, takes_words
from smfh.evaluation import PROTOCOLS
from smfh.types import InputError, MultimodalDataset, unknown
from smfh.ui.settings import SHOW

NUMBERS = (12, 24, 48, 100)
RADIUS = 8
WHOLE = 9  # digits at most of a number in a link


@dataclass(frozen=True)
class Asked:
    """Words, else an item, else what the visitor uploads, else the usual query; and how to show it."""

    source: str
    target: str
    words: str | None = None
    row: int | None = None
    database: str = "training"
    ties: str = "likest"
    number: int = NUMBERS[0]
    page: int = 1
    why: int | None = None  # the row of an answer
    radius: int = RADIUS


def usual_asked(data: MultimodalDataset) -> Asked:
    """From text to image where there are such modalities; nothing is asked yet."""
    names = list(data.modalities)
    source = "text" if "text" in names else names[-1]
    return Asked(source, _another(names, source))


def _another(names: list[str], name: str) -> str:
    others = [other for other in names if other != name]
    return "image" if "image" in others else others[0]


def read_asked(query: Mapping[str, str], data: MultimodalDataset, bits: int) -> tuple[Asked, list[str]]:
    """What the link asks for; what is wrong in it falls back to the usual, with a note."""
    asked = usual_asked(data)
    notes: list[str] = []
    readers = _readers(data, bits)
    for key, text in query.items():
        name = key.removeprefix(SHOW)
        if key.startswith(SHOW) and name in readers:
            try:
                asked = replace(asked, **{name: readers[name](text)})
            except InputError as error:
                notes += error.problems
    return fitting(asked, data), [f"{note} The usual is shown instead." for note in notes]


def _readers(data: MultimodalDataset, bits: int) -> dict[str, Callable[[str], Any]]:
    modality = _one_of("modality", data.modalities)
    item = _whole("item", 0, len(data) - 1)
    return {
        "source": modality,
        "target": modality,
        "words": _sentence,
        "row": item,
        "database": _one_of("database", PROTOCOLS),
        "ties": _one_of("order of ties", TIES),
        "number": _whole("number of results", NUMBERS[0], NUMBERS[-1]),
        "page": _whole("page", 1, NUMBERS[-1]),
        "why": item,
        "radius": _whole("radius", 0, bits),
    }


def _one_of(kind: str, known: Mapping[str, object]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in known:
            raise unknown(kind, text[:MOST_CHARACTERS], list(known))
        return text

    return read


def _whole(what: str, low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= WHOLE and low <= int(text) <= high):
            raise InputError(f"The {what} must be a whole number from {low} to {high:,}; got {text[:40]!r}.")
        return int(text)

    return read


def _sentence(text: str) -> str:
    """As it is, even where it cannot be asked: the page says why."""
    return text[: MOST_CHARACTERS + 1]


def fitting(asked: Asked, data: MultimodalDataset) -> Asked:
    """The same with modalities that can be asked so: words need one that takes them, and two must differ."""
    speaking = takes_words(data)
    if asked.words is not None and asked.source not in speaking and speaking:
        asked = replace(asked, source=speaking[0])
    if asked.source == asked.target:
        asked = replace(asked, target=_another(list(data.modalities), asked.source))
    return replace(asked, row=None) if asked.words is not None else asked


def to_show(asked: Asked, data: MultimodalDataset) -> dict[str, str]:
    """What a link must say to come back to this; the usual is left out."""
    usual = usual_asked(data)
    return {
        f"{SHOW}{f.name}": str(getattr(asked, f.name))
        for f in fields(asked)
        if getattr(asked, f.name) != getattr(usual, f.name)
    }

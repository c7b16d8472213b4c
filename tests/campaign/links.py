"""Links with anything in them, for every page: what the parts of its address make of them."""

from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from changes import SIGNS, VALUES, change

from smfh.bits import describe_bits
from smfh.datasets import DATASETS, Planted
from smfh.hashing import METHODS, SMFHPlus
from smfh.runs import Run
from smfh.runs.key import run_key
from smfh.runs.training import train
from smfh.types import InputError
from smfh.ui.address import MOST_NOTES, NOTE, Part, Query
from smfh.ui.asked import asked_part, fitting, pose
from smfh.ui.bits.chosen import chosen_part
from smfh.ui.compare.wanted import WANTED as COMPARED
from smfh.ui.learn.studied import studied_part
from smfh.ui.paper.choice import paper_part
from smfh.ui.settings import DATA, HIDE, METHOD, OPTION, PRESENT, SETTINGS, START, to_link
from smfh.ui.tune.wanted import WANTED as TUNED

WORDS = ["", "true", "False", "0", "-0", "1e3", "1_0", "١٢", "8.0", "nan", "-inf", ",", ",,a,", "α=1:2:3"]
WORDS += [
    "=::",
    "graph_weight=nan:1:1",
    "a" * 5000,
    "9" * 4400,
    "-" + "9" * 14,
    "text",
    "image",
    "U:text:1:1",
]
WORDS += [*METHODS, *DATASETS, "own", "paused", *(str(value) for value in VALUES if value != 10**400)]
WORDS += [sign.decode(errors="replace") for sign in SIGNS]


LINKED = ("2_Search", "3_Bits", "4_Tune", "5_Compare", "7_Paper", "9_Learn")  # pages with a part of their own


@cache
def trained() -> Run:
    """A small run, for those parts that depend on one."""
    source, method = Planted(items=40), SMFHPlus(bits=8, iterations=2, rounds=1, anchors=10)
    loaded = source.load()
    return train(run_key(*loaded, method), source, *loaded)[0]


@cache
def parts() -> dict[str, tuple[Part[Any], tuple[str, ...]]]:
    """Every page's part with the keys that it knows."""
    run = trained()
    topics = describe_bits(run.hasher, run.data, run.split)
    own = (asked_part(run), chosen_part(topics), TUNED, COMPARED, paper_part(), studied_part(run.data))
    known = {
        page: (part, tuple(f"{part.prefixes[0]}{f.name}" for f in fields(part.read({})[0])))
        for page, part in zip(LINKED, own, strict=True)
    }
    options = {f"{OPTION}{f.name}" for source in DATASETS.values() for f in fields(source)}
    weights = {f.name for method in METHODS.values() for f in fields(method)}
    shared = (DATA, METHOD, HIDE, START, PRESENT, *sorted(options), *sorted(weights))
    return {"": (SETTINGS, shared)} | known


def make_query(keys: tuple[str, ...], rng: np.random.Generator) -> Query:
    """One to six parts of a link, most of them with keys that the page knows."""

    def changed(text: str) -> str:
        return change(text.encode(errors="replace") or b"x", rng).decode(errors="replace")

    query = {}
    for _ in range(rng.integers(1, 7)):
        key, word = keys[rng.integers(len(keys))], WORDS[rng.integers(len(WORDS))]
        key = changed(key) if rng.random() < 0.1 else key
        query[key] = changed(word) if rng.random() < 0.4 else word
    return query


def follow(page: str, query: Query) -> None:
    """Read it as the page does; what it makes of it goes back into a link that says the same."""
    part = parts()[page][0]
    value, notes = part.read(query)
    assert len(notes) <= MOST_NOTES + 1
    assert all(len(note) <= NOTE + 2 for note in notes)
    again, wrong = part.read(part.write(value))
    assert not wrong
    assert again == value
    if page == "":
        to_link(value, "Explore")
    if page == "2_Search":
        try:
            pose(fitting(value, trained().data), trained())
        except InputError:
            notes = ["The page tells why."]
    if notes:
        raise InputError(notes)

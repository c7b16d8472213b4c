"""Links with random contents for every page, and how its part of the address reads them."""

from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from changes import TOKENS, VALUES, change

from smfh.datasets import DATASETS, Planted
from smfh.hashing import METHODS, SMFHPlus
from smfh.retrieval.bits import describe_bits
from smfh.runs import Run
from smfh.runs.run import run_key
from smfh.runs.training import train
from smfh.types import InputError
from smfh.ui.address import MAX_NOTES, NOTE_CHARACTERS, Part, UrlQuery
from smfh.ui.bits import chosen_part
from smfh.ui.compare.request import REQUEST as COMPARED
from smfh.ui.learn.state import learn_part
from smfh.ui.paper.parts import paper_part
from smfh.ui.search_state import adapt_state, search_state_part
from smfh.ui.search_state import make_query as make_search_query
from smfh.ui.settings import DATA, HIDE, METHOD, OPTION, PRESENT, SETTINGS, START, to_link
from smfh.ui.tune.state import REQUEST as TUNED

WORDS = ["", "true", "False", "0", "-0", "1e3", "1_0", "١٢", "8.0", "nan", "-inf", ",", ",,a,", "α=1:2:3"]
WORDS += ["=::", "graph_weight=nan:1:1", "a" * 5000, "9" * 4400, "-" + "9" * 14, "text", "image", "U:text:1:1"]
WORDS += [*METHODS, *DATASETS, "own", "paused", *(str(value) for value in VALUES if value != 10**400)]
WORDS += [token.decode(errors="replace") for token in TOKENS]
LINKED = ("2_Search", "3_Bits", "4_Tune", "5_Compare", "7_Paper", "9_Learn")  # pages with their own parameters


@cache
def trained() -> Run:
    """A small run for the parts that depend on one."""
    source, method = Planted(items=40), SMFHPlus(bits=8, iterations=2, rounds=1, anchors=10)
    loaded = source.load()
    return train(run_key(*loaded, method), source, *loaded)[0]


@cache
def parts() -> dict[str, tuple[Part[Any], tuple[str, ...]]]:
    """Every page's part with its keys."""
    run = trained()
    topics = describe_bits(run.hasher, run.data, run.split)
    own = (search_state_part(run), chosen_part(topics), TUNED, COMPARED, paper_part(), learn_part(run.data))
    known = {
        page: (part, tuple(f"{part.prefixes[0]}{f.name}" for f in fields(part.read({})[0])))
        for page, part in zip(LINKED, own, strict=True)
    }
    options = {f"{OPTION}{f.name}" for source in DATASETS.values() for f in fields(source)}
    weights = {f.name for method in METHODS.values() for f in fields(method)}
    shared = (DATA, METHOD, HIDE, START, PRESENT, *sorted(options), *sorted(weights))
    return {"": (SETTINGS, shared)} | known


def make_query(keys: tuple[str, ...], rng: np.random.Generator) -> UrlQuery:
    """One to six parameters of a link, most of them with keys that the page knows."""

    def changed(text: str) -> str:
        return change(text.encode(errors="replace") or b"x", rng).decode(errors="replace")

    query = {}
    for _ in range(rng.integers(1, 7)):
        key, word = keys[rng.integers(len(keys))], WORDS[rng.integers(len(WORDS))]
        key = changed(key) if rng.random() < 0.1 else key
        query[key] = changed(word) if rng.random() < 0.4 else word
    return query


def follow(page: str, query: UrlQuery) -> None:
    """Read the link as the page does; writing the value gives a link with the same value."""
    part = parts()[page][0]
    value, notes = part.read(query)
    assert len(notes) <= MAX_NOTES + 1
    assert all(len(note) <= NOTE_CHARACTERS + 2 for note in notes)
    again, wrong = part.read(part.write(value))
    assert not wrong
    assert again == value
    if page == "":
        to_link(value, "Explore")
    if page == "2_Search":
        try:
            make_search_query(adapt_state(value, trained().data), trained())
        except InputError:
            notes = ["The page shows the reason."]
    if notes:
        raise InputError(notes)

"""Measure what typed words find on Emoji: words with fixed keywords, and queries judged by eye.

The words, and the judgements of the queries with the results that were judged, are in
assets/guide/search.json. A judgement is dropped as soon as the first results change.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from smfh.datasets import Emoji
from smfh.datasets.emoji import EmojiItem, choose_rows, read_emoji
from smfh.folders import app_folder
from smfh.hashing import FittedHasher, SMFHPlus
from smfh.retrieval.search import query_from_words, search
from smfh.runs import RunStore, find_or_train
from smfh.types import InputError, MultimodalDataset, Split

FILE = Path("assets", "guide", "search.json")
FIRST, SHOWN = 8, 4  # results that are counted and judged; those that the table names
LABELS = {"subgroup": "groups and subgroups", "group": "nine groups"}
SEARCH_HEAD = ("labels", "", "exact words, training items", "exact words, all items", "interpreted, all items")
REVIEW_HEAD = ("query", "judgement", "first four results")
WAYS = {"exact": ("training", False), "exact, all": ("all", False), "interpreted": ("all", True)}

Model = tuple[MultimodalDataset, Split, FittedHasher]


def read_words() -> dict[str, Any]:
    """Return the lists of words, each with the keywords that sensible results have, and the judged queries."""
    found: dict[str, Any] = json.loads((app_folder() / FILE).read_text(encoding="utf-8"))
    return found


def emoji_items(data: MultimodalDataset) -> list[EmojiItem]:
    """Return the emoji of the rows of the data set, with names and keywords."""
    catalogue, _ = read_emoji()
    items = [catalogue[row] for row in choose_rows(catalogue, Emoji().country_flags)]
    if [item.name for item in items] != list(data.captions or ()):
        raise InputError("The emoji in the catalogue do not match those in the data set.")
    return items


def sensible_results(model: Model, keywords: Mapping[str, str], database: str, interpret: bool) -> float:
    """Return the mean number of the first 8 results with one of the keywords, over all words."""
    data, split, hasher = model
    items, total = emoji_items(data), 0
    for word, wanted in keywords.items():
        try:
            query = query_from_words(data, "text", word, interpret)
        except InputError:  # no word is known: no results
            continue
        rows = search(hasher, data, split, query, "image", database, limit=FIRST).rows
        total += sum(bool({*items[row].text.split()} & {*wanted.split()}) for row in rows)
    return total / len(keywords)


def measure_search() -> dict[str, Any]:
    """Return the words and queries with their current results by SMFH+ (64 bits, seed 0)."""
    measured, counts = read_words(), dict[str, float]()
    for labels in LABELS:
        source = Emoji(labels=labels)
        data, split = source.load()
        model = (data, split, find_or_train(RunStore(), source, SMFHPlus(), data, split).hasher)
        for name, keywords in measured["words"].items():
            for way, how in WAYS.items():
                counts[f"{labels} {name} {way}"] = round(sensible_results(model, keywords, *how), 1)
        if labels == Emoji().labels:
            measured["review"] = {q: review(model, q, old) for q, old in measured["review"].items()}
    return measured | {"sensible": counts}


def review(model: Model, words: str, old: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of a query's first results, and the stored judgement if it is about these results."""
    data, split, hasher = model
    rows = search(hasher, data, split, query_from_words(data, "text", words), "image", "all", limit=FIRST).rows
    names = [data.captions[row] for row in rows] if data.captions else []
    return {"judgement": old["judgement"] if old["results"] == names else "", "results": names}


def search_rows(measured: Mapping[str, Any]) -> list[list[str]]:
    """Return the table rows with the numbers of sensible results."""
    return [
        [
            title if name == "unseen" else "",
            f"{len(words)} words in {'no' if name == 'unseen' else 'some'} text",
            *(f"{measured['sensible'][f'{labels} {name} {way}']:.1f}" for way in WAYS),
        ]
        for labels, title in LABELS.items()
        for name, words in measured["words"].items()
    ]


def review_rows(measured: Mapping[str, Any]) -> list[list[str]]:
    """Return the table rows with the queries judged by eye."""
    return [
        [words, one["judgement"] or "not judged", ", ".join(one["results"][:SHOWN])]
        for words, one in measured["review"].items()
    ]

"""The first answers: scores with their definition and chance, ties, bits, and what a pinned run had."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from smfh.evaluation import PROTOCOLS
from smfh.hamming import unpack
from smfh.paper import COLUMNS, TABLE_1
from smfh.plots import bit_kinds
from smfh.study import Trained
from smfh.types import MultimodalDataset, Split

Row = Mapping[str, str]


def draw_scores(trained: Trained, data: MultimodalDataset, split: Split, pinned: Trained | None) -> None:
    """One card a direction, then all figures in a table."""
    directions = trained.hasher.directions
    cards = st.columns(min(len(directions), 3))
    for place, (source, target) in enumerate(directions):
        scores = trained.results[source, target, "training"].scores
        before = _pinned_score(pinned, source, target)
        cards[place % len(cards)].metric(
            f"{source} → {target}",
            f"{scores.mean_average_precision:.3f}",
            None if before is None else f"{scores.mean_average_precision - before:+.3f} vs pinned",
            help=f"{scores.label}. {scores.definition} Chance is {scores.chance:.3f}.",
            border=True,
        )
    st.dataframe(
        [score_row(trained, data.name, source, target) for source, target in directions],
        hide_index=True,
        alt="Scores of every direction with chance level and ties",
    )
    first = trained.results[(*directions[0], "training")].scores
    st.caption(
        f"{len(split.train):,} training items, {first.queries:,} held-out queries, one split, "
        f"seed {trained.hasher.method.seed}. Trained in {trained.hasher.seconds:.2f} s. "
        f"{bits_in_words(trained)}"
    )
    if first.queries_without_relevant:
        st.caption(f"{first.queries_without_relevant} queries have nothing relevant and count as 0.")
    with st.expander("What do these figures mean?"):
        st.markdown(f"**{first.label}**: {first.definition}")
        st.code(first.formula, language=None)
        st.markdown(
            f"**Database.** {PROTOCOLS['training']}\n\n**Unseen items.** {PROTOCOLS['unseen']}\n\n"
            "**Chance** is the same score for a random order. **Ties**: items at the same distance stand in "
            "database order; another order among them could give anything in the range shown."
        )


def score_row(trained: Trained, dataset: str, source: str, target: str) -> Row:
    """What the table says of one direction."""
    scores = trained.results[source, target, "training"].scores
    unseen = trained.results[source, target, "unseen"].scores
    row = {
        "direction": f"{source} → {target}",
        scores.label: f"{scores.mean_average_precision:.3f}",
        "chance": f"{scores.chance:.3f}",
        "ties": f"{scores.worst:.3f} – {scores.best:.3f}",
        "P@100": f"{scores.precision_at_100:.3f}",
        "unseen items": f"{unseen.mean_average_precision:.3f}",
        "chance there": f"{unseen.chance:.3f}",
    }
    if (
        figure := published(dataset, trained.hasher.method.name, trained.hasher.bits, source, target)
    ) is not None:
        row["published"] = f"{figure:.3f}"
    return row


def published(dataset: str, method: str, bits: int, source: str, target: str) -> float | None:
    """The paper's mAP of this cell, where it has one."""
    cells = TABLE_1.get(dataset, {}).get(f"{source}->{target}", {}).get(method)
    return cells[COLUMNS.index(("map", bits))] if cells and ("map", bits) in COLUMNS else None


def bits_in_words(trained: Trained) -> str:
    """How many bits say nothing, or nothing of their own."""
    hasher = trained.hasher
    codes = unpack(next(iter(hasher.database_codes.values())), hasher.bits)
    kinds = bit_kinds(codes)
    on = codes.mean(axis=0)
    lopsided = int(np.count_nonzero((on < 0.1) | (on > 0.9)))
    counts = [f"{np.count_nonzero(kinds == kind)} {kind}" for kind in np.unique(kinds)]
    return (
        f"Bits: {', '.join(counts)}; {lopsided} of {hasher.bits} are on for less than 10 % or more than 90 %."
    )


def _pinned_score(pinned: Trained | None, source: str, target: str) -> float | None:
    result = None if pinned is None else pinned.results.get((source, target, "training"))
    return None if result is None else result.scores.mean_average_precision

"""The first answers: scores with their definition and chance, ties, bits, and what a pinned run had."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from smfh.bits import bit_kinds
from smfh.evaluation import PROTOCOLS
from smfh.hamming import unpack
from smfh.metrics import APDefinition
from smfh.paper import published_score
from smfh.runs import Run
from smfh.ui.plain import plain
from smfh.ui.running import describe_run
from smfh.ui.server import derive

MOST_DIRECTIONS = 6  # of which a run has scores at once
Row = Mapping[str, str]


def draw_scores(run: Run, pinned: Run | None) -> None:
    """One card a direction, and what is needed to read it; all figures behind a click."""
    directions = run.directions[:2] if len(run.directions) > MOST_DIRECTIONS else run.directions
    st.subheader(describe_run(run), anchor=False)
    for source, target in directions[:2]:
        draw_card(run, pinned, source, target)
    scores = run.scores(*directions[0])
    st.caption(
        f"mAP@100 of {scores.queries:,} held-out queries among {len(run.split.train):,} training items, one "
        f"split, one seed; trained in {run.hasher.seconds:.1f} s."
    )
    with st.popover("All figures, and what they mean", width="stretch", key="all_figures"):
        columns = {f"{source} → {target}": score_row(run, source, target) for source, target in directions}
        measures = list(dict.fromkeys(name for column in columns.values() for name in column))
        table = {name: [column.get(name, "") for name in measures] for name, column in columns.items()}
        alt = "Scores of every direction with chance level and ties"
        st.dataframe({"": measures} | table, hide_index=True, height="content", alt=alt)
        st.caption(derive(run, "bits in words", lambda: bits_in_words(run)))
        if scores.queries_without_relevant:
            st.caption(f"{scores.queries_without_relevant} queries have nothing relevant and count as 0.")
        draw_meaning(scores.average_precision["found"].definition)


def draw_card(run: Run, pinned: Run | None, source: str, target: str) -> None:
    """mAP@100 beside chance, the whole ranking, P@100, unseen items, and the pinned run."""
    scores, unseen = (run.scores(source, target, protocol) for protocol in PROTOCOLS)
    score, before = scores.average_precision["found"], _pinned_score(pinned, source, target)
    gain = None if before is None else score.mean - before
    with st.container(border=True, gap="xxsmall"):
        st.metric(
            plain(scores.direction),
            f"{score.mean:.3f}",
            None if gain is None else "same as pinned" if abs(gain) < 5e-4 else f"{gain:+.3f} vs pinned",
            delta_color="off" if gain is None or abs(gain) < 5e-4 else "normal",
            help=f"{score.definition.words} Chance is {score.chance:.3f}.",
        )
        st.caption(
            f"chance {score.chance:.3f} · whole ranking {scores.average_precision['full'].mean:.3f} · "
            f"P@100 {scores.precision_at_100:.3f} · unseen items {unseen.mean_average_precision:.3f} · "
            f"ties {score.worst:.3f} to {score.best:.3f}"
        )


def draw_meaning(definition: APDefinition) -> None:
    st.markdown(f"**{definition.label}**: {definition.words}")
    st.latex(definition.latex)
    st.markdown(
        f"**Database.** {PROTOCOLS['training']}\n\n**Unseen items.** {PROTOCOLS['unseen']}\n\n"
        "**Chance** is the same score for a random order. **Ties**: items at the same distance stand in "
        "database order; another order among them could give anything in the range shown."
    )


def score_row(run: Run, source: str, target: str) -> Row:
    """What the table says of one direction."""
    scores, unseen = (run.scores(source, target, protocol) for protocol in PROTOCOLS)
    score, on_unseen = (which.average_precision["found"] for which in (scores, unseen))
    row = {
        score.definition.label: f"{score.mean:.3f}",
        "mAP, whole ranking": f"{scores.average_precision['full'].mean:.3f}",
        "P@100": f"{scores.precision_at_100:.3f}",
        "chance": f"{score.chance:.3f}",
        "ties": f"{score.worst:.3f} – {score.best:.3f}",
        "unseen items": f"{on_unseen.mean:.3f}",
        "chance there": f"{on_unseen.chance:.3f}",
    }
    direction, method = f"{source}->{target}", run.method
    if (figure := published_score(run.data.name, direction, method.name, "map", method.bits)) is not None:
        row["published"] = f"{figure:.3f}"
    return row


def bits_in_words(run: Run) -> str:
    """How many bits say nothing, or nothing of their own."""
    hasher = run.hasher
    codes = unpack(next(iter(hasher.database_codes.values())), hasher.bits)
    kinds = bit_kinds(codes)
    on = codes.mean(axis=0)
    lopsided = int(np.count_nonzero((on < 0.1) | (on > 0.9)))
    counts = [f"{np.count_nonzero(kinds == kind)} {kind}" for kind in np.unique(kinds)]
    return (
        f"Bits: {', '.join(counts)}; {lopsided} of {hasher.bits} are on for less than 10 % or more than 90 %."
    )


def _pinned_score(pinned: Run | None, source: str, target: str) -> float | None:
    has = pinned is not None and (source, target) in pinned.directions
    return pinned.scores(source, target).mean_average_precision if pinned is not None and has else None

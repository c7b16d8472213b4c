"""How many votes the bits cast, classes by bits, bits by bits, and the balance of each."""

import math

import streamlit as st

from smfh.bits import (
    TOGETHER,
    Group,
    bit_kinds,
    class_contrast,
    class_shares,
    correlate,
    database_bits,
    largest_classes,
)
from smfh.plots import Chart, bit_balance, bit_correlation, class_bits, harmless
from smfh.runs import Run
from smfh.ui.bits.chosen import Topics
from smfh.ui.bits.radius import buckets_of
from smfh.ui.charts import show_chart
from smfh.ui.server import derive
from smfh.ui.topics import topics_of

SHOWN_GROUPS = 8


def draw_votes(run: Run) -> None:
    """Before any bit is looked at: how many different codes and how many different votes there are."""
    sizes, groups, bits = buckets_of(run).sizes, groups_of(topics_of(run)), run.hasher.bits
    items, enough = int(sizes.sum()), math.ceil(math.log2(max(len(sizes), 2)))
    share = f"{items:,} items share {len(sizes):,} codes (the fullest is that of {sizes.max():,})"
    with st.container(horizontal=True, vertical_alignment="center", key="bit_votes"):
        st.text(
            f"{share if len(sizes) < items else f'Each of {items:,} items has a code of its own'}; to number "
            f"them, {enough} bits would do. {bits} bits cast {len(groups)} different votes."
        )


def groups_of(topics: Topics) -> list[Group]:
    """Bits that vote together, the largest group first."""
    return sorted({topic.group for topic in topics if topic.group}, key=lambda group: (-len(group), group))


def draw_matrix(run: Run) -> None:
    draw_groups(topics_of(run))
    classes, correlation, balance = derive(run, "matrices of bits", lambda: _charts(run), "Counting …")
    show_chart(classes, "class_bits")
    left, right = st.columns([3, 2], gap="large")
    with left:
        show_chart(correlation, "bit_correlation")
    with right:
        show_chart(balance, "bit_balance")


def draw_groups(topics: Topics) -> None:
    """The largest groups, a line each."""
    several = [group for group in groups_of(topics) if len(group) > 1]
    st.text(
        f"Bits that vote together (every two have |ρ| ≥ {TOGETHER}; − marks the opposite of the first)"
        if several
        else f"No two bits vote together: no |ρ| reaches {TOGETHER}."
    )
    if several:
        st.dataframe(
            {
                "Bits": [
                    ", ".join(f"{'−' if sign < 0 else ''}{bit}" for bit, sign in group) for group in several
                ],
                "Number": [len(group) for group in several],
                "The first is on for": [
                    harmless(", ".join(topics[group[0][0]].follows) or "no class") for group in several
                ],
            },
            hide_index=True,
            height="content" if len(several) <= SHOWN_GROUPS else 36 * (SHOWN_GROUPS + 1),
            key="vote_groups",
            alt=f"Table of {len(several)} groups of bits that vote together",
        )


def _charts(run: Run) -> tuple[Chart, Chart, Chart]:
    codes = database_bits(run.hasher, run.data, run.split)
    labels = run.data.labels[run.split.train]
    rows = largest_classes(labels)
    names = [run.data.class_names[k] for k in rows]
    shares, contrast = class_shares(codes, labels[:, rows]), class_contrast(codes, labels[:, rows])
    by_group = [bit for group in groups_of(topics_of(run)) for bit, _ in group]
    return (
        class_bits(shares, contrast, names),
        bit_correlation(correlate(codes), by_group),
        bit_balance(codes.mean(axis=0), bit_kinds(codes)),
    )

"""All bits as tiles; the classes, words and items of the chosen bit; and the bits correlated with it."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from smfh import plots
from smfh.plots import Chart, Tile, harmless
from smfh.retrieval.bits import (
    AGREEMENT_KAPPA,
    FOLLOWS_DIFFERENCE,
    GROUP_CORRELATION,
    BitGroup,
    BitTopic,
    class_contrast,
    class_shares,
    correlate,
    database_bits,
    largest_classes,
)
from smfh.retrieval.classifiers import outermost_classes
from smfh.runs import Run
from smfh.types import MultimodalDataset
from smfh.ui.address import Part, current, draw_notes, hold, keep, part_of, whole
from smfh.ui.bits.tabs import buckets_of
from smfh.ui.charts import picked_numbers, show_chart, show_charts, show_pickable
from smfh.ui.items import about_item, draw_gallery, draw_terms
from smfh.ui.search_state import topics_of
from smfh.ui.server import derive

CONTROLS = "bit_"  # prefix of the keys of controls
NUMBER, TILES = "bit_number", "bit_tiles"  # session keys
TOPIC_ITEMS, MAX_TILE_CLASSES = 6, 3
MAX_GROUP_LINES = 8  # of the table of groups, before it scrolls
FIDELITY_GAP = 0.05  # smallest difference of two modalities at which the less faithful one is named
Topics = tuple[BitTopic, ...]  # one for each bit
ORDERS: dict[str, Callable[[BitTopic], Any]] = {
    "Number": lambda topic: topic.number,
    "Correlated bits together": lambda topic: (-len(topic.group), topic.group, topic.number),
    "Class": lambda topic: (topic.kind != "live", topic.classes[0][0], -topic.classes[0][1]),
    "Balance, most even first": lambda topic: (abs(topic.balance - 0.5), topic.number),
    "Agreement, highest first": lambda topic: (-topic.agreement, topic.number),
}
FILTERS = {"All": ("live", "echo", "dead"), "One bit per group": ("live",), "Dead or redundant": ("echo", "dead")}
KIND_NOTES = {
    "dead": "Dead bit: it is the same for all items, so it carries no information.",
    "twin": "Duplicate bit: it equals or mirrors an earlier bit, so it adds no information.",
}


@dataclass(frozen=True)
class ChosenBit:
    """The number of the chosen bit, which is part of the link."""

    bit: int


def chosen_part(topics: Topics) -> Part[ChosenBit]:
    """Return the Part of the link that holds the chosen bit; the default is the first live bit."""
    first = next((topic.number for topic in topics if topic.kind == "live"), 0)
    return part_of(ChosenBit(first), "bits.", about=f"{len(topics)} {first}", bit=whole(0, len(topics) - 1))


def chosen_bit(topics: Topics) -> BitTopic:
    """Return the bit to show: from the link, else the last chosen one, else the first live bit."""
    chosen, notes = current(chosen_part(topics), CONTROLS)
    draw_notes(notes)
    keep(chosen_part(topics), chosen)
    return topics[chosen.bit]


def choose_bit(topics: Topics, number: int) -> None:
    """Save this bit as the chosen one, in the session and the link."""
    keep(chosen_part(topics), ChosenBit(number))


def draw_code_summary(run: Run) -> None:
    """Draw a sentence with the numbers of distinct codes and of groups of correlated bits."""
    sizes, groups, bits = buckets_of(run).sizes, groups_of(topics_of(run)), run.hasher.bits
    items, enough = int(sizes.sum()), math.ceil(math.log2(max(len(sizes), 2)))
    codes = f"{items:,} items have {len(sizes):,} distinct codes (the most common: {sizes.max():,} items)"
    if len(sizes) == items:
        codes = f"Each of {items:,} items has its own code"
    st.text(
        f"{codes}; {enough} bits would be enough to tell them apart. Without dead and near-duplicate bits, "
        f"{len(groups)} of {bits} remain."
    )


def groups_of(topics: Topics) -> list[BitGroup]:
    """Return the groups of correlated bits, largest first."""
    return sorted({topic.group for topic in topics if topic.group}, key=lambda group: (-len(group), group))


def draw_tiles(topics: Topics, chosen: BitTopic, data: MultimodalDataset) -> None:
    """Draw fields for order, filter and bit number, and the bits as tiles; a click chooses a bit."""

    def clicked() -> None:
        if numbers := picked_numbers(st.session_state[TILES]):
            choose_bit(topics, numbers[0])

    left, middle, right = st.columns([3, 2, 2], vertical_alignment="bottom")
    order = left.selectbox("Order", list(ORDERS), key="bit_order")
    kind = middle.selectbox("Show", list(FILTERS), key="bit_filter")
    right.number_input(
        "Bit",
        0,
        len(topics) - 1,
        key=hold(NUMBER, chosen.number),
        on_change=lambda: choose_bit(topics, st.session_state[NUMBER]),
    )
    outermost = {data.class_names[k] for k in outermost_classes(data.labels)}  # without the classes inside them
    tiles, shown = [], outermost if len(outermost) > 1 else set(data.class_names)
    for topic in arrange(topics, order, kind):
        strongest = [name for name, _ in topic.classes if name in topic.follows and name in shown]
        classes = tuple(sorted(data.class_names.index(name) for name in strongest[:MAX_TILE_CLASSES]))
        tiles.append(Tile(topic.number, kind_of(topic), topic.balance, classes, topic.summary, topic.repeats))
    if not tiles:
        st.info("No bit is dead or redundant.")
        return
    show_pickable(plots.bit_tiles(tiles, data.class_names, chosen.number), TILES, ("points",), clicked)
    st.caption(
        f"Click a tile to see its bit. A tile has the colours of the {MAX_TILE_CLASSES} classes (or groups of "
        "classes) that its bit follows most: it is on at least "
        f"{FOLLOWS_DIFFERENCE * 100:.0f} percentage points more often for items of that class than for other "
        "items. The bar shows the share of items for which the bit is on. “≈ 5” means correlated with bit 5 "
        f"(|correlation| ≥ {GROUP_CORRELATION}), “≈ −5” with its opposite."
    )


def kind_of(topic: BitTopic) -> str:
    """Return the kind of a bit: "dead", "echo" if it is correlated with an earlier bit, or "live"."""
    return "dead" if topic.kind == "dead" else "live" if topic.repeats is None else "echo"


def arrange(topics: Sequence[BitTopic], order: str, kind: str) -> list[BitTopic]:
    """Return the descriptions of the bits that pass the filter `kind`, sorted by `order`."""
    return sorted((topic for topic in topics if kind_of(topic) in FILTERS[kind]), key=ORDERS[order])


def draw_topic(topics: Topics, chosen: BitTopic, data: MultimodalDataset) -> None:
    """Draw the classes, balance and agreement of a bit, and its items if the modalities agree."""
    st.subheader(f"Bit {chosen.number}", anchor=False)
    number, total = len(chosen.follows), len(chosen.classes)
    classes = f"On for {number} of {total} {'class' if total == 1 else 'classes'}: {', '.join(chosen.follows)}"
    st.text(classes if chosen.follows else "Follows no class.")
    if chosen.kind in KIND_NOTES:
        st.info(KIND_NOTES[chosen.kind], icon=":material/info:")
    about = (
        "How often two modalities of a held-out item give the same bit; "
        f"{chosen.chance:.0%} by chance. κ = {chosen.kappa:.2f} (0: chance, 1: always); words and items are "
        f"listed if κ is at least {AGREEMENT_KAPPA}."
    )
    with st.container(horizontal=True, key="bit_measures"):
        st.metric("Balance", f"{chosen.balance:.0%}", help="Share of the database with the bit on.")
        st.metric("Modalities agree", f"{chosen.agreement:.0%}", help=about)
    if not chosen.agrees:
        st.text(describe_disagreement(chosen))
    elif chosen.rows:
        st.text("Strongest items for which the bit is on in every modality")
        rows = chosen.rows[:TOPIC_ITEMS]
        draw_gallery(data, rows, [about_item(data, row) for row in rows], "bit")
        draw_terms(data)
    _draw_relatives(topics, chosen)


def describe_disagreement(topic: BitTopic) -> str:
    """Return as text how far the modalities disagree on a bit, and how often they match the database."""
    (low, worst), *_, (high, best) = sorted((share, name) for name, share in topic.fidelity.items())
    which = f"all modalities match the database for at least {low:.0%} of the items"
    if high - low >= FIDELITY_GAP:
        which = f"{worst} matches the database for {low:.0%} of the items, {best} for {high:.0%}"
    return (
        f"No words or items are listed, because the modalities disagree on this bit (κ {topic.kappa:.2f}, "
        f"below {AGREEMENT_KAPPA}). They agree on {topic.agreement:.0%} of held-out items, "
        f"{topic.chance:.0%} by chance; {which}."
    )


def _draw_relatives(topics: Topics, chosen: BitTopic) -> None:
    """Draw buttons that choose a bit of the same group, or one of the most correlated other bits."""
    if not chosen.group:
        return
    group = chosen.group_others
    others = [(k, f"{rho:+.2f}".replace("-", "−")) for k, rho in chosen.relatives if k not in dict(group)]
    for title, key, bits in (
        (
            f"Correlated bits: |correlation| ≥ {GROUP_CORRELATION} between any two; together they count as one bit",
            "bit_together",
            [(k, "equal" if sign > 0 else "opposite") for k, sign in group],
        ),
        ("Most correlated of the other bits", "bit_relatives", others),
    ):
        if bits:
            st.text(title)
            with st.container(horizontal=True, key=key):
                for k, note in bits:
                    st.button(f"{k} ({note})", f"relative_{k}", on_click=choose_bit, args=(topics, k))


def draw_reasons(topic: BitTopic) -> None:
    """Draw two charts side by side: the words and the classes that switch the bit on."""
    charts = {"bit_classes": plots.bit_classes(topic.number, topic.classes)}
    if topic.words and topic.agrees:
        modality = next(iter(topic.words))
        if len(topic.words) > 1:
            modality = st.selectbox("Modality of the words", list(topic.words), key="bit_words_of", width=240)
        charts = {"bit_words": plots.bit_words(topic.number, modality, topic.words[modality])} | charts
    show_charts(charts)
    if not topic.words:
        st.caption("This data set has no vocabulary, so bits are described by classes only.")


def draw_matrices(run: Run) -> None:
    """Draw a table of groups of correlated bits, and charts of classes, correlation and balance."""
    topics = topics_of(run)
    groups = [group for group in groups_of(topics) if len(group) > 1]
    if groups:
        st.text(f"Groups of correlated bits: |correlation| ≥ {GROUP_CORRELATION}; −: opposite of the first bit")
        signed = [[f"{'−' if sign < 0 else ''}{bit}" for bit, sign in group] for group in groups]
        classes = [", ".join(topics[group[0][0]].follows) or "no class" for group in groups]
        st.dataframe(
            {
                "Bits": [", ".join(bits) for bits in signed],
                "Number": [len(group) for group in groups],
                "Classes with the first bit on": [harmless(names) for names in classes],
            },
            hide_index=True,
            height="content" if len(groups) <= MAX_GROUP_LINES else 36 * (MAX_GROUP_LINES + 1),
            key="vote_groups",
            alt=f"Table of {len(groups)} groups of correlated bits",
        )
    else:
        st.text(f"No two bits have a correlation of at least {GROUP_CORRELATION} (or at most −{GROUP_CORRELATION}).")

    def make() -> tuple[Chart, Chart, Chart]:
        codes, labels = database_bits(run.hasher, run.data, run.split), run.data.labels[run.split.train]
        largest = largest_classes(labels)
        names, labels = [run.data.class_names[k] for k in largest], labels[:, largest]
        by_group = [bit for group in groups_of(topics) for bit, _ in group]
        return (
            plots.class_bits(class_shares(codes, labels), class_contrast(codes, labels), names),
            plots.bit_correlation(correlate(codes), by_group),
            plots.bit_balance(codes.mean(axis=0), np.array([kind_of(topic) for topic in topics])),
        )

    class_chart, correlation, balance = derive(run, "matrices of bits", make, "Counting …")
    show_chart(class_chart, "class_bits")
    show_charts({"bit_correlation": correlation, "bit_balance": balance}, [3, 2])

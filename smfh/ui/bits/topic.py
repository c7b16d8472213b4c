"""One bit: the classes, words and pictures that it is on for, and the bits that vote with it."""

import streamlit as st

from smfh.bits import AGREES, TOGETHER, BitTopic, seen_from
from smfh.plots import bit_classes, bit_words
from smfh.types import MultimodalDataset
from smfh.ui.bits.chosen import Topics, choose_bit
from smfh.ui.charts import show_chart
from smfh.ui.gallery import about_item, draw_gallery, draw_terms

PICTURES = 6
APART = 0.05  # of two modalities' fidelities, from which one is said to disagree
KIND_WORDS = {
    "dead": "It is dead: the same for all items, so it tells nothing.",
    "twin": "It is a twin: it equals or mirrors an earlier bit, so it tells nothing new.",
}
BALANCE = "Share of the database with the bit on."


def draw_topic(topics: Topics, chosen: BitTopic, data: MultimodalDataset) -> None:
    """What the bit stands for, at a glance; words and items only where the modalities agree."""
    st.subheader(f"Bit {chosen.number}", anchor=False)
    st.text(classes_in_words(chosen))
    if chosen.kind in KIND_WORDS:
        st.info(KIND_WORDS[chosen.kind], icon=":material/info:")
    with st.container(horizontal=True, key="bit_measures"):
        st.metric("On for", f"{chosen.balance:.0%}", help=BALANCE)
        st.metric("Modalities agree", f"{chosen.agreement:.0%}", help=agreement_in_words(chosen))
    if not chosen.agrees:
        st.text(disagreement_in_words(chosen))
    elif chosen.rows:
        st.text("Strongest items, of those that have it on in every modality")
        rows = chosen.rows[:PICTURES]
        draw_gallery(data, rows, [about_item(data, row) for row in rows], "bit")
        draw_terms(data)
    draw_relatives(topics, chosen)


def classes_in_words(topic: BitTopic) -> str:
    """On for 2 of 9 classes: Flags, Objects"""
    if not topic.follows:
        return "Follows no class."
    number = f"{len(topic.follows)} of {len(topic.classes)}"
    return f"On for {number} {'class' if len(topic.classes) == 1 else 'classes'}: {', '.join(topic.follows)}"


def agreement_in_words(topic: BitTopic) -> str:
    """What the share is of, what chance would reach, and from where on it counts."""
    return (
        "How often two modalities of a held-out item give the same bit. If they knew nothing of each other, "
        f"it would be {topic.chance:.0%}; κ = {topic.kappa:.2f} of the way from there to always, and words "
        f"and items are told from {AGREES} on."
    )


def disagreement_in_words(topic: BitTopic) -> str:
    """That the modalities disagree, and which of them is farther from what was learnt."""
    (low, worst), *_, (high, best) = sorted((share, name) for name, share in topic.fidelity.items())
    who = f"none is much farther from the database than the others ({low:.0%} of items or more have its bit)"
    if high - low >= APART:
        who = (
            f"{worst} is the farther from the database ({low:.0%} of items have its bit, {best}: {high:.0%})"
        )
    return (
        "No words and no items are told: the modalities agree too little on this bit "
        f"(κ {topic.kappa:.2f}, told from {AGREES} on). They give the same for {topic.agreement:.0%} of "
        f"held-out items, and would by chance for {topic.chance:.0%}; {who}."
    )


def draw_reasons(topic: BitTopic) -> None:
    """The words and the classes that switch the bit on, side by side."""
    classes = bit_classes(topic.number, topic.classes)
    if not topic.words or not topic.agrees:
        show_chart(classes, "bit_classes")
        if not topic.words:
            st.caption("The words of this data are not known, so its classes have to tell.")
        return
    left, right = st.columns(2, gap="large")
    with left:
        modality = next(iter(topic.words))
        if len(topic.words) > 1:
            modality = st.selectbox("Words of", list(topic.words), key="bit_words_of")
        show_chart(bit_words(topic.number, modality, topic.words[modality]), "bit_words")
    with right:
        show_chart(classes, "bit_classes")


def draw_relatives(topics: Topics, chosen: BitTopic) -> None:
    """Buttons to the bits that vote together, and to the most correlated other bits."""
    if not chosen.group:
        return
    together = seen_from(chosen.group, chosen.number)
    if together:
        st.text(f"Vote together: every two have |ρ| ≥ {TOGETHER}, so they count as about one bit")
        _draw_bits(
            topics, "bit_together", [(k, "the same" if sign > 0 else "opposite") for k, sign in together]
        )
    others = [(k, rho) for k, rho in chosen.relatives if k not in dict(together)]
    if others:
        st.text("Most alike of the others, or (−) the opposite")
        _draw_bits(topics, "bit_relatives", [(k, f"{rho:+.2f}".replace("-", "−")) for k, rho in others])


def _draw_bits(topics: Topics, key: str, bits: list[tuple[int, str]]) -> None:
    with st.container(horizontal=True, key=key):
        for number, note in bits:
            st.button(f"{number} ({note})", f"relative_{number}", on_click=choose_bit, args=(topics, number))

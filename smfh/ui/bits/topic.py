"""One bit: the words, pictures and classes that it is on for, and the bits that say much the same."""

import streamlit as st

from smfh.bits import BitTopic
from smfh.plots import bit_classes, bit_words
from smfh.types import MultimodalDataset
from smfh.ui.bits.chosen import Topics, choose_bit
from smfh.ui.charts import show_chart
from smfh.ui.gallery import about_item, draw_gallery, draw_terms

PICTURES = 6
KIND_WORDS = {
    "dead": "It is dead: the same for all items, so it tells nothing.",
    "twin": "It is a twin: it equals or mirrors an earlier bit, so it tells nothing new.",
}
BALANCE = "Share of the database with the bit on."
AGREEMENT = "How often two modalities of a held-out item give the same bit; a coin would reach 50%."


def draw_topic(topics: Topics, chosen: BitTopic, data: MultimodalDataset) -> None:
    """What the bit stands for, at a glance."""
    st.subheader(f"Bit {chosen.number}", anchor=False)
    st.text(f"Stands for: {chosen.summary}")
    if chosen.kind in KIND_WORDS:
        st.info(KIND_WORDS[chosen.kind], icon=":material/info:")
    with st.container(horizontal=True, key="bit_measures"):
        st.metric("On for", f"{chosen.balance:.0%}", help=BALANCE)
        st.metric("Modalities agree", f"{chosen.agreement:.0%}", help=AGREEMENT)
    st.text("Strongest items")
    rows = chosen.rows[:PICTURES]
    draw_gallery(data, rows, [about_item(data, row) for row in rows], "bit")
    draw_terms(data)
    draw_relatives(topics, chosen)


def draw_reasons(topic: BitTopic) -> None:
    """The words and the classes that switch the bit on, side by side."""
    classes = bit_classes(topic.number, topic.classes)
    if not topic.words:
        show_chart(classes, "bit_classes")
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
    """Buttons to the most correlated other bits."""
    st.text("Other bits that say much the same, or (−) the opposite")
    if not chosen.relatives:
        st.caption("None: a dead bit is correlated with nothing.")
        return
    with st.container(horizontal=True, key="bit_relatives"):
        for number, correlation in chosen.relatives:
            words = f"{number} ({correlation:+.2f})".replace("-", "−")
            st.button(words, f"relative_{number}", on_click=choose_bit, args=(topics, number))

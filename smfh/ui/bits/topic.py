"""One bit: the words, pictures and classes that it is on for, and the bits that say much the same."""

import streamlit as st

from smfh.bits import BitTopic
from smfh.datasets import DATASETS
from smfh.plots import bit_classes, bit_words
from smfh.types import MultimodalDataset
from smfh.ui.bits.chosen import about_item, choose_bit
from smfh.ui.charts import show_chart
from smfh.ui.gallery import draw_gallery

PICTURES = 6
KIND_WORDS = {
    "live": "",
    "dead": "It is dead: the same for all items, so it tells nothing.",
    "twin": "It is a twin: it equals or mirrors an earlier bit, so it tells nothing new.",
}


def draw_topic(known: tuple[BitTopic, ...], chosen: int, data: MultimodalDataset) -> None:
    """What the bit stands for, at a glance."""
    topic = known[chosen]
    st.subheader(f"Bit {topic.number}", anchor=False)
    st.text(f"Stands for: {topic.summary}")
    if words := KIND_WORDS[topic.kind]:
        st.info(words, icon=":material/info:")
    with st.container(horizontal=True, key="bit_measures"):
        st.metric("On for", f"{topic.balance:.0%}", help="Share of the database with the bit on.")
        st.metric(
            "Modalities agree",
            f"{topic.agreement:.0%}",
            help="How often two modalities of a held-out item give the same bit; a coin would reach 50%.",
        )
    st.text("Strongest items")
    rows = topic.rows[:PICTURES]
    draw_gallery(data, rows, [about_item(data, row) for row in rows], "bit")
    if data.thumbnails is not None and data.name in DATASETS:
        st.caption(DATASETS[data.name].card.terms)
    draw_relatives(known, topic)


def draw_reasons(topic: BitTopic) -> None:
    """The words and the classes that switch the bit on, side by side."""
    if not topic.words:
        show_chart(bit_classes(topic.number, topic.classes), "bit_classes")
        st.caption("The words of this data are not known, so its classes have to tell.")
        return
    left, right = st.columns(2, gap="large")
    with left:
        draw_words(topic)
    with right:
        show_chart(bit_classes(topic.number, topic.classes), "bit_classes")


def draw_words(topic: BitTopic) -> None:
    """Bars of one modality's words."""
    modality = next(iter(topic.words))
    if len(topic.words) > 1:
        modality = st.selectbox("Words of", list(topic.words), key="bit_words_of")
    show_chart(bit_words(topic.number, modality, topic.words[modality]), "bit_words")


def draw_relatives(known: tuple[BitTopic, ...], topic: BitTopic) -> None:
    """Buttons to the most correlated other bits."""
    st.text("Other bits that say much the same, or (−) the opposite")
    if not topic.relatives:
        st.caption("None: a dead bit is correlated with nothing.")
        return
    with st.container(horizontal=True, key="bit_relatives"):
        for number, correlation in topic.relatives:
            words = f"{number} ({correlation:+.2f})".replace("-", "−")
            st.button(words, key=f"relative_{number}", on_click=choose_bit, args=(known, number))

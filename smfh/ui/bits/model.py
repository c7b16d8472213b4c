"""The model that the Bits page looks at, and which of its bits is chosen: the link says it too."""

from dataclasses import dataclass

import streamlit as st

from smfh.evaluation import searched
from smfh.hashing import FittedHasher
from smfh.jobs import Job
from smfh.study import Trained
from smfh.topics import BitTopic, shown_modality, topics
from smfh.types import MultimodalDataset, Split, Words
from smfh.ui.gallery import caption_of, labels_of
from smfh.ui.settings import SHOW

BIT = f"{SHOW}bit"
CHOSEN = "chosen_bit"  # kept while other pages are looked at
SHOWN_TEXT = 40  # characters of a wrong link


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model with its data; `key` names it in caches, the owner of private data included."""

    key: str
    job: Job[Trained]
    data: MultimodalDataset
    split: Split

    @property
    def hasher(self) -> FittedHasher:
        return self.job.result.hasher

    @property
    def codes(self) -> Words:
        """Of the database, as pictures are found by them."""
        return searched(self.hasher, self.data, self.split, shown_modality(self.hasher), "training")[0]


def model_of(job: Job[Trained], data: MultimodalDataset, split: Split) -> Model:
    return Model(repr(job.key), job, data, split)


def topics_of(model: Model) -> tuple[BitTopic, ...]:
    return _topics(model.key, model)


@st.cache_resource(max_entries=8, show_spinner="Asking each bit what it stands for …")
def _topics(key: str, _model: Model) -> tuple[BitTopic, ...]:
    return topics(_model.hasher, _model.data, _model.split)


def about_item(data: MultimodalDataset, row: int) -> list[str]:
    """Its labels, or its number where the caption says no more than they do."""
    labels = ", ".join(labels_of(data, row))
    return [labels] if labels != caption_of(data, row) else [f"item {row}"]


def chosen_bit(known: tuple[BitTopic, ...]) -> int:
    """The bit of the link, or the last one chosen, or the first one of use; what is wrong is told."""
    first = next((topic.number for topic in known if topic.kind == "live"), 0)
    text = st.query_params.get(BIT)
    kept: int | None = st.session_state.get(CHOSEN)
    number = read_bit(text, len(known)) if text is not None else kept
    if text is not None and number is None:
        st.warning(
            f"The link asks for a bit that is not there: the model has bits 0 to {len(known) - 1}. "
            f"Bit {first} is shown instead.",
            icon=":material/link_off:",
        )
        st.text(f"Asked for: {text[:SHOWN_TEXT]!r}")  # plain: a link may say anything
    if number is None or number >= len(known):
        number = first
    choose_bit(number)
    return number


def read_bit(text: str, bits: int) -> int | None:
    """The number that the text says, if there is such a bit."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else bits
    return number if number < bits else None


def choose_bit(number: int) -> None:
    """Show this bit, and let the link say so."""
    st.session_state[CHOSEN] = number
    if st.query_params.get(BIT) != str(number):
        st.query_params[BIT] = str(number)

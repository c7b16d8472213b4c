"""Which bit is chosen: the link says it too."""

from dataclasses import dataclass

from smfh.bits import BitTopic
from smfh.ui.address import Part, current, draw_notes, keep, part_of, whole

CONTROLS = "bit_"
Topics = tuple[BitTopic, ...]  # of all bits


@dataclass(frozen=True)
class Chosen:
    """A bit by its number."""

    bit: int


def chosen_part(topics: Topics) -> Part[Chosen]:
    """How the address tells it, for codes of this length; the usual one is the first of use."""
    first = next((topic.number for topic in topics if topic.kind == "live"), 0)
    return part_of(Chosen(first), "bits.", about=f"{len(topics)} {first}", bit=whole(0, len(topics) - 1))


def chosen_bit(topics: Topics) -> BitTopic:
    """The bit of the link, or the last one chosen, or the first one of use; what is wrong is told."""
    chosen, notes = current(chosen_part(topics), CONTROLS)
    draw_notes(notes)
    keep(chosen_part(topics), chosen)
    return topics[chosen.bit]


def choose_bit(topics: Topics, number: int) -> None:
    """Show this bit, and let the link say so."""
    keep(chosen_part(topics), Chosen(number))

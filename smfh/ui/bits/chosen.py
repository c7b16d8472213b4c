"""Which bit is chosen: the link says it too."""

from dataclasses import dataclass

from smfh.bits import BitTopic
from smfh.types import MultimodalDataset
from smfh.ui.address import Part, current, draw_notes, keep, part_of, whole
from smfh.ui.gallery import caption_of, labels_of

CONTROLS = "bit_"


@dataclass(frozen=True)
class Chosen:
    """A bit by its number."""

    bit: int


def _part(known: tuple[BitTopic, ...]) -> Part[Chosen]:
    first = next((topic.number for topic in known if topic.kind == "live"), 0)
    return part_of(Chosen(first), "bits.", about=f"{len(known)} {first}", bit=whole(0, len(known) - 1))


def chosen_bit(known: tuple[BitTopic, ...]) -> int:
    """The bit of the link, or the last one chosen, or the first one of use; what is wrong is told."""
    chosen, notes = current(_part(known), CONTROLS)
    draw_notes(notes)
    keep(_part(known), chosen)
    return chosen.bit


def choose_bit(known: tuple[BitTopic, ...], number: int) -> None:
    """Show this bit, and let the link say so."""
    keep(_part(known), Chosen(number))


def about_item(data: MultimodalDataset, row: int) -> list[str]:
    """Its labels, or its number where the caption says no more than they do."""
    labels = ", ".join(labels_of(data, row))
    return [labels] if labels != caption_of(data, row) else [f"item {row}"]

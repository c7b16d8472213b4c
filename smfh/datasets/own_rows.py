"""Rows that somebody handed in, as plain values with everything that is wrong with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from smfh.types import Matrix


@dataclass(frozen=True, eq=False)
class Parsed:
    """Rows as they were handed in; a row's labels are empty where they could not be read."""

    labels: Sequence[tuple[str, ...]] = ()
    captions: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by modality
    pictures: Sequence[str] = ()  # names among the files, row by row
    matrices: Mapping[str, Matrix] = field(default_factory=dict)
    offered: Sequence[str] = ()  # names of the modalities, also of those that could not be read
    problems: Sequence[str] = ()


def split_labels(cell: str) -> tuple[str, ...]:
    """The labels between the bars, each once, in their order."""
    return tuple(dict.fromkeys(label.strip() for label in cell.split("|") if label.strip()))

"""What every data set is: a small configuration that describes itself and can be loaded."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from smfh.types import InputError, MultimodalDataset, Split

OnProgress = Callable[[float, str], None]  # share done, what is being done


@dataclass(frozen=True)
class DatasetCard:
    """What a person wants to know before choosing a data set."""

    title: str
    about: str
    size: str
    terms: str  # licence, or terms of use
    origin: str  # where a person gets it
    files: tuple[str, ...] = ()  # expected below the data folder; none for a built-in set


class DatasetSource(Protocol):
    """A frozen dataclass: its fields are the options of the data set."""

    name: ClassVar[str]
    card: ClassVar[DatasetCard]

    def missing(self) -> list[str]:
        """What is needed and not there, in words; empty when the set is ready."""
        ...

    def load(
        self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress | None = None
    ) -> tuple[MultimodalDataset, Split]:
        """All items with features fitted on the split's training rows alone, and the split."""
        ...


def data_root() -> Path | None:
    """The folder that holds the benchmark files, named by the person who runs the program."""
    folder = os.environ.get("SMFH_DATA")
    return Path(folder) if folder else None


def missing_files(card: DatasetCard, folder: str) -> list[str]:
    """The card's files that are not below the data folder, or the lack of such a folder."""
    root = data_root()
    if root is None:
        return [
            f"{card.title} needs its files: point SMFH_DATA (or --data) at a folder that has {folder}/. "
            f"{card.origin}"
        ]
    if absent := [file for file in card.files if not (root / folder / file).is_file()]:
        return [f"{card.title} expects {', '.join(absent)} in {folder}/ below the data folder. {card.origin}"]
    return []


def require(source: DatasetSource) -> None:
    """Refuse to load what is not all there."""
    if missing := source.missing():
        raise InputError(missing)

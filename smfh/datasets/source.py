"""What every data set is: a small configuration that describes itself and can be loaded."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from smfh.types import BoolArray, InputError, MultimodalDataset, Split, choice_problems, range_problems

OnProgress = Callable[[float, str], None]  # share done, what is being done


@dataclass(frozen=True)
class DatasetCard:
    """What a person wants to know before choosing a data set."""

    title: str
    about: str
    size: str
    terms: str  # licence, or terms of use
    origin: str  # where a person gets it
    folder: str = ""  # below the data folder; none for a built-in set
    files: tuple[str, ...] = ()  # expected in it, or patterns such as <category>/<image>.jpg
    example: str = ""  # words for a first question that shows it at its best


@dataclass(frozen=True)
class DatasetSource(ABC):
    """A data set as a frozen dataclass: its fields are its options, checked by what they declare."""

    name: ClassVar[str]
    card: ClassVar[DatasetCard]
    is_light: ClassVar[bool] = False  # loaded in a moment: its features come with it

    def __post_init__(self) -> None:
        if problems := range_problems(self) + choice_problems(self):
            raise InputError(problems)

    @abstractmethod
    def load(
        self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress | None = None
    ) -> tuple[MultimodalDataset, Split]:
        """All items with features fitted on the split's training rows alone, and the split."""

    def missing(self) -> list[str]:
        """What is needed and not there, in words, and what to do about it; empty when the set is ready."""
        card, root = self.card, data_root()
        if card.files and root is None:
            where = f"point SMFH_DATA (or --data) at a folder that has {card.folder}/"
            return [f"{card.title} needs its files: {where}. {card.origin}"]
        found = found_files(card)
        absent = [file for file in card.files if file not in found]
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        files = f"{', '.join(absent[:3])}{more} in {card.folder}/ below the data folder"
        return [f"{card.title} expects {files}. {card.origin}"] if absent else []

    @property
    def folder(self) -> Path:
        """Where its files are; refused where some are missing."""
        if missing := self.missing():
            raise InputError(missing)
        return required_root() / self.card.folder

    @property
    def bytes(self) -> int:
        """That it takes in memory, where its options decide that; 0 where only loading it tells."""
        return 0

    @property
    def can_be_fetched(self) -> bool:
        """Whether it is a public file that `fetch` downloads."""
        return type(self).fetch is not DatasetSource.fetch

    def fetch(self, on_progress: OnProgress | None = None) -> Path:
        """Download and unpack it into the data folder, if it is a public file; the folder it is now in."""
        raise InputError(f"{self.card.title} cannot be fetched by program. {self.card.origin}")


def multi_hot(labels: Sequence[Sequence[str]], classes: Sequence[str]) -> BoolArray:
    """Which row has which of the classes."""
    column = {name: number for number, name in enumerate(classes)}
    hot = np.zeros((len(labels), len(classes)), dtype=np.bool_)
    for row, own in enumerate(labels):
        hot[row, [column[name] for name in own]] = True
    return hot


def data_root() -> Path | None:
    """The folder that holds the benchmark files, named by the person who runs the program."""
    folder = os.environ.get("SMFH_DATA")
    return Path(folder) if folder else None


def required_root() -> Path:
    """The data folder where it is known to be there."""
    root = data_root()
    if root is None:
        raise InputError("Point SMFH_DATA (or --data) at the folder with the benchmark files.")
    return root


def found_files(card: DatasetCard) -> list[str]:
    """Those of the card's files that are there; a pattern counts where anything fits it."""
    root = data_root()
    patterns = {file: re.sub(r"<[^>]*>", "*", file) for file in card.files}
    return [file for file in card.files if root and any((root / card.folder).glob(patterns[file]))]

"""The base class of all data sets, and helpers to find their files and encode their labels."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from smfh.datasets.corruption import CORRUPTIONS, Loaded, corrupt
from smfh.folders import data_folders
from smfh.types import BoolArray, InputError, MissingFilesError, Split, parameter, range_problems

OnProgress = Callable[[float, str], None] | None  # called with the share done and the current step
WRONG_LABELS = "Share of training items that get the labels of another item. Scores use the true labels."
UNPAIRED = "Share of training items that get the text (and any further modalities) of another item."
MISSING = "Share of training items that lose one modality: its features are replaced by the mean or, if sparse, by 0."
UNSEEN = "Share of classes without training items. Choose unseen items as the database: they include all classes."
CORRUPTION_SEED = "Random seed for drawing the wrong labels, wrong pairs, missing features and unseen classes."


@dataclass(frozen=True)
class DatasetCard:
    """The description of a data set: title, size, files, terms of use and origin."""

    title: str
    about: str
    size: str
    terms: str  # licence, or terms of use
    origin: str  # where to get it
    folder: str = ""  # below a data folder; empty for built-in sets
    files: tuple[str, ...] = ()  # names, or patterns such as <category>/<image>.jpg
    example: str = ""  # a good first query


@dataclass(frozen=True, kw_only=True)  # the options of all sets are keywords
class DatasetSource(ABC):
    """Base class of data sets; the fields of a subclass are its options, checked when it is created.

    Every data set can be loaded with corrupted training items, to measure how robust methods are.
    """

    name: ClassVar[str]
    card: ClassVar[DatasetCard]
    is_light: ClassVar[bool] = False  # loads within a second, features included

    wrong_labels: float = parameter(0.0, "wrong_labels", 0.0, 1.0, WRONG_LABELS, kw_only=True)
    unpaired: float = parameter(0.0, "unpaired", 0.0, 1.0, UNPAIRED, kw_only=True)
    missing_modality: float = parameter(0.0, "missing_modality", 0.0, 1.0, MISSING, kw_only=True)
    unseen_classes: float = parameter(0.0, "unseen_classes", 0.0, 1.0, UNSEEN, kw_only=True)
    corruption_seed: int = parameter(0, "corruption_seed", 0, 2**32 - 1, CORRUPTION_SEED, kw_only=True)

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrap `load` of the subclass, so that it also corrupts the training items as the options say."""
        super().__init_subclass__(**options)
        if (load := vars(cls).get("load")) is not None:

            @wraps(load)
            def load_and_corrupt(self: "DatasetSource", *given: Any, **named: Any) -> Loaded:
                loaded: Loaded = load(self, *given, **named)
                return corrupt(*loaded, self.corruptions, self.corruption_seed)

            setattr(cls, "load", load_and_corrupt)  # noqa: B010, mypy does not let a method be assigned

    def __post_init__(self) -> None:
        if problems := range_problems(self):
            raise InputError(problems)

    @abstractmethod
    def load(self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress = None) -> Loaded:
        """Return all items and the split; features are fitted on the training rows only."""

    def missing(self) -> list[str]:
        """Return a message about missing files and what to do about them; "" if the data set is ready."""
        found = found_files(self.card)
        absent = [file for file in self.card.files if file not in found]
        if not absent:
            return []
        more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
        return [
            f"{self.card.title} needs {', '.join(absent[:3])}{more} in {self.card.folder}/ below the data "
            f"folder (set by SMFH_DATA or --data). {self.card.origin}"
        ]

    @property
    def folder(self) -> Path:
        """The folder with the files of the data set; raises `MissingFilesError` if some are missing."""
        if missing := self.missing():
            raise MissingFilesError(missing)
        return find_folder(self.card)

    @property
    def corruptions(self) -> dict[str, float]:
        """The share of each corruption by name; corruptions with share 0 are left out."""
        shares = {name: float(getattr(self, name)) for name in CORRUPTIONS}
        return {name: share for name, share in shares.items() if share}

    @property
    def title(self) -> str:
        """The title of the card, followed by any corruptions: "Wiki, 30 % wrong labels"."""
        corrupted = (f"{100 * share:g} % {CORRUPTIONS[name]}" for name, share in self.corruptions.items())
        return ", ".join([self.card.title, *corrupted])

    @property
    def bytes(self) -> int:
        """Size of the data in memory, in bytes, if the options determine it; else 0."""
        return 0

    @property
    def can_be_fetched(self) -> bool:
        """Whether `fetch` can download the data set."""
        return type(self).fetch is not DatasetSource.fetch

    def fetch(self, on_progress: OnProgress = None) -> Path:
        """Download the data set into the first data folder, and return its folder there."""
        raise InputError(f"{self.card.title} cannot be downloaded automatically. {self.card.origin}")


def find_folder(card: DatasetCard) -> Path:
    """Look for the data set in all data folders; return its folder where most of its files are found.

    If no files are found, return its folder in the first data folder.
    """
    folders = [folder / card.folder for folder in data_folders()]
    return max(folders, key=lambda folder: len(found_files(card, folder)))


def found_files(card: DatasetCard, folder: Path | None = None) -> list[str]:
    """List the files named on the card that are present; a pattern is listed if any file matches it."""
    folder = folder or find_folder(card)
    return [file for file in card.files if any(folder.glob(re.sub(r"<[^>]*>", "*", file)))]


def class_names_of(labels: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return all classes in the labels: numbers in numerical order, then words in alphabetical order."""
    names = {name for row in labels for name in row}
    return tuple(sorted(names, key=lambda name: (float(name) if name.isdecimal() else np.inf, name)))


def multi_hot(labels: Sequence[Sequence[str]], classes: Sequence[str]) -> BoolArray:
    """Return a Boolean (rows, classes) matrix that is true where a row has a class."""
    column = {name: number for number, name in enumerate(classes)}
    matrix = np.zeros((len(labels), len(classes)), dtype=np.bool_)
    for row, names in enumerate(labels):
        matrix[row, [column[name] for name in names]] = True
    return matrix

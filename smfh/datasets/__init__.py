"""Data sets, one module for each, and DATASETS, the registry of all of them."""

from dataclasses import fields
from typing import Any

from smfh.datasets.corruption import CORRUPTIONS, corrupt
from smfh.datasets.emoji import Emoji
from smfh.datasets.nus_wide import NusWide
from smfh.datasets.pascal import PascalSentence
from smfh.datasets.planted import Planted
from smfh.datasets.shared_mat import IaprTc12, MirFlickr
from smfh.datasets.source import DatasetCard, DatasetSource, Loaded, OnProgress, found_files
from smfh.datasets.splits import SPLIT_FORMATS, carve_validation, read_split, validation_as_queries
from smfh.datasets.synthetic import Synthetic
from smfh.datasets.user_data import UserDataset
from smfh.datasets.wiki import Wiki
from smfh.types import unknown

DATASETS: dict[str, type[DatasetSource]] = {
    source.name: source for source in (Emoji, Wiki, PascalSentence, NusWide, MirFlickr, IaprTc12, Synthetic, Planted)
}


def load_set(source: DatasetSource, on_progress: OnProgress = None) -> Loaded:
    """Load a data set with its default split; a module-level function, so that workers can call it."""
    return source.load(on_progress=on_progress)


def make_source(name: str, **options: Any) -> DatasetSource:
    """Create the source of a registered data set; options that are not given take their default values."""
    if name not in DATASETS:
        raise unknown("data set", name, DATASETS)
    known = {f.name for f in fields(DATASETS[name])}
    if invalid := [option for option in options if option not in known]:
        raise unknown(f"option of {name}", invalid[0], sorted(known) or ["none"])
    return DATASETS[name](**options)

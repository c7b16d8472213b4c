"""The data sets, one loader a file, and DATASETS, where each is entered once."""

from smfh.datasets.emoji import Emoji
from smfh.datasets.nus_wide import NusWide
from smfh.datasets.pascal import PascalSentence
from smfh.datasets.planted import Planted
from smfh.datasets.source import DatasetCard, DatasetSource, OnProgress, data_root, found_files
from smfh.datasets.splits import carve_validation, read_split, validation_as_queries
from smfh.datasets.synthetic import Synthetic
from smfh.datasets.wiki import Wiki

DATASETS: dict[str, type[DatasetSource]] = {
    source.name: source for source in (Emoji, Wiki, PascalSentence, NusWide, Synthetic, Planted)
}

__all__ = [
    "DATASETS",
    "DatasetCard",
    "DatasetSource",
    "Emoji",
    "NusWide",
    "OnProgress",
    "PascalSentence",
    "Planted",
    "Synthetic",
    "Wiki",
    "carve_validation",
    "data_root",
    "found_files",
    "read_split",
    "validation_as_queries",
]

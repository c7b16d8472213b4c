"""The data sets, one loader a file, and DATASETS, where each is entered once."""

from smfh.datasets.planted import Planted
from smfh.datasets.source import DatasetCard, DatasetSource, data_root
from smfh.datasets.splits import carve_validation, read_split, validation_as_queries
from smfh.datasets.wiki import Wiki

DATASETS: dict[str, type[DatasetSource]] = {source.name: source for source in (Wiki, Planted)}

__all__ = [
    "DATASETS",
    "DatasetCard",
    "DatasetSource",
    "Planted",
    "Wiki",
    "carve_validation",
    "data_root",
    "read_split",
    "validation_as_queries",
]

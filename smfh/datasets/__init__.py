"""The data sets, one loader a file, and DATASETS, where each is entered once."""

from dataclasses import fields
from typing import Any

from smfh.datasets.emoji import Emoji
from smfh.datasets.nus_wide import NusWide
from smfh.datasets.own import MATRIX_FORMATS, OwnData
from smfh.datasets.pascal import PascalSentence
from smfh.datasets.planted import Planted
from smfh.datasets.shared_mat import IaprTc12, MirFlickr
from smfh.datasets.source import DatasetCard, DatasetSource, OnProgress, data_root, found_files
from smfh.datasets.split_files import SPLIT_FORMATS, read_split
from smfh.datasets.splits import carve_validation, validation_as_queries
from smfh.datasets.synthetic import Synthetic
from smfh.datasets.wiki import Wiki
from smfh.types import MultimodalDataset, Split, unknown

DATASETS: dict[str, type[DatasetSource]] = {
    source.name: source
    for source in (Emoji, Wiki, PascalSentence, NusWide, MirFlickr, IaprTc12, Synthetic, Planted)
}


def load_set(source: DatasetSource, on_progress: OnProgress | None = None) -> tuple[MultimodalDataset, Split]:
    """The data set as it usually is, by a function that can be called in another process."""
    return source.load(on_progress=on_progress)


def make_source(name: str, **options: Any) -> DatasetSource:
    """The data set of this name with these options; what is not given keeps its default."""
    if name not in DATASETS:
        raise unknown("data set", name, DATASETS)
    known = {f.name for f in fields(DATASETS[name])}
    if strange := [option for option in options if option not in known]:
        raise unknown(f"option of {name}", strange[0], sorted(known) or ["none"])
    return DATASETS[name](**options)

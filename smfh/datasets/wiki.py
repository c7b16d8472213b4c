"""The Wikipedia benchmark (Rasiwasia et al., 2010) in its own files, with the paper's features."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.io import loadmat

from smfh.datasets.source import DatasetCard, OnProgress, data_root, missing_files, require
from smfh.datasets.splits import resolve_split
from smfh.types import BoolArray, InputError, MultimodalDataset, Split

FOLDER = "wiki"
PARTS = ("trainset_txt_img_cat.list", "testset_txt_img_cat.list")


@dataclass(frozen=True)
class Wiki:
    """2,866 Wikipedia sections with one picture each, in ten classes."""

    name: ClassVar[str] = "wiki"
    card: ClassVar[DatasetCard] = DatasetCard(
        title="Wiki",
        about="Sections of featured Wikipedia articles and their pictures in ten classes: SIFT bags of "
        "visual words for pictures, LDA topics for texts.",
        size="2,866 pairs (2,173 training, 693 queries), 128 + 10 dimensions, 10 classes",
        terms="For research; the source states no licence.",
        origin="It is the archive 'Wikipedia' of the cross-modal retrieval page of the Statistical Visual "
        "Computing Laboratory, UC San Diego.",
        files=("raw_features.mat", *PARTS, "categories.list"),
    )

    def missing(self) -> list[str]:
        return missing_files(self.card, FOLDER)

    def load(
        self, split: str | Split = "default", seed: int = 0, on_progress: OnProgress | None = None
    ) -> tuple[MultimodalDataset, Split]:
        """Training rows first, then the official queries; a random split draws 75 % as the paper does."""
        require(self)
        root = data_root()
        assert root is not None  # noqa: S101, `require` has seen it
        folder = root / FOLDER
        classes = tuple((folder / "categories.list").read_text(encoding="utf-8").split())
        features = loadmat(folder / "raw_features.mat", variable_names=["I_tr", "I_te", "T_tr", "T_te"])
        if absent := {"I_tr", "I_te", "T_tr", "T_te"} - features.keys():
            raise InputError(f"raw_features.mat lacks {', '.join(sorted(absent))}.")
        image = np.vstack([features["I_tr"], features["I_te"]]).astype(np.float32)
        text = np.vstack([features["T_tr"], features["T_te"]]).astype(np.float32)
        labels = [read_labels(folder / part, classes) for part in PARTS]
        data = MultimodalDataset("wiki", {"image": image, "text": text}, np.vstack(labels), classes)
        rows = np.arange(len(data))
        official = Split(train=rows[: len(labels[0])], queries=rows[len(labels[0]) :])
        return data, resolve_split(split, seed, len(data), official)


def read_labels(path: Path, classes: tuple[str, ...]) -> BoolArray:
    """The third, tab-separated column: the class of each row, counted from 1."""
    lines = path.read_text(encoding="utf-8").splitlines()
    problems, numbers = [], []
    for row, line in enumerate(lines, start=1):
        column = line.split("\t")[2:3]
        if column and column[0].strip().isdecimal() and 1 <= int(column[0]) <= len(classes):
            numbers.append(int(column[0]) - 1)
        else:
            problems.append(
                f"{path.name}, line {row}: expected text, image and a class from 1 to {len(classes)}."
            )
    if problems:
        raise InputError(problems)
    return np.eye(len(classes), dtype=np.bool_)[numbers]

"""What the features of a data set allow, measured once: its key, its file, and what measuring it takes."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from smfh.ceiling import Ceiling
from smfh.ceiling.classifiers import FOLDS, LEAVES, LOGISTIC, SUPPORT, TREES, WIDTHS, has_one_class
from smfh.ceiling.measure import MOST_ROWS
from smfh.ceiling.ranking import MOST_QUERIES
from smfh.files import guarded, read_json, read_text
from smfh.files.whole import write_whole
from smfh.metrics import AP_DEFINITIONS
from smfh.runs.limits import Cost, Limits
from smfh.runs.scores import finite
from smfh.types import InputError, MultimodalDataset, Split

VERSION = 1  # of what is measured, and of the file; to be raised when either changes
MAX_BYTES = 1 << 24

# Seconds on two cores. What they add up to was from once to three times of what was measured, on Emoji, on
# Wiki and on 1,000 to 5,000 made-up items of 10 to 100 classes, and so was the memory.
LOGISTIC_SECONDS = 3e-7  # of a row, a dimension and a class, in all steps of a fit
ROW_SECONDS, CLASS_SECONDS = 2e-6, 3e-7  # of a row in a tree, and of a class of many labels in it
PAIR_SECONDS, PAIR_DIMENSIONS = 2.5e-10, 50  # of two rows and a dimension, and what the pair itself takes
RANK_SECONDS = 1.2e-7  # of an item of a ranking
MIXTURES = 7  # of three families
NODE_BYTES, WORK_BYTES = (
    64,
    200 << 20,
)  # of a node of a tree without its classes; blocks of a ranking, kernels


@dataclass(frozen=True)
class CeilingKey:
    """What decides the outcome, and whose it is."""

    data: str  # fingerprint
    split: str  # fingerprint
    owner: str = ""  # of private data

    @property
    def id(self) -> str:
        """SHA-256 of all that decides the outcome; the name of the file."""
        return hashlib.sha256(f"{VERSION} {self.data} {self.split}".encode()).hexdigest()


def ceiling_key(data: MultimodalDataset, split: Split, owner: str = "") -> CeilingKey:
    return CeilingKey(data.fingerprint, split.fingerprint, owner)


def write_ceiling(path: Path, ceiling: Ceiling) -> None:
    """As JSON, whole or not at all."""
    searches = [{"search": search, "scores": scores} for search, scores in ceiling.scores.items()]
    text = json.dumps({"searches": searches, "told": ceiling.told})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda file: file.write(text.encode()))


def read_ceiling(path: Path) -> Ceiling | None:
    """What the file says, every number looked at; None where it is not there or is damaged."""
    if not path.is_file():
        return None
    try:
        with guarded(path.name):
            said = read_json(read_text(path, max_bytes=MAX_BYTES))
            scores = {}
            for one in said["searches"]:
                source, target, protocol = map(str, one["search"])
                figures = {name: finite(one["scores"][name]) for name in AP_DEFINITIONS}
                scores[source, target, protocol] = figures
            return Ceiling(scores, tuple(map(str, said["told"])))
    except InputError:
        return None


def estimate_ceiling(data: MultimodalDataset, split: Split) -> Cost:
    """Of n rows with d dimensions and c classes, over all modalities: ndc for logistic regression, nc for
    trees with a leaf for every other row, n²d for the kernels of an SVM, and the rankings that choose."""
    n, c, all_rows = min(len(split.train), MOST_ROWS), data.labels.shape[1], len(split.train)
    is_one = has_one_class(data.labels[split.train])
    outcomes = 1 if is_one else 2  # of trees with many labels: no and yes, for each class
    supports = len(SUPPORT) * len(WIDTHS) if is_one else 0
    settings = len(LOGISTIC) + len(LEAVES) + supports
    seconds = RANK_SECONDS * 2 * len(data.modalities) * min(len(split.queries), MOST_QUERIES) * all_rows
    memory = WORK_BYTES + 8.0 * all_rows * c
    for X in data.modalities.values():
        d = X.nnz / max(X.shape[0], 1) if hasattr(X, "nnz") else X.shape[1]  # stored of an item
        seconds += LOGISTIC_SECONDS * FOLDS * len(LOGISTIC) * n * d * c
        seconds += (ROW_SECONDS + CLASS_SECONDS * c * (outcomes - 1)) * FOLDS * len(LEAVES) * TREES * n
        seconds += PAIR_SECONDS * FOLDS * (1 + FOLDS) * supports * n * n * (d + PAIR_DIMENSIONS)
        seconds += RANK_SECONDS * (settings + MIXTURES) * min(n, MOST_QUERIES) * n
        memory += 24 * n * d + TREES * n * (NODE_BYTES + 8 * c * outcomes)
    return Cost(memory, seconds)


def check_ceiling(data: MultimodalDataset, split: Split, limits: Limits) -> None:
    """Refuse to measure what would take more than is taken on, with the figure."""
    cost = estimate_ceiling(data, split)
    if not limits.allow(cost):
        raise InputError(
            f"Classifiers on these features would take {cost}; they may take {limits} here: "
            "take fewer items, dimensions or classes."
        )

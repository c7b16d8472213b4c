"""SMFH Explorer: supervised cross-modal hashing as a library."""

from smfh.datasets import DATASETS
from smfh.evaluation import evaluate
from smfh.hashing import METHODS, SMFH, FittedHasher, SMFHPlus, load_hasher, save_hasher
from smfh.types import InputError, MultimodalDataset, Split

__all__ = [
    "DATASETS",
    "METHODS",
    "SMFH",
    "FittedHasher",
    "InputError",
    "MultimodalDataset",
    "SMFHPlus",
    "Split",
    "evaluate",
    "load_hasher",
    "save_hasher",
]

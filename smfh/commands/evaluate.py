"""Score a saved model on a data set."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from smfh.commands import options
from smfh.commands.fit import data_summary, print_scores
from smfh.engine import hash_codes
from smfh.hashing import FittedHasher, load_hasher
from smfh.retrieval.evaluation import PROTOCOLS, evaluate
from smfh.types import InputError, MultimodalDataset, Split, collect_problems

EPILOG = """examples:
  python -m smfh fit wiki --save wiki64.npz
  python -m smfh evaluate wiki64.npz wiki
  python -m smfh evaluate wiki64.npz wiki --split random --unseen-only"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL.npz", help="a model file written by `fit --save`")
    options.add_data_arguments(parser)
    options.add_options(parser, "ap", "distance", "json")
    add(
        "--unseen-only",
        action="store_true",
        help="use the held-out items as database; the split may then differ from the one used for training",
    )


def run(arguments: Namespace) -> None:
    hasher, (dataset, rows) = collect_problems(
        lambda: load_hasher(Path(arguments.model)), lambda: options.chosen_data(arguments)
    )
    data, split = dataset.load(rows, arguments.split_seed)
    check_data(hasher, data, None if arguments.unseen_only else split, ", or --unseen-only")
    protocols = ["unseen"] if arguments.unseen_only else list(PROTOCOLS)
    scores = {
        (a, b): [evaluate(hasher, data, split, a, b, one, arguments.distance) for one in protocols]
        for a, b in hasher.directions
    }
    print_scores(hasher, data_summary(data, split), hash_codes(hasher.database_codes.values()), scores, arguments)


def check_data(hasher: FittedHasher, data: MultimodalDataset, split: Split | None, hint: str = "") -> None:
    """Raise InputError if the data lacks a modality of the model or, given a split, has other training items."""
    if absent := [name for name in hasher.modalities if name not in data.modalities]:
        raise InputError(f"The model encodes {', '.join(absent)}; {data.name} has {', '.join(data.modalities)}.")
    if split is not None and data.take(split.train).fingerprint != hasher.trained_on:
        raise InputError(
            f"The model was not trained on the training items of {data.name} with this split. "
            f"Pass the same --split and --option that were used for training{hint}."
        )

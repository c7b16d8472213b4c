"""evaluate: score a saved model on a data set."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from smfh.commands import options
from smfh.commands.fit import report
from smfh.evaluation import PROTOCOLS
from smfh.hashing import FittedHasher, load_hasher
from smfh.types import InputError, MultimodalDataset, Split, collect_problems

EPILOG = """examples:
  python -m smfh fit wiki --save wiki64.npz
  python -m smfh evaluate wiki64.npz wiki
  python -m smfh evaluate wiki64.npz wiki --split random --unseen-only"""


def add_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL.npz", help="a model that `fit --save` wrote")
    options.add_data_arguments(parser)
    options.add_metric_argument(parser)
    add(
        "--unseen-only",
        action="store_true",
        help="search only the queries' own rows, encoded anew; the training items are not needed",
    )
    add("--json", action="store_true", help="print one JSON object instead of a table")


def run(arguments: Namespace) -> None:
    hasher, (source, rows) = collect_problems(
        lambda: load_hasher(Path(arguments.model)), lambda: options.chosen_data(arguments)
    )
    data, split = source.load(rows, arguments.split_seed)
    check_modalities(hasher, data)
    if not arguments.unseen_only:
        check_rows(hasher, data, split, " or --unseen-only")
    report(hasher, data, split, arguments, ["unseen"] if arguments.unseen_only else list(PROTOCOLS))


def check_modalities(hasher: FittedHasher, data: MultimodalDataset) -> None:
    """Refuse data that the model cannot encode."""
    if absent := [name for name in hasher.modalities if name not in data.modalities]:
        raise InputError(
            f"The model encodes {', '.join(absent)}; {data.name} has {', '.join(data.modalities)}."
        )


def check_rows(hasher: FittedHasher, data: MultimodalDataset, split: Split, way_out: str = "") -> None:
    """Refuse rows that are not those whose codes the model holds."""
    if data.take(split.train).fingerprint != hasher.trained_on:
        raise InputError(
            f"The model was trained on other rows than the training part of {data.name} with this split: "
            f"give the split and options that it was trained with{',' + way_out if way_out else ''}."
        )

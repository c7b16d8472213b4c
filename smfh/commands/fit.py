"""fit: train a method on a data set, score it in every direction, and keep the model."""

import json
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from smfh.commands.options import (
    add_data_arguments,
    add_method_arguments,
    add_metric_argument,
    chosen_method,
    chosen_split,
    dataset_source,
    print_scores,
    score_table,
)
from smfh.evaluation import PROTOCOLS
from smfh.hashing import FittedHasher, HashMethod, save_hasher
from smfh.metrics import AP_DEFINITIONS
from smfh.types import InputError, MultimodalDataset, Split, TrainingStep, collect_problems

EPILOG = """examples:
  python -m smfh fit planted                                   no files needed
  python -m smfh fit wiki --method smfh --bits 32 --alpha 2 --mu 25 -m 1000
  python -m smfh fit wiki --bits 64 --save wiki64.npz          then: python -m smfh evaluate wiki64.npz wiki
  python -m smfh fit wiki --split rows.npz --json              row numbers `train` and `test` of your own"""
COLUMNS = (
    ("map", "mAP"),
    ("map_all", "mAP, all ranks"),
    ("p_at_100", "P@100"),
    ("map_tie_aware", "ties averaged"),
    ("map_worst", "ties at worst"),
    ("map_best", "ties at best"),
    ("chance", "chance"),
    ("map_unseen", "mAP unseen"),
    ("chance_unseen", "chance unseen"),
)


def add_arguments(parser: ArgumentParser) -> None:
    add_data_arguments(parser)
    add_method_arguments(parser, default="smfh-plus")
    add_metric_argument(parser)
    parser.add_argument("--save", metavar="MODEL.npz", help="write the trained model there")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def run(arguments: Namespace) -> None:
    method, source, rows, save = collect_problems(
        lambda: chosen_method(arguments),
        lambda: dataset_source(arguments),
        lambda: chosen_split(arguments),
        lambda: None if arguments.save is None else _writable(Path(arguments.save)),
    )
    data, split = source.load(rows, arguments.split_seed)
    hasher = train(method, data.take(split.train))
    if save is not None:
        save_hasher(hasher, save)
    report(hasher, data, split, arguments.ap, as_json=arguments.json)


def train(method: HashMethod, data: MultimodalDataset) -> FittedHasher:
    """Fit with a progress bar on a terminal."""
    with tqdm(total=method.steps, desc=method.title, unit="step", disable=not sys.stderr.isatty()) as bar:

        def show(step: TrainingStep) -> None:
            bar.set_postfix(phase=step.phase, objective=f"{step.objective:.4g}")
            bar.update()

        return method.fit(data, on_step=show)


def report(hasher: FittedHasher, data: MultimodalDataset, split: Split, ap: str, as_json: bool) -> None:
    """The scores with their definition, for people or for programs."""
    scores, definition = score_table(hasher, data, split, ap), AP_DEFINITIONS[ap]
    summary: dict[str, Any] = {
        "dataset": data.name,
        "method": hasher.method.name,
        "bits": hasher.bits,
        "seed": hasher.method.seed,
        "seconds": hasher.seconds,
        "parameters": asdict(hasher.method),
        "items": {"train": len(split.train), "queries": len(split.queries)},
        "definition": definition.words,
        "scores": scores,
    }
    if as_json:
        print(json.dumps(summary, indent=2))
        return
    print(
        f"{data.name}: {len(split.train):,} training items, {len(split.queries):,} queries, "
        f"{data.labels.shape[1]} classes\n"
        f"{hasher.method.title}, {hasher.bits} bits, seed {hasher.method.seed}, "
        f"trained in {hasher.seconds:.2f} s\n"
    )
    print_scores(scores, COLUMNS)
    print(f"\n{definition.label}: {definition.words}")
    print(f"mAP, P@100, ties: {PROTOCOLS['training']}\nunseen: {PROTOCOLS['unseen']}")
    print("One split and one seed; ties stand in database order unless said otherwise.")
    for direction, row in scores.items():
        if without := row["queries_without_relevant"]:
            print(f"{direction}: {without:.0f} queries have nothing relevant in the database and count as 0.")


def _writable(path: Path) -> Path:
    """Refuse before training what cannot be saved after it."""
    if path.suffix != ".npz" or not path.parent.is_dir() or path.is_dir():
        raise InputError(f"--save needs a file name that ends in .npz in a folder that exists; got {path}.")
    return path

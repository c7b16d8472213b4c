"""fit: train a method on a data set, score it in every direction, and keep the model."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from smfh.commands import options
from smfh.evaluation import PROTOCOLS, evaluate
from smfh.hashing import FittedHasher, HashMethod, save_hasher
from smfh.metrics import AP_DEFINITIONS
from smfh.types import MultimodalDataset, Split, TrainingStep, collect_problems

EPILOG = """examples:
  python -m smfh fit planted                                   no files needed
  python -m smfh fit wiki --method smfh --bits 32 --alpha 2 --mu 25 -m 1000
  python -m smfh fit wiki --bits 64 --save wiki64.npz          then: python -m smfh evaluate wiki64.npz wiki
  python -m smfh fit mine.mat                                  your own, as I_tr, I_te, T_tr, T_te, L_tr, L_te
  python -m smfh fit wiki --split rows.npz --json              row numbers `train` and `test` of your own"""
COLUMNS = {
    "map": "mAP",
    "map_all": "mAP, all ranks",
    "p_at_100": "P@100",
    "map_tie_aware": "ties averaged",
    "map_worst": "ties at worst",
    "map_best": "ties at best",
    "chance": "chance",
    "map_unseen": "mAP unseen",
    "chance_unseen": "chance unseen",
}


def add_arguments(parser: ArgumentParser) -> None:
    options.add_data_arguments(parser)
    options.add_method_arguments(parser, default="smfh-plus")
    options.add_metric_argument(parser)
    parser.add_argument("--save", metavar="MODEL.npz", help="write the trained model there")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def run(arguments: Namespace) -> None:
    method, (source, rows), save = collect_problems(
        lambda: options.chosen_method(arguments),
        lambda: options.chosen_data(arguments),
        lambda: options.writable_path(arguments.save, "--save", ".npz"),
    )
    data, split = source.load(rows, arguments.split_seed)
    hasher = train(method, data.take(split.train))
    if save is not None:
        save_hasher(hasher, save)
    report(hasher, data, split, arguments)


def train(method: HashMethod, data: MultimodalDataset) -> FittedHasher:
    """Fit with a progress bar on a terminal."""
    with options.progress_bar(method.steps, "step", desc=method.title) as bar:

        def show(step: TrainingStep) -> None:
            bar.set_postfix(phase=step.phase, objective=f"{step.objective:.4g}")
            bar.update()

        return method.fit(data, on_step=show)


def report(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    arguments: Namespace,
    protocols: Sequence[str] = tuple(PROTOCOLS),
) -> None:
    """Print the scores with their definition, for people or for programs."""
    method, definition = hasher.method, AP_DEFINITIONS[arguments.ap]
    scores = score_table(hasher, data, split, arguments.ap, protocols)
    summary: dict[str, Any] = {
        "dataset": data.name,
        "method": method.name,
        "bits": hasher.bits,
        "seed": method.seed,
        "seconds": hasher.seconds,
        "parameters": asdict(method),
        "items": {"train": len(split.train), "queries": len(split.queries)},
        "definition": definition.words,
        "scores": scores,
    }
    if arguments.json:
        print(json.dumps(summary, indent=2))
        return
    print(
        f"{data.name}: {len(split.train):,} training items, {len(split.queries):,} queries, "
        f"{data.labels.shape[1]} classes\n"
        f"{method.title}, {hasher.bits} bits, seed {method.seed}, trained in {hasher.seconds:.2f} s\n"
    )
    columns = {key: heading for key, heading in COLUMNS.items() if all(key in row for row in scores.values())}
    print(f"{'':<22}" + "".join(f"{heading:>16}" for heading in columns.values()))
    for direction, row in scores.items():
        print(f"{direction:<22}" + "".join(f"{row[key]:>16.3f}" for key in columns))
    print(f"\n{definition.label}: {definition.words}")
    for protocol in protocols:
        print(f"{'unseen' if protocol == 'unseen' else 'the others'}: {PROTOCOLS[protocol]}")
    print("One split and one seed; ties stand in database order unless said otherwise.")
    for direction, row in scores.items():
        if without := row.get("queries_without_relevant"):
            print(f"{direction}: {without:.0f} queries have nothing relevant in the database and count as 0.")


def score_table(
    hasher: FittedHasher, data: MultimodalDataset, split: Split, ap: str, protocols: Sequence[str]
) -> dict[str, dict[str, float]]:
    """The figures of every direction `source->target`, by either protocol, for people and programs."""
    table: dict[str, dict[str, float]] = {}
    for source, target in hasher.directions:
        row = table[f"{source}->{target}"] = {}
        for protocol in protocols:
            scores = evaluate(hasher, data, split, source, target, protocol)
            precision, suffix = scores.average_precision[ap], "" if protocol == "training" else "_unseen"
            row |= {
                f"map{suffix}": precision.mean,
                f"map_all{suffix}": scores.average_precision["full"].mean,
                f"p_at_100{suffix}": scores.precision_at_100,
                f"map_tie_aware{suffix}": precision.tie_aware,
                f"map_worst{suffix}": precision.worst,
                f"map_best{suffix}": precision.best,
                f"chance{suffix}": precision.chance,
                f"queries_without_relevant{suffix}": scores.queries_without_relevant,
            }
    return table

"""fit: train a method on a data set, score it in every direction, and keep the model."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from math import isfinite
from typing import Any

from smfh.cluster import database_sha256, find_workers, fit_shards, score_shards
from smfh.commands import options
from smfh.datasets import DATASETS
from smfh.evaluation import PROTOCOLS, evaluate
from smfh.hashing import FittedHasher, HashMethod, save_hasher
from smfh.metrics import AP_DEFINITIONS, Scores
from smfh.types import InputError, MultimodalDataset, OnStep, Split, TrainingStep, collect_problems

EPILOG = """examples:
  python -m smfh fit planted                                   no files needed
  python -m smfh fit wiki --method smfh --bits 32 --alpha 2 --mu 25 -m 1000
  python -m smfh fit wiki --bits 64 --save wiki64.npz          then: python -m smfh evaluate wiki64.npz wiki
  python -m smfh fit mine.mat                                  your own, as I_tr, I_te, T_tr, T_te, L_tr, L_te
  python -m smfh fit wiki --split rows.npz --json              row numbers `train` and `test` of your own
  python -m smfh fit --shards shards --method smfh --workers 4 out of core, on this machine
  python -m smfh fit --shards shards --cluster tls://host:8786 --resume        on a Dask cluster"""
SHARDS_ONLY = {"workers": None, "worker_gb": None, "cluster": None, "resume": False}
DATA_ONLY = {"option": [], "split": "default", "split_seed": 0, "data": None}
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
    options.add_data_arguments(parser, optional=True)
    options.add_method_arguments(parser, default="smfh-plus")
    options.add_metric_argument(parser)
    add = parser.add_argument_group("shards, as `python -m smfh shard` writes them").add_argument
    add("--shards", metavar="DIR", help="train on these, wherever they are, instead of a data set in memory")
    add("--workers", type=int, metavar="N", help="processes of this machine (default: one for each core)")
    add("--worker-gb", type=float, metavar="G", help="memory that each of them may take for its data")
    add("--cluster", metavar="ADDRESS", help="a Dask scheduler: tls://HOST:PORT, or tcp:// on this machine")
    add("--resume", action="store_true", help="go on from the last whole iteration of a fit that broke off")
    parser.add_argument("--save", metavar="MODEL.npz", help="write the trained model there")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def run(arguments: Namespace) -> None:
    if arguments.shards is not None:
        run_on_shards(arguments)
        return
    if given := given_options(arguments, SHARDS_ONLY):
        raise InputError(f"{', '.join(given)}: for --shards DIR alone; a data set in memory trains here.")
    if arguments.dataset is None:
        raise InputError(f"Name a data set ({', '.join(DATASETS)}), a file, or --shards DIR.")
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


def given_options(arguments: Namespace, defaults: Mapping[str, Any]) -> list[str]:
    """Those of these options that are not as they are where nothing is said."""
    said = {name: getattr(arguments, name) for name in defaults}
    return [f"--{name.replace('_', '-')}" for name, value in said.items() if value != defaults[name]]


def run_on_shards(arguments: Namespace) -> None:
    named = [arguments.dataset] if arguments.dataset is not None else []
    if given := named + given_options(arguments, DATA_ONLY):
        raise InputError(f"--shards holds the data and their split already; leave out {', '.join(given)}.")
    method, save = collect_problems(
        lambda: options.chosen_method(arguments),
        lambda: options.writable_path(arguments.save, "--save", ".npz"),
    )
    most = None if arguments.worker_gb is None else round_bytes(arguments.worker_gb)
    workers = find_workers(arguments.workers, arguments.cluster, most)
    try:
        with shown(method) as show:
            fit = fit_shards(method, arguments.shards, workers, arguments.resume, show, tell_resumed)
        if save is not None:
            save_hasher(fit.hasher, save)
        scores = score_shards(fit, workers)
    finally:
        workers.close()
    items = {"train": fit.manifest.items, "queries": fit.manifest.queries.rows}
    found = {f"{s}->{t}": [scores[s, t, p] for p in PROTOCOLS] for s, t in fit.hasher.directions}
    classes, sha256 = len(fit.manifest.sizes), fit.codes_sha256
    tell(fit.hasher, fit.manifest.name, items, classes, sha256, found, arguments, fit.resumed)


def round_bytes(gigabytes: float) -> int:
    if not isfinite(gigabytes):
        raise InputError(f"--worker-gb must be a number of gigabytes; got {gigabytes}.")
    return round(gigabytes * 1e9)


def tell_resumed(passes: int) -> None:
    """Say where a fit goes on."""
    begins = "No such fit was begun: it begins anew."
    print(f"The fit goes on after pass {passes}." if passes else begins, file=sys.stderr)


def train(method: HashMethod, data: MultimodalDataset) -> FittedHasher:
    """Fit with a progress bar on a terminal."""
    with shown(method) as show:
        return method.fit(data, on_step=show)


@contextmanager
def shown(method: HashMethod) -> Iterator[OnStep]:
    """Steps on a progress bar."""
    with options.progress_bar(method.steps, "step", desc=method.title) as bar:

        def show(step: TrainingStep) -> None:
            bar.set_postfix(phase=step.phase, objective=f"{step.objective:.4g}")
            bar.update()

        yield show


def report(
    hasher: FittedHasher,
    data: MultimodalDataset,
    split: Split,
    arguments: Namespace,
    protocols: Sequence[str] = tuple(PROTOCOLS),
) -> None:
    """Print the scores with their definition, for people or for programs."""
    scores = {
        f"{source}->{target}": [evaluate(hasher, data, split, source, target, p) for p in protocols]
        for source, target in hasher.directions
    }
    items = {"train": len(split.train), "queries": len(split.queries)}
    sha256 = database_sha256(hasher.database_codes)
    tell(hasher, data.name, items, data.labels.shape[1], sha256, scores, arguments)


def tell(
    hasher: FittedHasher,
    name: str,
    items: Mapping[str, int],
    classes: int,
    codes_sha256: str,
    found: Mapping[str, Sequence[Scores]],
    arguments: Namespace,
    resumed: int | None = None,
) -> None:
    """The scores of every direction `source->target`, wherever they were found; of a fit on shards also how
    many of its passes were done before."""
    method, definition = hasher.method, AP_DEFINITIONS[arguments.ap]
    scores = {direction: score_row(own, arguments.ap) for direction, own in found.items()}
    protocols = [own.protocol for own in next(iter(found.values()))]
    summary: dict[str, Any] = {
        "dataset": name,
        "method": method.name,
        "bits": hasher.bits,
        "seed": method.seed,
        "seconds": hasher.seconds,
        "parameters": asdict(method),
        "items": items,
        "codes_sha256": codes_sha256,
        "definition": definition.words,
        "scores": scores,
    }
    if resumed is not None:
        summary["resumed"] = resumed
    if arguments.json:
        print(json.dumps(summary, indent=2))
        return
    print(
        f"{name}: {items['train']:,} training items, {items['queries']:,} queries, {classes} classes\n"
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


def score_row(found: Sequence[Scores], ap: str) -> dict[str, float]:
    """The figures of a direction by either protocol, for people and programs."""
    row: dict[str, float] = {}
    for scores in found:
        precision, suffix = scores.average_precision[ap], "" if scores.protocol == "training" else "_unseen"
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
    return row

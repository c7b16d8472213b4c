"""Train a method on a data set and score it in every direction.

A run that is already saved is used instead of training again, whether this command or a page trained it, and
a new run appears on the Runs page. Runs on a file of your own, and runs with --fresh, are not saved.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from math import isfinite
from typing import Any, NamedTuple

import pandas as pd

from smfh.commands import options
from smfh.datasets import DATASETS, UserDataset
from smfh.engine import find_workers, fit_shards, hash_codes, score_shards
from smfh.hamming import DISTANCES
from smfh.hashing import FittedHasher, HashMethod, save_hasher
from smfh.metrics import AP_DEFINITIONS, GRADED, PAIR_RETRIEVAL, Scores
from smfh.retrieval.evaluation import PROTOCOLS
from smfh.runs import RunStore, find_or_train
from smfh.types import InputError, MultimodalDataset, OnStep, Split, TrainingStep, collect_problems

EPILOG = """examples:
  python -m smfh fit planted                                   no files needed
  python -m smfh fit wiki --method smfh --bits 32 --alpha 2 --mu 25 -m 1000
  python -m smfh fit wiki --bits 64 --save wiki64.npz          then: python -m smfh evaluate wiki64.npz wiki
  python -m smfh fit mine.mat                                  your own: I_tr, I_te, T_tr, T_te, L_tr, L_te
  python -m smfh fit wiki --split rows.npz --json              your own row numbers `train` and `test`
  python -m smfh fit --shards shards --method smfh --workers 4   more than fits in memory
  python -m smfh fit --shards shards --cluster tls://host:8786 --resume   on a Dask cluster"""
SHARDS_ONLY = {"workers": None, "worker_gb": None, "cluster": None, "resume": False}
DATA_ONLY = {"option": [], "split": "default", "split_seed": 0, "data": None, "fresh": False}
COLUMNS = {
    "map": "mAP",
    "map_all": "mAP, all ranks",
    "p_at_100": "P@100",
    "ndcg_at_100": "NDCG@100",
    "map_tie_aware": "ties averaged",
    "map_worst": "ties at worst",
    "map_best": "ties at best",
    "chance": "chance",
    "map_unseen": "mAP unseen",
    "chance_unseen": "chance unseen",
    "distinct_codes": "codes",
    "distinct_codes_unseen": "codes unseen",
    **{name: f"{GRADED[name][0]} of partner" for name in PAIR_RETRIEVAL},
}
NO_LABELS = "The data has no labels: only the rank of a query's matching item is scored."
Direction = tuple[str, str]  # modality of the queries, modality that is searched


def add_arguments(parser: ArgumentParser) -> None:
    options.add_data_arguments(parser, optional=True)
    options.add_method_arguments(parser, default="smfh-plus")
    options.add_options(parser, "ap", "distance", "json")
    add = parser.add_argument_group("shards, written by `python -m smfh shard`").add_argument
    add("--shards", metavar="DIR", help="train on these shards instead of a data set in memory")
    add("--workers", type=int, metavar="N", help="worker processes on this machine (default: one per core)")
    add("--worker-gb", type=float, metavar="G", help="memory limit for the data of each worker, in gigabytes")
    add("--cluster", **options.SHARED["cluster"])
    add("--resume", action="store_true", help="continue an interrupted fit after its last complete iteration")
    add = parser.add_argument
    add("--save", metavar="MODEL.npz", help="write the trained model to this file")
    add("--fresh", "--no-save", action="store_true", help="train again, and do not save the run")


def run(arguments: Namespace) -> None:
    if arguments.shards is not None:
        run_on_shards(arguments)
        return
    if given := given_options(arguments, SHARDS_ONLY):
        raise InputError(
            f"{', '.join(given)} can be used only with --shards DIR; other data is trained in this process."
        )
    if arguments.dataset is None:
        raise InputError(f"Name a data set ({', '.join(DATASETS)}), a file, or --shards DIR.")
    method, (source, rows), save = collect_problems(
        lambda: options.chosen_method(arguments),
        lambda: options.chosen_data(arguments),
        lambda: options.output_path(arguments.save, "--save", ".npz"),
    )
    data, split = options.load(source, rows, arguments.split_seed)
    store = None if arguments.fresh or isinstance(source, UserDataset) else RunStore()
    steps: list[TrainingStep] = []
    with show_steps(method, steps) as show:
        trained = find_or_train(store, source, method, data, split, show)
    if not steps:
        print("Using the saved run of these settings; --fresh trains it again.", file=sys.stderr)
    hasher = trained.hasher
    if save is not None:
        save_hasher(hasher, save)
    scores = {
        way: [trained.scores(*way, protocol, arguments.distance) for protocol in PROTOCOLS] for way in hasher.directions
    }
    print_scores(hasher, data_summary(data, split), hash_codes(hasher.database_codes.values()), scores, arguments)


def run_on_shards(arguments: Namespace) -> None:
    """Train on shards with local workers or a cluster, and print the scores of the model."""
    named = [arguments.dataset] if arguments.dataset is not None else []
    if given := named + given_options(arguments, DATA_ONLY):
        raise InputError(f"--shards already has the data and its split; leave out {', '.join(given)}.")
    method, save = collect_problems(
        lambda: options.chosen_method(arguments), lambda: options.output_path(arguments.save, "--save", ".npz")
    )
    if (gigabytes := arguments.worker_gb) is not None and not isfinite(gigabytes):
        raise InputError(f"--worker-gb must be a number of gigabytes; got {gigabytes}.")
    max_bytes = None if gigabytes is None else round(gigabytes * 1e9)
    workers = find_workers(arguments.workers, arguments.cluster, max_bytes)

    def print_resumed(passes: int) -> None:
        start = "No interrupted fit found: starting from the beginning."
        print(f"The fit continues after pass {passes}." if passes else start, file=sys.stderr)

    try:
        with show_steps(method, []) as show:
            fit = fit_shards(method, arguments.shards, workers, arguments.resume, show, print_resumed)
        if save is not None:
            save_hasher(fit.hasher, save)
        found = score_shards(fit, workers, arguments.distance)
    finally:
        workers.close()
    manifest = fit.manifest
    summary = DataSummary(manifest.name, manifest.items, manifest.queries.rows, len(manifest.sizes))
    scores = {way: [found[*way, protocol] for protocol in PROTOCOLS] for way in fit.hasher.directions}
    print_scores(fit.hasher, summary, fit.codes_sha256, scores, arguments, fit.resumed)


def given_options(arguments: Namespace, defaults: Mapping[str, Any]) -> list[str]:
    """Return the options, as written on the command line, whose values differ from these defaults."""
    values = {name: getattr(arguments, name) for name in defaults}
    return [f"--{name.replace('_', '-')}" for name, value in values.items() if value != defaults[name]]


@contextmanager
def show_steps(method: HashMethod, steps: list[TrainingStep]) -> Iterator[OnStep]:
    """Yield a callback that shows training steps on a progress bar and appends them to `steps`."""
    with options.progress_bar(method.steps, "step", desc=method.title) as bar:

        def show(step: TrainingStep) -> None:
            bar.set_postfix(phase=step.phase, objective=f"{step.objective:.4g}")
            bar.update()
            steps.append(step)

        yield show


class DataSummary(NamedTuple):
    """Summary of a data set: name, numbers of training items, queries and classes, origin of its labels."""

    name: str
    training_items: int
    queries: int
    classes: int
    label_origin: str = ""


def data_summary(data: MultimodalDataset, split: Split) -> DataSummary:
    origin = data.label_origin if data.has_labels else NO_LABELS
    classes = data.labels.shape[1] if data.has_labels else 0
    return DataSummary(data.name, len(split.train), len(split.queries), classes, origin)


def print_scores(
    hasher: FittedHasher,
    data: DataSummary,
    codes_sha256: str,
    scores: Mapping[Direction, Sequence[Scores]],
    arguments: Namespace,
    resumed: int | None = None,
) -> None:
    """Print the scores of each direction and protocol as a table or as JSON.

    `resumed` is the number of passes that a fit on shards had completed before it was continued.
    """
    method, definition = hasher.method, AP_DEFINITIONS[arguments.ap]
    note = hasher.trace[-1].note if hasher.trace else ""
    rows = dict[str, dict[str, float]]()
    for (source, target), one in ((way, one) for way, own in scores.items() for one in own):
        precision, row = one.average_precision[arguments.ap], rows.setdefault(f"{source}->{target}", {})
        found = {
            "map": precision.mean,
            "map_all": one.average_precision["full"].mean,
            "p_at_100": one.precision_at_100,
            "ndcg_at_100": one.ndcg_at_100,
            "map_tie_aware": precision.tie_aware,
            "map_worst": precision.worst,
            "map_best": precision.best,
            "chance": precision.chance,
            "queries_without_relevant": one.queries_without_relevant,
        } | ({} if one.distinct_codes is None else {"distinct_codes": one.distinct_codes})
        suffix = "" if one.protocol == "training" else "_unseen"
        row |= {f"{name}{suffix}": value for name, value in found.items()} | one.pair_retrieval
    if arguments.json:
        summary: dict[str, Any] = {
            "dataset": data.name,
            "method": method.name,
            "bits": hasher.bits,
            "seed": method.seed,
            "seconds": hasher.seconds,
            "parameters": asdict(method),
            "items": {"train": data.training_items, "queries": data.queries},
            "codes_sha256": codes_sha256,
            **({"note": note} if note else {}),
            "definition": definition.words,
            **({"label_origin": data.label_origin} if data.label_origin else {}),
            "distance": arguments.distance,
            "scores": rows,
        }
        options.print_json(summary if resumed is None else summary | {"resumed": resumed})
        return
    print(
        f"{data.name}: {data.training_items:,} training items, {data.queries:,} held-out queries, "
        f"{data.classes} classes\n{f'{data.label_origin}{chr(10)}' if data.label_origin else ''}"
        f"{method.title}, {hasher.bits} bits, seed {method.seed}, trained in {hasher.seconds:.2f} s"
        f"{f'; {note}' if note else ''}\n"
    )
    table = pd.DataFrame.from_dict(rows, orient="index")
    columns = {
        key: heading
        for key, heading in COLUMNS.items()
        if key in table and (data.classes or key.startswith(("recall", "median", "distinct")))
    }
    print(table[list(columns)].rename(columns=columns).to_string(float_format="{:.3f}".format))
    print(f"\n{DISTANCES[arguments.distance]}\n{definition.label}: {definition.words}")
    for label, words in GRADED.values():
        print(f"{label}: {words}")
    for protocol in dict.fromkeys(one.protocol for own in scores.values() for one in own):
        print(f"{'unseen' if protocol == 'unseen' else 'other columns'}: {PROTOCOLS[protocol]}")
    print("One split and one seed; ties are in database order unless the column says otherwise.")
    for direction, row in rows.items():
        if data.classes and (without := row.get("queries_without_relevant")):
            print(f"{direction}: {without:.0f} queries have no relevant item in the database and count as 0.")

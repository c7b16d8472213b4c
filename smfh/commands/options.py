"""Options that several commands share: data set, split, method, output file, and the progress bar."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from smfh.datasets import (
    DATASETS,
    SPLIT_FORMATS,
    DatasetSource,
    Loaded,
    OnProgress,
    UserDataset,
    make_source,
    read_split,
)
from smfh.datasets.user_data import FORMATS
from smfh.datasets.user_pictures import store_path
from smfh.engine import Engine
from smfh.hamming import DISTANCES
from smfh.hashing import METHODS, HashMethod, make_method, preset
from smfh.jobs import Call, here
from smfh.metrics import AP_DEFINITIONS
from smfh.types import InputError, Split, collect_problems, parameters, read_value, unknown

ALIASES = {
    "graph_weight": "--alpha",
    "projection_weight": "--mu",
    "graph_sample": "-m",
    "modality_weights": "--lambda",
    "orthogonality_weight": "--beta",
    "smoothness": "--eta",
    "ridge": "--gamma",
}
PARAMETERS = tuple(dict.fromkeys(name for method in METHODS.values() for name in parameters(method)))


SHARED: Mapping[str, dict[str, Any]] = {  # options of several commands: what `add_argument` takes
    "option": {
        "action": "append",
        "default": [],
        "metavar": "NAME=VALUE",
        "help": "set an option of the data set, such as items=1000 for planted; wrong_labels=0.3, unpaired=0.3, "
        "missing_modality=0.3 or unseen_classes=0.3 for any; of your own data also label_source=files, "
        "topics (of the captions) or none, and topics=NUMBER; can be repeated",
    },
    "encoder": {
        "metavar": "NAME[=FOLDER]",
        "help": "features of your own pictures and captions by clip (CLIP ViT-B/32) or siglip2 instead of the "
        "built-in ones; the model is downloaded, or read from FOLDER. Needs the extra [clip]",
    },
    "split": {
        "default": "default",
        "help": "which items are held out as queries: official, random, or a file (default: official if it exists, "
        "else random). A file has the row numbers `train` and `test` (.npz from 0, .mat from 1), or the columns row "
        "(from 0) and part (.csv, .txt), or the matrices I_tr, I_te, T_tr, T_te, L_tr, L_te, whose rows are then found "
        "in the data set",
    },
    "split-seed": {"type": int, "default": 0, "help": "random seed of a random split (default 0)"},
    "data": {"metavar": "FOLDER", "help": "folder with the benchmark files (default: SMFH_DATA)"},
    "ap": {
        "default": "found",
        "choices": list(AP_DEFINITIONS),
        "help": "the score. found (default, as in the paper): average precision over the top 100, divided by the "
        "number of relevant items among them; capped: divided by the number of all relevant items, at most 100; all: "
        "divided by the number of all relevant items; full: average precision over the whole ranking; precision: "
        "share of relevant items in the top 100",
    },
    "distance": {
        "default": "hamming",
        "choices": list(DISTANCES),
        "help": f"{' '.join(DISTANCES.values())} Default: hamming.",
    },
    "cluster": {
        "metavar": "ADDRESS",
        "help": "train on the workers of this Dask scheduler: tls://HOST:PORT, or tcp:// on this machine",
    },
    "json": {"action": "store_true", "help": "print one JSON object instead of a table"},
}
DATA_OPTIONS = ("option", "split", "split-seed", "data")


def add_options(parser: ArgumentParser, *names: str, **changed: Any) -> None:
    """Add options of SHARED to a command, with the changes that this command needs."""
    for name in names:
        parser.add_argument(f"--{name}", **SHARED[name] | changed)


def add_data_arguments(parser: ArgumentParser, optional: bool = False) -> None:
    """Add the data set as a positional argument, with its options and its split."""
    words = f"one of {', '.join(DATASETS)}, or a folder or file of your own (pictures, matrices)"
    parser.add_argument("dataset", nargs="?" if optional else None, help=words)
    add_options(parser, "encoder", *DATA_OPTIONS)


def add_method_arguments(parser: ArgumentParser, default: str) -> None:
    """Add --method, --preset, and one option for each parameter of any method."""
    presets = _by_value({method.name: ", ".join(method.presets) for method in METHODS.values() if method.presets})
    parser.add_argument("--method", default=default, help=f"one of {', '.join(METHODS)} (default {default})")
    parser.add_argument("--preset", help=f"ready-made settings of the method: {presets}")
    group = parser.add_argument_group("parameters of the methods")
    for name in PARAMETERS:
        owners = [method for method in METHODS.values() if name in parameters(method)]
        defaults = {owner.name: getattr(owner(), name) for owner in owners}
        listed = _by_value({owner: "equal" if value == () else str(value) for owner, value in defaults.items()})
        about = parameters(owners[0])[name]
        flags = [f"--{name.replace('_', '-')}", *([ALIASES[name]] if name in ALIASES else [])]
        group.add_argument(*flags, dest=name, metavar=about.symbol, help=f"{about.help} Default: {listed}.")


def _by_value(values: Mapping[str, str]) -> str:
    """List each value with the methods that have it; if all methods have the same value, return it alone."""
    if len(values) == len(METHODS) and len(set(values.values())) == 1:
        return next(iter(values.values()))
    owners = {value: [name for name in values if values[name] == value] for value in values.values()}
    return "; ".join(f"{value} ({', '.join(names)})" for value, names in owners.items())


def use_data_folder(arguments: Namespace) -> None:
    """Set SMFH_DATA to the folder given by --data; raise InputError if there is no such folder."""
    if arguments.data is not None:
        if not Path(arguments.data).is_dir():
            raise InputError(f"--data needs the folder with the benchmark files; there is no folder {arguments.data}.")
        os.environ["SMFH_DATA"] = arguments.data


def chosen_data(arguments: Namespace) -> tuple[DatasetSource, str | Split]:
    """Return the chosen data set with its options, and the split to load it with."""
    use_data_folder(arguments)
    path = Path(arguments.dataset)
    is_named = arguments.dataset in DATASETS
    is_user = not is_named and (path.exists() or path.suffix.lower() in FORMATS)
    if not is_named and not path.exists() and (is_user or {"/", os.sep} & set(arguments.dataset)):
        raise InputError(f"There is no folder or file {arguments.dataset}.")
    plain = UserDataset(path) if is_user else make_source(arguments.dataset)
    given = dict(text.partition("=")[::2] for text in arguments.option)
    if is_user:
        allowed = (*UserDataset.OPTIONS, *parameters(plain))
        if invalid := [name for name in given if name not in allowed]:
            raise unknown("option of your own data", invalid[0], allowed)
    defaults = {f.name: f.default for f in fields(plain)}
    options = {name: read_value(name, text, defaults.get(name, "")) for name, text in given.items()}
    if encoder := getattr(arguments, "encoder", None):
        if not is_user:
            raise InputError(f"--encoder is for your own pictures; {arguments.dataset} has its features.")
        options["encoder"] = encoder
    source = replace(plain, **options) if is_user else make_source(arguments.dataset, **options)
    return source, chosen_split(arguments, source)


def chosen_split(arguments: Namespace, source: DatasetSource) -> str | Split:
    """Return the split given by --split: a name, or the split read from a file."""
    path = Path(arguments.split)
    is_file = path.suffix.lower() in SPLIT_FORMATS
    return read_split(path, lambda: source.load()[0]) if is_file else str(arguments.split)


def chosen_method(arguments: Namespace) -> HashMethod:
    """Return the method that the options describe; options of parameters override --preset."""
    given = {name: getattr(arguments, name) for name in PARAMETERS}
    texts = {name: text for name, text in given.items() if text is not None}
    return read_parameters(arguments.method, [arguments.preset] if arguments.preset else [], texts)


def read_method(text: str) -> HashMethod:
    """Parse a method with presets and parameters from text such as smfh:wiki:graph_weight=2."""
    name, *parts = text.split(":")
    texts = dict(part.split("=", 1) for part in parts if "=" in part)
    for field, option in (("bits", "--bits"), ("seed", "--seeds")):
        if field in texts:
            raise InputError(f"{text}: {field} is the same for all methods; set it with {option}.")
    return read_parameters(name, [part for part in parts if "=" not in part], texts)


def read_parameters(name: str, presets: Sequence[str], texts: Mapping[str, str]) -> HashMethod:
    """Make a method from presets and then parameters, as text; raise one InputError that lists all problems."""
    defaults = {f.name: f.default for f in fields(make_method(name))}
    values: dict[str, Any] = {}
    method: HashMethod
    *_, method = collect_problems(
        *(lambda choice=choice: values.update(preset(name, choice)) for choice in presets),
        *(
            lambda f=f, text=text: values.update({f: read_value(f, text, defaults.get(f, ""))})
            for f, text in texts.items()
        ),
        lambda: make_method(name, **values),
    )
    return method


@contextmanager
def chosen_call(arguments: Namespace) -> Iterator[tuple[Call, int]]:
    """Yield a function that trains here or on the cluster, and the number of runs that it trains at once."""
    if arguments.cluster is None:
        yield here, 1
        return
    with closing(Engine(arguments.cluster)) as cluster:
        yield cluster.call, cluster.at_once


def check_count(option: str, number: int) -> None:
    """Raise InputError if the value of a counting option is below 1."""
    if number < 1:
        raise InputError(f"{option} must be 1 or more; got {number}.")


def output_path(text: str | None, option: str, *suffixes: str) -> Path | None:
    """Check and return the path of an output file, before any work begins; None if it is not given."""
    if text is None:
        return None
    path = Path(text)
    if (suffixes and path.suffix not in suffixes) or not path.parent.is_dir() or path.is_dir():
        ending = f" that ends in {' or '.join(suffixes)}" if suffixes else ""
        raise InputError(f"{option} needs a file name{ending} in a folder that exists; got {path}.")
    return path


@contextmanager
def show_progress() -> Iterator[OnProgress]:
    """Yield a callback that shows progress and the current step on a progress bar."""
    with progress_bar(1.0, "share", leave=False) as bar:

        def show(share: float, step: str) -> None:
            bar.set_description(step)
            bar.update(share - bar.n)

        yield show


def load(source: DatasetSource, split: str | Split, seed: int) -> Loaded:
    """Load a data set with a progress bar; for a folder of pictures, print where its features are stored."""
    with show_progress() as show:
        loaded = source.load(split, seed, show)
    if not isinstance(source, UserDataset) or source.local_folder is None:
        return loaded
    if (store := store_path(source.local_folder, source.encoder)).exists():
        print(f"The features of the pictures are stored in {store}; you may delete them.", file=sys.stderr)
    return loaded


def progress_bar(total: float, unit: str, **look: Any) -> tqdm:
    """Return a progress bar on standard error, hidden unless standard error is a terminal."""
    return tqdm(total=total, unit=unit, disable=not sys.stderr.isatty(), **look)


def print_json(values: Any) -> None:
    print(json.dumps(values, indent=2, ensure_ascii=False))

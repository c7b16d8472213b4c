"""Options that several commands share: data, split, parameters, files to write; and the progress bar."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm

from smfh.cluster.calls import ClusterCalls
from smfh.datasets import (
    DATASETS,
    MATRIX_FORMATS,
    SPLIT_FORMATS,
    DatasetSource,
    OwnData,
    make_source,
    read_split,
)
from smfh.hashing import METHODS, HashMethod, make_method, preset
from smfh.jobs import Call, here
from smfh.metrics import AP_DEFINITIONS
from smfh.types import InputError, Split, collect_problems, parameters, read_value

ALIASES = {
    "graph_weight": "--alpha",
    "projection_weight": "--mu",
    "graph_sample": "-m",
    "modality_weights": "--lambda",
    "orthogonality_weight": "--beta",
    "smoothness": "--eta",
    "ridge": "--gamma",
}


def add_data_arguments(parser: ArgumentParser, optional: bool = False) -> None:
    own = "or a file of your own (.mat, .npz, .csv, or .zip of pictures)"
    parser.add_argument(
        "dataset", nargs="?" if optional else None, help=f"one of {', '.join(DATASETS)}, {own}"
    )
    add_option_argument(parser)
    add_split_arguments(parser)


def add_option_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the data set, such as items=1000 for planted; may be repeated",
    )


def add_split_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--split",
        default="default",
        help="official, random, or a file: row numbers `train` and `test` in .npz (counted from 0) or .mat "
        "(from 1); a table (.csv, .txt) with the columns row (from 0) and part; or a .mat with I_tr, I_te, "
        "T_tr, T_te, L_tr, L_te whose rows are looked for (default: official if there is one, else random)",
    )
    add("--split-seed", type=int, default=0, help="the draw of a random split (default 0)")
    add("--data", metavar="FOLDER", help="folder with the benchmark files (default: the variable SMFH_DATA)")


def use_data_folder(arguments: Namespace) -> None:
    """Let --data stand in for SMFH_DATA."""
    if arguments.data is not None:
        if not Path(arguments.data).is_dir():
            raise InputError(
                f"There is no folder {arguments.data}; --data names the one with the benchmark files."
            )
        os.environ["SMFH_DATA"] = arguments.data


def chosen_data(arguments: Namespace) -> tuple[DatasetSource, str | Split]:
    """The data set with its options, and the split to load it with."""
    use_data_folder(arguments)
    source = dataset_source(arguments)
    return source, chosen_split(arguments, source)


def chosen_split(arguments: Namespace, source: DatasetSource) -> str | Split:
    """The name of a split, or the rows that a file tells."""
    path = Path(arguments.split)
    is_file = path.suffix.lower() in SPLIT_FORMATS
    return read_split(path, lambda: source.load()[0]) if is_file else str(arguments.split)


def dataset_source(arguments: Namespace) -> DatasetSource:
    """The data set of this name with the options given as NAME=VALUE, or a file of one's own."""
    if (path := Path(arguments.dataset)).suffix.lower() in (".zip", *MATRIX_FORMATS):
        return OwnData(path)
    defaults = {f.name: f.default for f in fields(make_source(arguments.dataset))}
    given = (text.partition("=") for text in arguments.option)
    options = {name: read_value(name, text, defaults.get(name, "")) for name, _, text in given}
    return make_source(arguments.dataset, **options)


def add_method_arguments(parser: ArgumentParser, default: str) -> None:
    """One option for every parameter of any method, described by the method itself."""
    parser.add_argument("--method", default=default, help=f"one of {', '.join(METHODS)} (default {default})")
    parser.add_argument("--preset", help="named values of the method: " + "; ".join(_presets()))
    group = parser.add_argument_group("parameters of the methods")
    for name in _every_parameter():
        owners = [method for method in METHODS.values() if name in parameters(method)]
        about = parameters(owners[0])[name]
        defaults = ", ".join(f"{_default(owner, name)} in {owner.name}" for owner in owners)
        flags = [f"--{name.replace('_', '-')}", *([ALIASES[name]] if name in ALIASES else [])]
        group.add_argument(*flags, dest=name, metavar=about.symbol, help=f"{about.help} Default: {defaults}.")


def _every_parameter() -> list[str]:
    return list(dict.fromkeys(name for method in METHODS.values() for name in parameters(method)))


def _presets() -> list[str]:
    return [f"{', '.join(method.presets)} ({method.name})" for method in METHODS.values() if method.presets]


def _default(method: type[HashMethod], name: str) -> Any:
    default = next(f.default for f in fields(method) if f.name == name)
    return "equal shares" if default == () else default


def chosen_method(arguments: Namespace) -> HashMethod:
    """The method with its preset and, over that, every parameter that was given."""
    given = {name: getattr(arguments, name) for name in _every_parameter()}
    texts = {name: text for name, text in given.items() if text is not None}
    return read_parameters(arguments.method, [arguments.preset] if arguments.preset else [], texts)


def read_parameters(name: str, presets: Sequence[str], texts: Mapping[str, str]) -> HashMethod:
    """The method with these presets and, over them, parameters in words; one error lists all problems."""
    defaults = {f.name: f.default for f in fields(make_method(name))}
    values: dict[str, Any] = {}

    def read(field: str, text: str) -> None:
        values[field] = read_value(field, text, defaults.get(field, ""))

    method: HashMethod
    *_, method = collect_problems(
        *(lambda choice=choice: values.update(preset(name, choice)) for choice in presets),
        *(partial(read, *given) for given in texts.items()),
        lambda: make_method(name, **values),
    )
    return method


def add_metric_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--ap",
        default="found",
        choices=list(AP_DEFINITIONS),
        help="average precision: over the top 100, divided by the relevant items found there (found, as in "
        "the paper), by at most 100 (capped) or by all (all); or over the full ranking (full)",
    )


def add_cluster_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="train on the workers of a Dask scheduler: tls://HOST:PORT, or tcp:// on this machine",
    )


@contextmanager
def chosen_call(arguments: Namespace) -> Iterator[tuple[Call, int]]:
    """How trainings are called, here or on a cluster, and how many of them at once."""
    if arguments.cluster is None:
        yield here, 1
        return
    with closing(ClusterCalls(arguments.cluster)) as cluster:
        yield cluster.call, cluster.at_once


def check_count(option: str, number: int) -> None:
    """Refuse to do something no times."""
    if number < 1:
        raise InputError(f"{option} must be 1 or more; got {number}.")


def writable_path(text: str | None, option: str, suffix: str) -> Path | None:
    """The file to write when the work is done, refused before it begins; None where none is asked for."""
    if text is None:
        return None
    path = Path(text)
    if path.suffix != suffix or not path.parent.is_dir() or path.is_dir():
        raise InputError(
            f"{option} needs a file name that ends in {suffix} in a folder that exists; got {path}."
        )
    return path


def progress_bar(total: float, unit: str, **look: Any) -> tqdm:
    """A bar on standard error where a person watches."""
    return tqdm(total=total, unit=unit, disable=not sys.stderr.isatty(), **look)

"""Options that several commands share: the data, its split, and the parameters of the methods."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from smfh.datasets import DATASETS, DatasetSource, read_split
from smfh.hashing import METHODS, HashMethod, make_method, preset
from smfh.metrics import AP_DEFINITIONS
from smfh.types import InputError, Split, parameters, read_value, together, unknown

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
    parser.add_argument("dataset", nargs="?" if optional else None, help=f"one of {', '.join(DATASETS)}")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the data set, such as items=1000 for planted; may be repeated",
    )
    add_split_arguments(parser)


def add_split_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--split",
        default="default",
        metavar="SPLIT",
        help="official, random, or a .npz file with row numbers `train` and `test` "
        "(default: official where there is one, else random)",
    )
    parser.add_argument("--split-seed", type=int, default=0, help="the draw of a random split (default 0)")
    parser.add_argument(
        "--data", metavar="FOLDER", help="folder with the benchmark files (default: the variable SMFH_DATA)"
    )


def use_data_folder(arguments: Namespace) -> None:
    """Let --data stand in for SMFH_DATA."""
    if arguments.data is not None:
        if not Path(arguments.data).is_dir():
            raise InputError(
                f"There is no folder {arguments.data}; --data names the one with the benchmark files."
            )
        os.environ["SMFH_DATA"] = arguments.data


def chosen_split(arguments: Namespace) -> str | Split:
    use_data_folder(arguments)
    name: str = arguments.split
    return read_split(Path(name)) if name.endswith(".npz") else name


def dataset_source(arguments: Namespace) -> DatasetSource:
    """The data set of this name with the options given as NAME=VALUE."""
    if arguments.dataset not in DATASETS:
        raise unknown("data set", arguments.dataset, DATASETS)
    source = DATASETS[arguments.dataset]
    defaults = {f.name: f.default for f in fields(source)}
    options: dict[str, Any] = {}
    for text in arguments.option:
        name, _, value = text.partition("=")
        if name not in defaults:
            known = ", ".join(defaults) or "none"
            raise InputError(f"{arguments.dataset} has no option {name!r}; there are: {known}.")
        options[name] = read_value(name, value, defaults[name])
    return source(**options)


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
    default = next(f.default for f in fields(method) if f.name == name)  # type: ignore[arg-type]
    return "equal shares" if default == () else default


def chosen_method(arguments: Namespace) -> HashMethod:
    """The method with its preset and, over that, every parameter that was given."""
    if arguments.method not in METHODS:
        raise unknown("method", arguments.method, METHODS)
    values: dict[str, Any] = {}
    defaults = {f.name: f.default for f in fields(METHODS[arguments.method])}  # type: ignore[arg-type]

    def read_preset() -> None:
        if arguments.preset:
            values.update(preset(arguments.method, arguments.preset))

    def read_parameter(name: str) -> None:
        if (text := getattr(arguments, name)) is not None:
            values[name] = read_value(name, text, defaults[name]) if name in defaults else text

    together(
        read_preset,
        *(partial(read_parameter, name) for name in _every_parameter()),
        lambda: make_method(arguments.method, **values),
    )
    return make_method(arguments.method, **values)


def add_metric_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--ap",
        default="found",
        choices=list(AP_DEFINITIONS),
        help="average precision: over the top 100, divided by the relevant items found there (found, as in "
        "the paper), by at most 100 (capped) or by all (all); or over the full ranking (full)",
    )


def print_scores(scores: dict[str, dict[str, float]], columns: Sequence[tuple[str, str]]) -> None:
    """A row a direction; columns are (key, heading)."""
    print(f"{'':<22}" + "".join(f"{heading:>16}" for _, heading in columns))
    for direction, row in scores.items():
        cells = (f"{row[key]:>16.3f}" if key in row else f"{'–':>16}" for key, _ in columns)
        print(f"{direction:<22}" + "".join(cells))

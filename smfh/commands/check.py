"""Check a plug-in: load the file, and test each of its methods and data sets against the contract."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from smfh.datasets import DatasetSource, Planted, make_source
from smfh.hamming import unpack
from smfh.hashing import FittedHasher, HashMethod, make_method
from smfh.hashing.storage import hasher_arrays, hasher_of
from smfh.plugins import VARIABLE, describe_error, load_plugins, plugin_errors
from smfh.retrieval.evaluation import evaluate
from smfh.types import InputError

EPILOG = """examples:
  python -m smfh check my_method.py"""
BITS = 16
Check = tuple[str, Callable[[], str]]  # what must hold; the function returns what is wrong, "" if nothing


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", help="the plug-in, a Python file")


def run(arguments: Namespace) -> None:
    path = Path(arguments.file).absolute()
    os.environ[VARIABLE] = str(path)
    plugin = next(plugin for plugin in load_plugins() if plugin.origin == path.name)
    if plugin.problem:
        raise InputError(f"{plugin.origin} cannot be loaded: {plugin.problem}")
    problems = []
    for name in plugin.methods:
        problems += report(f"method {name}", method_checks(make_method(name, bits=BITS)))
    for name in plugin.datasets:
        problems += report(f"data set {name}", dataset_checks(make_source(name)))
    if problems:
        raise InputError(problems)
    print("All checks passed. Use the file with --plugin, in any command and in the app.")


def report(subject: str, checks: Iterator[Check]) -> list[str]:
    """Run the checks of a method or data set and print each result; return the problems.

    An error ends the checks of this class, since the later ones need what it prevents.
    """
    print(subject)
    problems, has_failed = [], False
    for what, check in checks:
        if has_failed:
            print(f"  – {what} (not checked)")
            continue
        try:
            problem = check()
        except (Exception, SystemExit) as error:  # foreign code can raise anything
            problem, has_failed = describe_error(error), True
        print(f"  {'✗' if problem else '✓'} {what}")
        problems += [f"{subject}: {what}: {problem}"] if problem else []
    return problems


def method_checks(method: HashMethod) -> Iterator[Check]:
    """Yield the checks of a method, which is trained on a small data set with planted classes."""
    data, split = Planted(items=240).load()
    train = data.take(split.train)
    fitted: list[FittedHasher] = []

    def fit() -> str:
        with plugin_errors(method):
            fitted.append(method.fit(train))
        return "" if fitted[0].trace else "learn() must yield a StepReport at least once."

    def has_lengths() -> str:
        for modality, codes in fitted[0].database_codes.items():
            if codes.shape != (len(train), 1) or unpack(codes, BITS).shape[1] != method.bits:
                return f"the codes of {modality} have the shape {codes.shape}; expected {(len(train), 1)}."
        return ""

    def is_repeatable() -> str:
        again = method.fit(train)
        same = all((again.database_codes[t] == fitted[0].database_codes[t]).all() for t in train.modalities)
        return "" if same else "the same seed gave different codes; draw all random numbers from `rng`."

    def encodes_alone() -> str:
        for t, X in data.modalities.items():
            queries = X[split.queries[:5]]
            each = np.concatenate([fitted[0].encode(t, queries[k : k + 1]) for k in range(5)])
            if (each != fitted[0].encode(t, queries)).any():
                return f"rows of {t} get different codes alone and together."
        return ""

    def can_be_saved() -> str:
        stored = hasher_of(hasher_arrays(fitted[0]), "model")
        same = all((stored.database_codes[t] == fitted[0].database_codes[t]).all() for t in train.modalities)
        return "" if same else "a model has different codes after saving and loading."

    def beats_chance() -> str:
        for source, target in fitted[0].directions:
            score = evaluate(fitted[0], data, split, source, target).average_precision["found"]
            if score.mean <= score.chance:
                return f"{source} → {target}: mAP@100 {score.mean:.3f}, by chance {score.chance:.3f}."
        return ""

    def takes_other_lengths() -> str:
        codes = replace(method, bits=70).fit(train).database_codes
        return "" if all(code.shape[1] == 2 for code in codes.values()) else "70 bits need two words."

    yield "it trains on two modalities", fit
    yield "its codes have the requested length", has_lengths
    yield "the same seed gives the same codes", is_repeatable
    yield "an item has the same code alone and among others", encodes_alone
    yield "a model can be saved and loaded", can_be_saved
    yield "it can produce other code lengths", takes_other_lengths
    yield "it finds planted classes better than chance", beats_chance


def dataset_checks(source: DatasetSource) -> Iterator[Check]:
    """Yield the checks of a data set."""

    def loads() -> str:
        if missing := source.missing():
            return " ".join(missing)
        data, split = source.load()
        split.check(len(data))
        overlap = np.intersect1d(split.train, split.queries)
        return f"rows {overlap[:3]} are both training items and queries." if len(overlap) else ""

    def is_repeatable() -> str:
        first, second = (source.load()[0].fingerprint for _ in range(2))
        return "" if first == second else "two loads gave different data; fix the random seed."

    yield "it can be loaded, with a split", loads
    yield "it loads the same data every time", is_repeatable

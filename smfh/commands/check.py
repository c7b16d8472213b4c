"""Check a plug-in: load the file, and test whether its methods and data sets do what the program expects."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from smfh.datasets import DatasetSource, Planted, make_source
from smfh.hashing import FittedHasher, HashMethod, make_method
from smfh.hashing.storage import hasher_arrays, hasher_of
from smfh.plugins import VARIABLE, describe_error, load_plugins, plugin_errors
from smfh.retrieval.evaluation import evaluate
from smfh.types import InputError

EPILOG = """examples:
  python -m smfh check my_method.py"""
BITS, OTHER_BITS = 16, 70  # code lengths of one word and of two
METHOD_CHECKS = (
    "it trains on two modalities",
    "its codes have the requested length",
    "the same seed gives the same codes",
    "an item has the same code alone and among others",
    "a model can be saved and loaded",
    "it can produce other code lengths",
    "it finds planted classes better than chance",
)
DATASET_CHECKS = ("it can be loaded, with a split", "it loads the same data every time")


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
        problems += report(f"method {name}", METHOD_CHECKS, method_problems(make_method(name, bits=BITS)))
    for name in plugin.datasets:
        problems += report(f"data set {name}", DATASET_CHECKS, dataset_problems(make_source(name)))
    if problems:
        raise InputError(problems)
    print("All checks passed. Use the file with --plugin, in any command and in the app.")


def report(subject: str, checks: Sequence[str], found: Iterator[str]) -> list[str]:
    """Print the outcome of each check of one class; return the problems.

    `found` yields the problem that each check finds, "" for none. A check that raises an error is the last one of
    the class, since later checks need its result.
    """
    print(subject)
    problems, has_failed = [], False
    for what in checks:
        if has_failed:
            print(f"  – {what} (not checked)")
            continue
        try:
            problem = next(found)
        except (Exception, SystemExit) as error:  # foreign code can raise anything
            problem, has_failed = describe_error(error), True
        print(f"  {'✗' if problem else '✓'} {what}")
        problems += [f"{subject}: {what}: {problem}"] if problem else []
    return problems


def method_problems(method: HashMethod) -> Iterator[str]:
    """Yield the problem that each of METHOD_CHECKS finds ("" for none); train on a small set with planted classes."""
    data, split = Planted(items=240).load()
    train = data.take(split.train)
    with plugin_errors(method):
        fitted = method.fit(train)

    def has_same_codes(other: FittedHasher) -> bool:
        return all((other.database_codes[t] == fitted.database_codes[t]).all() for t in train.modalities)

    yield "" if fitted.trace else "learn() must yield a StepReport at least once."
    expected = (len(train), 1)
    shapes = {t: codes.shape for t, codes in fitted.database_codes.items()}
    wrong = (f"the codes of {t} have the shape {s}; expected {expected}." for t, s in shapes.items() if s != expected)
    yield next(wrong, "")
    again = has_same_codes(method.fit(train))
    yield "" if again else "the same seed gave different codes; draw all random numbers from `rng`."
    mixed = []
    for t, X in data.modalities.items():
        queries = X[split.queries[:5]]
        alone = np.concatenate([fitted.encode(t, queries[k : k + 1]) for k in range(5)])
        mixed += [t] * bool((alone != fitted.encode(t, queries)).any())
    yield "".join(f"rows of {t} get different codes alone and together." for t in mixed[:1])
    stored = has_same_codes(hasher_of(hasher_arrays(fitted), "model"))
    yield "" if stored else "a model has different codes after saving and loading."
    longer = replace(method, bits=OTHER_BITS).fit(train).database_codes.values()
    yield "" if all(codes.shape[1] == 2 for codes in longer) else f"{OTHER_BITS} bits need two words."
    scores = {way: evaluate(fitted, data, split, *way).average_precision["found"] for way in fitted.directions}
    yield " ".join(
        f"{source} → {target}: mAP@100 {score.mean:.3f}, by chance {score.chance:.3f}."
        for (source, target), score in scores.items()
        if score.mean <= score.chance
    )


def dataset_problems(source: DatasetSource) -> Iterator[str]:
    """Yield the problem that each of DATASET_CHECKS finds ("" for none)."""
    if missing := source.missing():
        raise InputError(missing)
    data, split = source.load()
    split.check(len(data))
    overlap = np.intersect1d(split.train, split.queries)
    yield f"rows {overlap[:3]} are both training items and queries." if len(overlap) else ""
    same = source.load()[0].fingerprint == data.fingerprint
    yield "" if same else "two loads gave different data; fix the random seed."

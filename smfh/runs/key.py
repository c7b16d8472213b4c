"""What identifies a run: all that decides its outcome, and nothing else."""

import hashlib
import json
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np

from smfh.datasets.planted import Planted
from smfh.evaluation import evaluate
from smfh.hashing import METHODS, HashMethod, make_method, preset
from smfh.memory import Memory
from smfh.types import InputError, MultimodalDataset, Split, parameters

PROBE = Planted(items=60, sparse_text=True)
PROBE_BITS = 12
DIGITS = 4  # of a probe's figures: rounding that differs between processors is no other algorithm

_behaviours: Memory[tuple[str, bool], str] = Memory(2 * len(METHODS))  # who asks meanwhile waits


@dataclass(frozen=True)
class RunKey:
    """Data, split and method; and whose the run is."""

    data: str  # fingerprint
    split: str  # fingerprint
    method: HashMethod
    owner: str = ""  # "" where everybody may share it

    @property
    def id(self) -> str:
        """SHA-256 of all that decides the outcome; the name of the run's file."""
        return identify(self, behaviour_of(self.method))


def run_key(data: MultimodalDataset, split: Split, method: HashMethod, owner: str = "") -> RunKey:
    """The key of this method trained and searched on the parts of a split."""
    return RunKey(data.fingerprint, split.fingerprint, method, owner)


@lru_cache(maxsize=4096)
def identify(key: RunKey, behaviour: str) -> str:
    """The id of a run whose method behaves so; parameters that change nothing are left out."""
    about = parameters(key.method)
    values = {
        f.name: _typed(getattr(key.method, f.name), f.default)
        for f in fields(key.method)
        if f.name in about and getattr(key.method, f.name) != about[f.name].neutral
    }
    return _digest([key.data, key.split, key.method.name, values, behaviour])


def behaviour_of(method: HashMethod) -> str:
    """The behaviour that concerns it: some draw the items of their graph always, some where asked to."""
    sample = parameters(method).get("graph_sample")
    samples = sample is not None and method.get_params()["graph_sample"] != sample.neutral
    return behaviour(method.name, samples)


def behaviour(name: str, samples: bool = False) -> str:
    """SHA-256 of what a method and its presets yield on a small set, and where it samples what that yields.

    It changes by itself whenever training or scoring comes to yield something else, and only then: a new
    parameter that is neutral, or the same algorithm written anew, leaves every kept run as it is.
    """
    return _behaviours.get((name, samples), lambda: _probe(name, samples))


def _probe(name: str, samples: bool) -> str:
    """That hash, made now."""
    data, split = PROBE.load()
    train = data.take(split.train)
    variants: list[dict[str, Any]] = [{}, *(preset(name, choice) for choice in METHODS[name].presets)]
    if samples:
        variants.append({"graph_sample": len(train) // 2})
    outcomes: list[Any] = []
    for values in variants:
        try:
            hasher = make_method(name, **(values | {"bits": PROBE_BITS})).fit(train)
            scores = evaluate(hasher, data, split, "text", "image")
        except InputError as error:
            outcomes.append(error.problems)
            continue
        outcomes += [codes.tolist() for codes in hasher.database_codes.values()]
        outcomes += [f"{hasher.trace[at].objective:.{DIGITS}g}" for at in (0, -1)]
        outcomes += [f"{score.mean:.{DIGITS}g}" for score in scores.average_precision.values()]
    return _digest(outcomes)


def _typed(value: Any, like: Any) -> Any:
    """2 and 2.0 are the same weight, and must be written alike."""
    return [float(part) for part in value] if isinstance(value, tuple) else type(like)(value)


def _digest(value: Any) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"A parameter must be a number, a word or several of them; got {value!r}.")

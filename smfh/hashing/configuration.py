"""The parameters of a method, with checks and descriptions, and presets: named sets of values."""

import unicodedata
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from inspect import cleandoc
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np

from smfh.types import BoolArray, InputError, Parameter, Words, parameter, parameters, range_problems, unknown

BITS_HELP = "Length of the code. Higher: finer distinctions, slower. Lower: more items with identical codes."
SEED_HELP = "Random seed: the same number gives the same codes. Higher or lower: different codes of equal quality."
ANCHORS_HELP = (
    "Number of training items that serve as anchors of the RBF features. With 0, the features are linear. "
    "Higher: hash functions that fit finer differences, slower. Lower: simpler hash functions."
)
WIDTH_HELP = (
    "Width of the RBF features as a share of the mean distance to the anchors. With 0, the width that best "
    "predicts the labels is chosen for each modality. Higher: smoother hash functions. Lower: each anchor "
    "affects only its neighbours."
)
RIDGE_HELP = (
    "How strongly learnt weights are shrunk to 0. Higher: simpler, more stable. Lower: closer fit to the "
    "training items."
)
CHOSEN_RIDGE_HELP = (
    "How strongly the weights of the hash functions are shrunk to 0. With 0, the strength that best ranks "
    "left-out training rows is chosen for each modality. Higher: simpler, more stable. Lower: closer fit to "
    "the training items."
)
DIRECTION_HELP = (
    "How strongly directions with little variance are shrunk. Higher: more stable. Lower: finer differences count."
)
ORTHOGONALITY_HELP = "How different the bits must be. Higher: each bit adds information. Lower: bits may repeat."
SMOOTHNESS_HELP = (
    "How alike the hash functions must treat items with common labels. Higher: more alike. Lower: they "
    "predict each item's code more exactly."
)
PREDICTION_HELP = (
    "How closely the hash functions must predict the codes. Higher: better on new items. Lower: the codes "
    "describe the training items better."
)
LABEL_HELP = "How strongly codes follow the labels. Higher: classes lie further apart. Lower: features count more."


MAX_OVERLAPPING_SHARE = 0.1  # of items; above it, a preset for fewer codes is not offered


@dataclass(frozen=True)
class Preset:
    """Parameter values that differ from the defaults, and the data set for which they were chosen."""

    values: Mapping[str, Any] = field(default_factory=dict)
    dataset: str = ""  # empty if they suit any data set
    aims_at: str = ""  # "fewer codes" or "more codes" that are distinct; empty if neither


@dataclass(frozen=True)
class Configuration:
    """Base class of methods: their parameters, which together with the data determine the result."""

    name: ClassVar[str]
    title: ClassVar[str]
    presets: ClassVar[Mapping[str, Preset]] = MappingProxyType({})
    best: ClassVar[str] = ""  # the preset that is best on validation folds; empty for the defaults

    bits: int = parameter(64, "r", 1, 1024, BITS_HELP, typical=(8, 256))
    seed: int = parameter(0, "seed", 0, 2**32 - 1, SEED_HELP, typical=(0, 99), kw_only=True)

    def __init_subclass__(cls) -> None:
        """Make the presets read-only, and append the parameters to the class docstring."""
        super().__init_subclass__()
        cls.presets = MappingProxyType(dict(cls.presets))
        described = {f.name: f for f in fields(cls)}  # those of the base classes
        described |= {name: f for name, f in vars(cls).items() if isinstance(f, Field)}
        lines = (
            _in_words(name, f.metadata["parameter"], f.default)
            for name, f in described.items()
            if "parameter" in f.metadata
        )
        cls.__doc__ = "\n\n".join([cleandoc(cls.__doc__ or cls.__name__), "Parameters:", *lines])

    def __new__(cls, *args: Any, **values: Any) -> Self:
        """Raise an error that helps if a parameter name is unknown.

        If the name is a Greek letter such as alpha, the message says which parameter has this symbol.
        """
        if "__dataclass_fields__" in vars(cls):
            known = parameters(cls)
            for name in (name for name in values if name not in known):
                raise TypeError(f"{cls.__name__} has no parameter {name!r}; {cls.name_hint(name)}.")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if problems := range_problems(self):
            raise InputError(problems)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Make a method with these parameter values; raise one InputError that lists all problems.

        Parameters that are not given take their default values. Lists, as read from JSON, become tuples.
        """
        known = parameters(cls)
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        unknown_names = [name for name in values if name not in known]
        problems = [f"{cls.name} has no parameter {n}; {cls.name_hint(n)}." for n in unknown_names]
        try:
            method = cls(**{name: value for name, value in values.items() if name in known})
        except InputError as error:
            problems += error.problems
        if problems:
            raise InputError(problems)
        return method

    @classmethod
    def name_hint(cls, name: str, prefix: str = "") -> str:
        """Return a hint: the parameter whose symbol is this Greek letter, or all names; `prefix` precedes each name."""
        letter, known = f"GREEK SMALL LETTER {name.upper().replace('LAMBDA', 'LAMDA')}", parameters(cls)
        for own, about in known.items():
            if about.symbol in (name, _character(letter)):
                return f"{about.symbol} is {prefix}{own}"
        return f"it has {', '.join(prefix + own for own in known)}"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name, as in scikit-learn."""
        return {name: getattr(self, name) for name in parameters(self)}

    def set_params(self, **params: Any) -> Self:
        """Return a copy with these parameters changed."""
        return type(self).of({**self.get_params(), **params})

    @classmethod
    def preset_names(cls, dataset: str) -> list[str]:
        """Return the names of the presets for this data set and of those for any data set."""
        return [name for name, preset in cls.presets.items() if preset.dataset in ("", dataset)]

    @classmethod
    def preset_values(cls, name: str) -> dict[str, Any]:
        """Return all parameter values of a preset, except bits and seed, which presets do not set."""
        if name not in cls.presets:
            raise unknown(f"preset of {cls.name}", name, cls.presets)
        defaults = {f.name: f.default for f in fields(cls) if f.name not in ("bits", "seed")}
        return defaults | dict(cls.presets[name].values)

    @classmethod
    def redundant_presets(cls, codes: Words, labels: BoolArray) -> frozenset[str]:
        """Return the presets whose goal, more or fewer distinct codes, is already reached or would be harmful.

        `codes` and `labels` are those of the training items of a run with default values. For example, the
        defaults give only 12 distinct codes on Emoji with nine groups, so a preset for fewer codes is
        redundant. It is harmful if many items have labels that overlap (some items have both, others only one
        of each): items that share a label then need different codes, and with one code per label set, ranks
        beyond the first hundred are arbitrary. With 1,200 planted items of one or two of ten classes, mAP of the
        whole ranking falls from .98 to .44. Nested labels, such as groups and subgroups, do not overlap.
        """
        distinct, label_sets = (len(np.unique(rows, axis=0)) for rows in (codes, labels))
        few = distinct <= 1.5 * label_sets or overlapping_share(labels) > MAX_OVERLAPPING_SHARE
        met = {"fewer codes": few, "more codes": distinct >= 0.5 * len(codes)}
        return frozenset(name for name, preset in cls.presets.items() if met.get(preset.aims_at))

    def current_preset(self, dataset: str) -> str | None:
        """Return the name of the preset for this data set that has the current values, or None."""
        for name in self.preset_names(dataset):
            if replace(self, **self.preset_values(name)) == self:
                return name
        return None


def overlapping_share(labels: BoolArray) -> float:
    """Return the share of items with two labels a and b that overlap: 0 < n_ab < min(n_a, n_b).

    n_a and n_b are the numbers of items with each label, n_ab is that of items with both.
    """
    L = labels.astype(np.float32)
    n = L.T @ L
    overlaps = (n > 0) & (n < np.minimum.outer(n.diagonal(), n.diagonal()))
    return float(np.mean(((L @ overlaps) * L).any(axis=1)))


def _character(unicode_name: str) -> str:
    try:
        return unicodedata.lookup(unicode_name)
    except KeyError:
        return ""


def _in_words(name: str, about: Parameter, default: object) -> str:
    return f"    {name} ({about.symbol}): {about.allowed_values}, by default {default!r}.\n        {about.help}"

"""Base classes of all methods, with the training loop, and the fitted hasher that training returns.

A new method is a frozen dataclass derived from `HashMethod`. It defines its `name`, `title` and `version`,
the maximum number of `steps` of a run, and the generator `learn`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from math import isfinite
from time import perf_counter
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from smfh.features.maps import is_signed, magnitude, split_signs
from smfh.hamming import CodeIndex
from smfh.hashing.blocks import Items
from smfh.hashing.configuration import Configuration
from smfh.hashing.function import HashFunction
from smfh.parallel import one_blas_thread
from smfh.types import (
    Distances,
    FloatArray,
    InputError,
    IntArray,
    MultimodalDataset,
    OnStep,
    TrainingStep,
    Words,
    parameter,
    read_only,
    unknown,
)

PULL_HELP = (
    "How strongly items with common labels are pulled together. Higher: one code for a whole class, which gives the "
    "best mAP over the whole ranking. Lower: codes follow the features."
)
FIT_HELP = (
    "How closely the hash functions must predict the codes. Higher: better on new items. Lower: codes follow "
    "the labels more freely. However many modalities there are, their hash functions together have the weight of two."
)
SAMPLE_HELP = (
    "Number of items whose labels are used in an iteration. Higher: closer to using all labels. Lower: a "
    "noisier pull towards items with common labels."
)
WEIGHTS_HELP = (
    "Weight of each modality's reconstruction; the weights sum to 1. If empty, all are equal. Higher: "
    "the codes describe this modality better. Lower: they describe the others better."
)
ITERATIONS_HELP = "Maximum number of iterations. Higher: closer to the optimum, slower. Lower: faster."
TOLERANCE_HELP = (
    "Training stops when the objective changes by less than this fraction; with 0, only after the last "
    "iteration. Higher: stops earlier. Lower: stops later."
)


class Model(NamedTuple):
    """The learnt hash functions and codes, at the end of training or after an iteration."""

    functions: Mapping[str, HashFunction]
    codes: Mapping[str, Words]  # of the training items, by the modality that is searched
    bases: Mapping[str, FloatArray] = MappingProxyType({})  # U by modality, (dimensions of φ, bits)


class StepReport(NamedTuple):
    """The report that `learn` yields after each step: the weighted terms of the objective."""

    terms: Mapping[str, float]
    phase: str = "descent"
    note: str = ""
    model: Callable[[], Model] | None = None  # makes the current model; None if not available


Trace = Sequence[TrainingStep]
Training = Generator[StepReport, None, Model]


@dataclass(frozen=True)
class HashMethod(Configuration, ABC):
    """A hashing method with its parameters; `fit` trains it.

    Increase `version` whenever a code change leads to different hash codes, because saved runs are reused
    only if their version is the same. A test with pinned codes checks this.
    """

    version: ClassVar[int] = 1
    uses_labels: ClassVar[bool] = True  # False if it learns from pairs alone

    @property
    def needs_positive(self) -> bool:
        """Whether the method needs features ≥ 0; if so, negative features are split into parts ≥ 0."""
        return False

    @property
    @abstractmethod
    def steps(self) -> int:
        """Maximum number of steps of a run."""

    @abstractmethod
    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Training:
        """Yield a report after every step and return the model; `trace` contains the steps so far."""

    def fit(
        self,
        modalities: MultimodalDataset | Mapping[str, Any],
        labels: Any = None,
        *,
        on_step: OnStep | None = None,
        on_state: Callable[["FittedHasher"], None] | None = None,
    ) -> "FittedHasher":
        """Train on all items, which become the database.

        Parameters
        ----------
        modalities
            A data set, or a mapping from modality names to matrices with one row per item.
        labels
            The labels of the rows, if `modalities` is a mapping.
        on_step
            Called after every step with a `TrainingStep`. If it raises an exception, training ends.
        on_state
            Called after every step with the current hasher, if the method provides one.

        Returns
        -------
        FittedHasher
            Hash functions for every modality and the codes of the training items.

        Raises
        ------
        InputError
            If the data cannot be trained on; the message lists all problems.

        Examples
        --------
        >>> import numpy as np
        >>> from smfh import SMFHPlus
        >>> rng = np.random.default_rng(0)
        >>> labels = np.repeat(["cat", "dog"], 20)
        >>> pictures, words = rng.random((40, 8)), rng.random((40, 5))
        >>> hasher = SMFHPlus(bits=8).fit({"image": pictures, "text": words}, labels)
        >>> hasher.modalities
        ('image', 'text')
        """
        if isinstance(modalities, Mapping):
            train = MultimodalDataset("own arrays", modalities, labels)
        elif not isinstance(modalities, MultimodalDataset):
            raise InputError(
                'fit takes a matrix per modality, such as fit({"image": X, "text": Z}, labels). For one matrix X '
                "with classes y, as in scikit-learn, use smfh.SMFHEstimator."
            )
        elif labels is not None:
            raise InputError("A data set already includes its labels; pass labels only with plain matrices.")
        else:
            train = modalities
        given = train.for_training()
        if problems := self.training_problems(given):
            raise InputError(problems)
        trace: list[TrainingStep] = []
        model = self.run_steps(
            self._learn_signed(given, np.random.default_rng(self.seed), trace),
            trace,
            lambda: {t: magnitude(X) for t, X in train.modalities.items()},
            on_step,
            None if on_state is None else lambda so_far: on_state(self._hasher(so_far, trace, train)),
        )
        return self._hasher(model, trace, train)

    def _learn_signed(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Training:
        """Run `learn`; if the method needs features ≥ 0, split signed features into two parts first.

        The notes of the steps then mention the split.
        """
        signed = {t: split_signs(X) for t, X in train.modalities.items() if is_signed(X)}
        if not (signed and self.needs_positive):
            return (yield from self.learn(train, rng, trace))
        parts = replace(train.without_looks(), modalities={**train.modalities, **signed})
        split = f"{self.title} needs features ≥ 0, so {', '.join(signed)} is split into max(x, 0) and max(−x, 0)"

        def takes_signs(model: Model) -> Model:
            functions = dict(model.functions)
            for t in signed:
                phi = replace(functions[t].feature_map, split_signs=True)
                functions[t] = replace(functions[t], dimensions=train.modalities[t].shape[1], feature_map=phi)
            return model._replace(functions=functions)

        def made_by(make: Callable[[], Model]) -> Callable[[], Model]:
            return lambda: takes_signs(make())

        with closing(self.learn(parts, rng, trace)) as training:
            while True:
                try:
                    report = next(training)
                except StopIteration as end:
                    return takes_signs(end.value)
                note = "; ".join(filter(None, (split, report.note)))
                yield report._replace(note=note, model=report.model and made_by(report.model))

    def run_steps(
        self,
        training: Training,
        trace: list[TrainingStep],
        largest: Callable[[], Mapping[str, float]],
        on_step: OnStep | None = None,
        on_model: Callable[[Model], None] | None = None,
    ) -> Model:
        """Run the generator `training` to its end, append each step to `trace`, and return the model.

        `largest` returns the largest feature of each modality, for the error message if numbers overflow.
        Time spent in `on_step` and `on_model` does not count as training time.
        """
        seconds = 0.0
        with (
            one_blas_thread(),
            np.errstate(over="ignore", divide="ignore", invalid="ignore"),  # the terms are checked instead
            closing(training),
        ):
            while True:
                resumed = perf_counter()
                try:
                    terms, phase, note, so_far = next(training)
                except StopIteration as end:
                    model: Model = end.value
                    return model
                except np.linalg.LinAlgError as error:
                    raise self._broken(largest(), len(trace) + 1, str(error)) from error
                seconds += perf_counter() - resumed
                for term, value in terms.items():
                    if not isfinite(value):
                        raise self._broken(largest(), len(trace) + 1, f"the term {term!r} is {value}")
                trace.append(TrainingStep(len(trace) + 1, terms, seconds, phase, note))
                if on_step is not None:
                    on_step(trace[-1])
                if on_model is not None and so_far is not None:
                    on_model(so_far())

    def _hasher(self, model: Model, trace: Trace, train: MultimodalDataset) -> "FittedHasher":
        return FittedHasher(self, model.functions, model.codes, trace, train.fingerprint, model.bases)

    def training_problems(self, train: MultimodalDataset) -> list[str]:
        """Return all reasons why the method cannot be trained on this data; empty if it can."""
        problems = []
        if not train.has_labels:
            if self.uses_labels:
                problems.append(
                    f"{self.title} learns from labels, and this data has none. Choose CMFH, CVH or PDH, "
                    "which learn from pairs, or add labels."
                )
        elif train.labels.any(axis=0).sum() < 2:
            problems.append("All training items have the same class; training needs at least two classes.")
        if len(train.modalities) < 2:
            names = ", ".join(train.modalities)
            problems.append(f"Cross-modal hashing needs two modalities; {train.name!r} has {names}.")
        return problems

    def _broken(self, maxima: Mapping[str, float], iteration: int, what: str) -> InputError:
        largest = ", ".join(f"{value:.3g} ({t})" for t, value in maxima.items())
        return InputError(
            f"Training {self.title} failed in iteration {iteration}: {what}. The largest feature values are "
            f"{largest}. "
            "Scale the features, for example to a largest value of 1 in each modality, and train again."
        )


@dataclass(frozen=True)
class IterativeMethod(HashMethod):
    """A method that minimises an objective in which every modality has a weight."""

    modality_weights: tuple[float, ...] = parameter((), "λ", 0.0, 1.0, WEIGHTS_HELP, kw_only=True)
    iterations: int = parameter(30, "T", 1, 10_000, ITERATIONS_HELP, typical=(1, 100), kw_only=True)
    tolerance: float = parameter(0.0, "ε", 0.0, 1.0, TOLERANCE_HELP, "log", typical=(0.0, 0.01), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = self.modality_weights
        if weights and abs(sum(weights) - 1) > 1e-6:
            raise InputError(f"The modality weights (λ) must sum to 1; {weights} sum to {sum(weights):g}.")

    @property
    def steps(self) -> int:
        return self.iterations

    def training_problems(self, train: MultimodalDataset) -> list[str]:
        problems, weights, names = super().training_problems(train), self.modality_weights, train.modalities
        if weights and len(weights) != len(names):
            problems.append(
                f"{len(weights)} modality weights (λ) for {len(names)} modalities ({', '.join(names)}); "
                "give one for each, or none."
            )
        return problems

    def shares(self, modalities: Sequence[str]) -> dict[str, float]:
        """Return the weight λ of each modality; by default, all are equal."""
        shares = self.modality_weights or (1 / len(modalities),) * len(modalities)
        return dict(zip(modalities, shares, strict=True))

    def has_converged(self, trace: Trace) -> bool:
        """Whether training has converged: |O_before − O_now| < ε O_before for the objective O."""
        if len(trace) < 2 or self.tolerance == 0:
            return False
        before, now = trace[-2].objective, trace[-1].objective
        return abs(before - now) < self.tolerance * abs(before)


@dataclass(frozen=True)
class BlockMethod(IterativeMethod):
    """An iterative method that reads the training items in blocks, from memory or on workers."""

    @property
    def needs_memory(self) -> bool:
        """Whether the method, with these parameters, can only be trained with all items in memory."""
        return False

    def learn(self, train: MultimodalDataset, rng: np.random.Generator, trace: Trace) -> Training:
        return self.learn_from(Items(train.modalities, train.labels), rng, trace)

    @abstractmethod
    def learn_from(self, data: Items, rng: np.random.Generator, trace: Trace) -> Training:
        """Train like `learn`, on items that may be in memory or on workers."""


class Nearest(NamedTuple):
    """Search results: the database items nearest to each query, nearest first."""

    rows: IntArray  # (queries, k), positions among the training items
    distances: Distances  # (queries, k), in bits


@dataclass(frozen=True, eq=False)
class FittedHasher:
    """The result of training: hash functions and the codes of the training items; immutable.

    Attributes
    ----------
    method
        The method with its parameters.
    functions
        A `HashFunction` for each modality.
    database_codes
        Packed codes of the training items, by the modality that is searched; (items, ⌈bits/64⌉).
    trace
        One `TrainingStep` per step.
    trained_on
        Fingerprint of the training data.
    bases
        The bases U of methods that factorise, by modality; (dimensions of the mapped features, bits).

    Examples
    --------
    >>> from smfh import SMFH
    >>> from smfh.datasets import Planted
    >>> hasher = SMFH(bits=16).fit(Planted(items=60).load()[0])
    >>> hasher.bits, hasher.modalities
    (16, ('image', 'text'))
    """

    method: HashMethod
    functions: Mapping[str, HashFunction]
    database_codes: Mapping[str, Words]
    trace: Trace
    trained_on: str
    bases: Mapping[str, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trace", tuple(self.trace))
        object.__setattr__(self, "functions", MappingProxyType(dict(self.functions)))
        for name in ("database_codes", "bases"):
            arrays = {modality: read_only(array) for modality, array in getattr(self, name).items()}
            object.__setattr__(self, name, MappingProxyType(arrays))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields as plain dictionaries, because read-only views of them cannot be pickled."""
        functions, codes, bases = dict(self.functions), dict(self.database_codes), dict(self.bases)
        return FittedHasher, (self.method, functions, codes, self.trace, self.trained_on, bases)

    def __repr__(self) -> str:
        items = len(next(iter(self.database_codes.values()), ()))
        return (
            f"{self.method.title} hasher: {self.bits} bits, {items:,} training items, modalities "
            f"{', '.join(self.modalities)}; trained in {self.seconds:.2f} s, {len(self.trace)} steps."
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"

    @property
    def bits(self) -> int:
        return self.method.bits

    @property
    def modalities(self) -> tuple[str, ...]:
        return tuple(self.functions)

    @property
    def seconds(self) -> float:
        """Training time in seconds."""
        return self.trace[-1].seconds if self.trace else 0.0

    @property
    def directions(self) -> list[tuple[str, str]]:
        """All (source, target) pairs of different modalities."""
        return [(s, t) for t in self.modalities for s in self.modalities if s != t]

    @cached_property
    def indexes(self) -> Mapping[str, CodeIndex]:
        """The search index of each modality; modalities with the same database codes share one."""
        made = {id(codes): CodeIndex(codes) for codes in self.database_codes.values()}
        return {name: made[id(codes)] for name, codes in self.database_codes.items()}

    def encode(self, modality: str, features: Any) -> Words:
        """Encode items of one modality.

        Parameters
        ----------
        modality
            A name from `modalities`.
        features
            A matrix with one row per item, with the dimensions of the training data.

        Returns
        -------
        array
            Packed codes, (items, ⌈bits/64⌉) of uint64.

        Examples
        --------
        >>> from smfh import SMFH
        >>> from smfh.datasets import Planted
        >>> data, _ = Planted(items=60).load()
        >>> SMFH(bits=16).fit(data).encode("text", data.modalities["text"][:2]).shape
        (2, 1)
        """
        if modality not in self.functions:
            raise unknown("modality", modality, self.functions)
        return self.functions[modality].encode(features)

    def search(self, source: str, features: Any, target: str, k: int = 10, distance: str = "asymmetric") -> Nearest:
        """Find the k training items of `target` that are nearest to queries of `source`.

        Parameters
        ----------
        source, target
            Names from `modalities`.
        features
            A matrix with one row per query.
        k
            Number of results per query.
        distance
            "asymmetric" weights each bit that differs by the query's margin, which finds more relevant items;
            "hamming" is the number of bits that differ, as in the paper.

        Returns
        -------
        Nearest
            Rows of the training items and their distances, nearest first; ties in database order.

        Examples
        --------
        >>> from smfh import SMFH
        >>> from smfh.datasets import Planted
        >>> data, _ = Planted(items=60).load()
        >>> SMFH(bits=16).fit(data).search("text", data.modalities["text"][:2], "image", k=3).rows.shape
        (2, 3)
        """
        if target not in self.database_codes:
            raise unknown("modality", target, self.database_codes)
        if source not in self.functions:
            raise unknown("modality", source, self.functions)
        queries = self.functions[source].encode_queries(features, distance)
        return Nearest(*self.indexes[target].rank(queries.codes, k, queries.weights))

"""What training yields: hash functions, the codes of the training items, the trace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from smfh.features.maps import FeatureMap
from smfh.hamming import pack
from smfh.types import (
    BoolArray,
    FloatArray,
    InputError,
    Matrix,
    MultimodalDataset,
    OnStep,
    TrainingStep,
    Words,
    check_features,
    range_problems,
)


@dataclass(frozen=True, eq=False)
class HashFunction:
    """Bit k of x is on where φ(x)·w_k > threshold_k."""

    modality: str
    dimensions: int  # of x
    feature_map: FeatureMap  # φ
    projection: FloatArray  # W, (dimensions of φ, bits)
    thresholds: FloatArray  # (bits,)

    def margins(self, features: Matrix) -> FloatArray:
        """φ(X) W − thresholds: how far each item lies on which side of each bit."""
        check_features(self.modality, features, self.dimensions)
        margins: FloatArray = self.feature_map(features) @ self.projection - self.thresholds
        return margins

    def encode(self, features: Matrix) -> Words:
        """Packed codes of any items of this modality, seen in training or not."""
        return pack(self.margins(features) > 0)


class HashMethod(Protocol):
    """A frozen dataclass: its fields are all that decides the outcome, the seed included."""

    name: ClassVar[str]
    title: ClassVar[str]
    presets: ClassVar[Mapping[str, Mapping[str, Any]]]

    @property
    def bits(self) -> int: ...
    @property
    def seed(self) -> int: ...

    def fit(self, train: MultimodalDataset, on_step: OnStep | None = None) -> "FittedHasher": ...


@dataclass(frozen=True, eq=False)
class FittedHasher:
    """Immutable, so that sessions can share it."""

    method: HashMethod
    functions: Mapping[str, HashFunction]
    database_codes: Mapping[str, Words]  # what a search for this modality searches, (training items, words)
    trace: Sequence[TrainingStep]
    trained_on: str  # fingerprint of the training data
    bases: Mapping[str, FloatArray] = field(default_factory=dict)  # U, (dimensions of φ, bits)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trace", tuple(self.trace))

    @property
    def bits(self) -> int:
        return self.method.bits

    @property
    def modalities(self) -> tuple[str, ...]:
        return tuple(self.functions)

    @property
    def seconds(self) -> float:
        return self.trace[-1].seconds if self.trace else 0.0

    @property
    def directions(self) -> list[tuple[str, str]]:
        """Every (source, target) of different modalities."""
        return [(s, t) for t in self.modalities for s in self.modalities if s != t]


def check_trainable(method: HashMethod, train: MultimodalDataset, weights: Sequence[float] = ()) -> None:
    """Refuse, listing all reasons, what no training can learn from."""
    problems = []
    if train.labels.any(axis=0).sum() < 2:
        problems.append("All training items have the same single class; supervision needs at least two.")
    if len(train.modalities) < 2:
        problems.append(
            f"Cross-modal hashing needs two modalities; {train.name!r} has {list(train.modalities)}."
        )
    if weights and len(weights) != len(train.modalities):
        problems.append(
            f"{len(weights)} modality weights (λ) for {len(train.modalities)} modalities "
            f"({', '.join(train.modalities)}); give one each or none."
        )
    if problems:
        raise InputError(problems)


def check_method(method: HashMethod, weights: Sequence[float] = ()) -> None:
    """Refuse, listing all reasons, parameters out of their range."""
    problems = range_problems(method)
    if weights and not problems and abs(sum(weights) - 1) > 1e-6:
        problems.append(f"The modality weights (λ) must sum to 1; {weights} sum to {sum(weights):g}.")
    if problems:
        raise InputError(problems)


def modality_weights(weights: Sequence[float], train: MultimodalDataset) -> dict[str, float]:
    """λ by modality; equal shares where none are given."""
    shares = weights or [1 / len(train.modalities)] * len(train.modalities)
    return dict(zip(train.modalities, shares, strict=True))


def training_dtype(train: MultimodalDataset) -> np.dtype[np.floating[Any]]:
    """Single precision unless some modality comes in double."""
    return np.result_type(*(X.dtype for X in train.modalities.values()))


def shared_codes(modalities: Sequence[str], bits: BoolArray) -> dict[str, Words]:
    """One code for an item whichever modality is asked for."""
    packed = pack(bits)
    return dict.fromkeys(modalities, packed)

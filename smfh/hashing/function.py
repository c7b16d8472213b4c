"""Hash functions: from the features of one modality to bits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from smfh.features.maps import FeatureMap
from smfh.hamming import pack
from smfh.types import FloatArray, Words, check_features, read_only


@dataclass(frozen=True, eq=False)
class HashFunction:
    """Bit k of x is on where φ(x)·w_k > threshold_k."""

    modality: str
    dimensions: int  # of x
    feature_map: FeatureMap  # φ
    projection: FloatArray  # W, (dimensions of φ, bits)
    thresholds: FloatArray  # (bits,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "projection", read_only(self.projection))
        object.__setattr__(self, "thresholds", read_only(self.thresholds))

    def margins(self, features: Any) -> FloatArray:
        """φ(X) W − thresholds: how far each item lies on which side of each bit."""
        X = check_features(self.modality, features, self.dimensions)
        margins: FloatArray = self.feature_map(X) @ self.projection - self.thresholds
        return margins

    def encode(self, features: Any) -> Words:
        """Packed codes of any items of this modality, seen in training or not."""
        return pack(self.margins(features) > 0)


def shared_codes(modalities: Sequence[str], codes: Words) -> dict[str, Words]:
    """One code for an item whichever modality is asked for."""
    return dict.fromkeys(modalities, read_only(codes))

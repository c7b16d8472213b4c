"""Hash functions, which turn the features of one modality into bits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from smfh.features.maps import FeatureMap
from smfh.hamming import Queries, as_queries, pack
from smfh.types import FloatArray, Words, check_features, read_only


@dataclass(frozen=True, eq=False)
class HashFunction:
    """The hash function of one modality: bit k of x is 1 if φ(x)·w_k > threshold_k."""

    modality: str
    dimensions: int  # of x
    feature_map: FeatureMap  # φ
    projection: FloatArray  # W, (dimensions of φ, bits)
    thresholds: FloatArray  # (bits,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "projection", read_only(self.projection))
        object.__setattr__(self, "thresholds", read_only(self.thresholds))

    def margins(self, features: Any) -> FloatArray:
        """Return φ(X) W − thresholds; a positive margin gives bit 1, a large one a reliable bit."""
        X = check_features(self.modality, features, self.dimensions)
        margins: FloatArray = self.feature_map(X) @ self.projection - self.thresholds
        return margins

    def encode_queries(self, features: Any, distance: str) -> Queries:
        """Return the codes of queries, with weights of their bits if the distance is asymmetric."""
        return as_queries(self.margins(features), distance)

    def encode(self, features: Any) -> Words:
        """Return the packed codes of items of this modality."""
        return pack(self.margins(features) > 0)


def shared_codes(modalities: Sequence[str], codes: Words) -> dict[str, Words]:
    """Return a mapping from every modality to the same database codes."""
    return dict.fromkeys(modalities, read_only(codes))

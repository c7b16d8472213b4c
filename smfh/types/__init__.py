"""Data types that the packages share; this package depends only on NumPy and SciPy.

Items are rows everywhere. The paper writes them as columns, so its equations appear transposed.
"""

from smfh.types.arrays import (
    EPS,
    BoolArray,
    Distances,
    FloatArray,
    IntArray,
    Matrix,
    Words,
    as_labels,
    as_matrix,
    read_only,
    read_only_matrix,
)
from smfh.types.data import Encoder, MultimodalDataset, Rows, Split, check_features
from smfh.types.errors import InputError, MissingFilesError, collect_problems, unknown
from smfh.types.retrieval import DistanceCounts, Point, Results
from smfh.types.training import (
    Choice,
    OnStep,
    Parameter,
    TrainingStep,
    choice,
    choices,
    parameter,
    parameters,
    range_problems,
    read_value,
)

"""The values that flow between the rooms; they know NumPy and SciPy and nothing else.

Items are rows everywhere. The paper writes them as columns, so its equations appear transposed.
"""

from smfh.types.arrays import EPS, BoolArray, FloatArray, IntArray, Matrix, Words, read_only, read_only_matrix
from smfh.types.conversion import as_labels, as_matrix
from smfh.types.data import Encoder, MultimodalDataset, Rows, Split, check_features
from smfh.types.errors import InputError, collect_problems, unknown
from smfh.types.points import Point
from smfh.types.retrieval import Answers, DistanceCounts
from smfh.types.training import (
    Choice,
    OnStep,
    Parameter,
    TrainingStep,
    choice,
    choice_problems,
    choices,
    parameter,
    parameters,
    range_problems,
    read_value,
)

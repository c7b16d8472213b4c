"""The arrays that flow between the rooms, by what they hold. Items are rows everywhere."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FloatArray = NDArray[np.floating[Any]]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.integer[Any]]
Words = NDArray[np.uint64]  # packed codes, (items, ⌈bits/64⌉)
Matrix = FloatArray | sparse.csr_array

EPS = 1e-12  # keeps a division finite where both sides vanish

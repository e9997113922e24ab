"""Types of arrays. Floats are NaN where a value is unknown; never 0."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]
Codes = npt.NDArray[np.int16]


def or_zero(values: Floats) -> Floats:
    """The same with 0 for NaN; `nan_to_num` looks for infinities too, in thrice the time."""
    return np.where(np.isnan(values), 0.0, values)

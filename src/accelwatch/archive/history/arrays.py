"""Columns of Arrow as numpy arrays, whatever types a writer chose for them."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]
# Unix milliseconds.
Timestamps = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]


def milliseconds(column: Any) -> npt.NDArray[np.int64]:
    """A column of times; raises ValueError for one that is none."""
    if not pa.types.is_timestamp(column.type) or column.null_count:
        raise ValueError(f"time is a timestamp in every row, not {column.type}")
    converted = column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False)
    return np.asarray(converted.cast(pa.int64()).to_numpy(), dtype=np.int64)


def numbers(column: Any) -> Floats:
    """A column of numbers, NaN where there is none; raises ValueError for one of something else."""
    kind = column.type
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    if not any(is_kind(kind) for is_kind in numeric):
        raise ValueError(f"a quantity is a column of numbers, not of {kind}")
    values = column.cast(pa.float64(), safe=False).to_numpy()
    return np.asarray(values, dtype=np.float64)


def coded(column: Any) -> tuple[list[str], Indices]:
    """Different texts and which of them each row has; null is an empty text."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    combined = column.unify_dictionaries().combine_chunks()
    chunk = combined if isinstance(combined, pa.DictionaryArray) else combined.chunk(0)
    texts = [text or "" for text in chunk.dictionary.to_pylist()] + [""]
    at = chunk.indices.fill_null(len(texts) - 1).to_numpy()
    return texts, np.asarray(at, dtype=np.intp)


def ranks(column: Any) -> Indices:
    """The rank of each row's text among all texts in order."""
    texts, at = coded(column)
    positions = {text: position for position, text in enumerate(sorted(set(texts)))}
    return np.array([positions[text] for text in texts], dtype=np.intp)[at]

"""How each row of the hub's table is at the beginning of a tick, empty rows too."""

import math
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from accelwatch.fleet.rules.columns.columns import Indices
from accelwatch.fleet.state.fleet_status import FleetStatus
from accelwatch.fleet.table.belief import Bools, Floats

Some = TypeVar("Some", bound=np.generic)


class RowStatus(NamedTuple):
    """One value a row; codes are -1 where nothing is known."""

    # Which rows are devices, present or expected.
    here: Bools
    # Whose node is not given up.
    speaks: Bools
    # Whose newest sample is not older than two intervals.
    current: Bools
    # NaN where nothing ever arrived.
    age_s: Floats
    state: Indices
    health: Indices
    node_state: Indices


def row_status(status: FleetStatus, size: int) -> RowStatus:
    """The status of the devices among so many rows."""

    def scattered(values: npt.NDArray[Some], fill: float) -> npt.NDArray[Some]:
        column = np.full(size, fill, dtype=values.dtype)
        column[status.rows] = values
        return column

    # Of a node that is given up `state` has a word for that; of one that is late it has none.
    late = status.speaks & ~status.current
    state = np.where(late, -1, status.state.astype(np.intp))
    health = np.where(status.current, status.health.astype(np.intp), -1)
    return RowStatus(
        here=scattered(np.ones(len(status.rows), dtype=np.bool_), False),
        speaks=scattered(status.speaks, False),
        current=scattered(status.current, False),
        age_s=scattered(status.age_s, math.nan),
        state=scattered(state, -1),
        health=scattered(health, -1),
        node_state=scattered(status.node_state.astype(np.intp), -1),
    )


_NONE: Bools = np.zeros(0, dtype=np.bool_)
_NO_CODES: Indices = np.zeros(0, dtype=np.intp)
# Of a table without rows.
NO_ROWS = RowStatus(_NONE, _NONE, _NONE, np.zeros(0), _NO_CODES, _NO_CODES, _NO_CODES)

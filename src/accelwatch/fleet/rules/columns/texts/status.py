"""How every row stands, as columns of text: the words of state, health and the node's state."""

from types import MappingProxyType

import numpy as np

from accelwatch.fleet.rules.columns.columns import Indices, Texts
from accelwatch.fleet.table.state_codes import HEALTHS, NODE_STATES, STATES

# The fields that say how a row stands, with the words of each.
STATUS_FIELDS = MappingProxyType({"state": STATES, "health": HEALTHS, "node_state": NODE_STATES})


class StatusTexts:
    """Gives the same column for as long as nothing has changed: results are kept by the column."""

    def __init__(self) -> None:
        self._texts: dict[str, Texts] = {}

    def of(self, key: str, codes: Indices) -> Texts:
        """The column of one of WORDS; an index among its words for each row, -1 where there is none."""
        before = self._texts.get(key)
        if before is None or not np.array_equal(before.codes, codes):
            before = self._texts[key] = Texts(codes, STATUS_FIELDS[key])
        return before

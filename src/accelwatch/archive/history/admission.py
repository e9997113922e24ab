"""How many different series an archive accepts: of a node in a day, and of all nodes together.

Every series is a column of the day's file, as wide as all rows of the day. A node that names its series
in a new way each time would make the archive grow by the product of both.
"""

from collections.abc import Iterable

from accelwatch.archive.history.layout import DAY_MS
from accelwatch.schema.metrics import Series

# Different series of a node and its devices in a day; a node with eight devices says some hundred.
MOST_OF_NODE = 2048
# Columns of a table in a day, over all nodes.
MOST_IN_ALL = 8192


class Admission:
    """Decides about series that have not been seen of their node on that day."""

    def __init__(self, most_of_node: int = MOST_OF_NODE, most_in_all: int = MOST_IN_ALL) -> None:
        self._most_of_node = most_of_node
        self._most_in_all = most_in_all
        self._day = 0
        self._of_node: dict[str, set[Series]] = {}
        self._of_table: dict[str, set[Series]] = {}
        # Values that were left out today, by node.
        self.refused: dict[str, int] = {}

    def new_day(self, time: int) -> bool:
        """Whether a moment (Unix milliseconds) is of a new day; all counts are then reset."""
        day = time // DAY_MS
        if day <= self._day:
            return False
        self._day = day
        self._of_node, self._of_table, self.refused = {}, {}, {}
        return True

    def admitted(self, table: str, node: str, series: Iterable[Series]) -> list[Series]:
        """Those that are archived; the others are counted."""
        of_node = self._of_node.setdefault(node, set())
        of_table = self._of_table.setdefault(table, set())
        chosen = []
        for key in series:
            fits_node = key in of_node or len(of_node) < self._most_of_node
            fits_table = key in of_table or len(of_table) < self._most_in_all
            if fits_node and fits_table:
                of_node.add(key)
                of_table.add(key)
                chosen.append(key)
            else:
                self.refused[node] = self.refused.get(node, 0) + 1
        return chosen

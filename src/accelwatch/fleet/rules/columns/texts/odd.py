"""In what nodes differ from the many alike, as a column of text: the same of all devices of a node."""

import numpy as np

from accelwatch.fleet.odd.documents import text_of
from accelwatch.fleet.rules.columns.columns import Indices, Texts
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.table.belief import Bools


class OddTexts:
    """Gives the same column for as long as nothing has changed: results are kept by the column."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._texts: Texts | None = None
        self._made_of: tuple[int, bytes] = (-1, b"")

    def texts(self, here: Bools) -> Texts:
        """The text of each row; none of a node that is like the others."""
        table = self._fleet.table
        nodes = np.where(here, table.node[: len(here)], -1)
        made_of = self._fleet.odd.version, nodes.tobytes()
        if self._texts is None or made_of != self._made_of:
            self._texts, self._made_of = self._made(nodes), made_of
        return self._texts

    def _made(self, nodes: Indices) -> Texts:
        codes = np.full(len(nodes), -1, dtype=np.intp)
        code_of: dict[str, int] = {}
        for number in np.unique(nodes[nodes >= 0]).tolist():
            text = text_of(self._fleet.odd.of(self._fleet.table.at_number[number].node))
            if text:
                codes[nodes == number] = code_of.setdefault(text, len(code_of))
        return Texts(codes, tuple(code_of))

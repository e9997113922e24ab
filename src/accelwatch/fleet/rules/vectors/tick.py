"""What closures over columns get and give: one evaluation of all rows."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from accelwatch.fleet.rules.columns.columns import Columns
from accelwatch.fleet.rules.vectors.truths import Truths
from accelwatch.fleet.table.belief import Floats

Some = TypeVar("Some", bound=np.generic)


class Tick(NamedTuple):
    """Columns at one moment, and what was worked out over them."""

    columns: Columns
    numbers: dict[int, Floats]
    truths: dict[int, Truths]

    def rows(self, truths: Truths) -> Truths:
        """The same by row where it was one for all."""
        size = self.columns.size
        return Truths(by_row(truths.true, size), by_row(truths.false, size))


def by_row(values: npt.NDArray[Some], size: int) -> npt.NDArray[Some]:
    """One for each row; broadcasting is slower than most passes, so it is done only where needed."""
    return values if values.shape else np.broadcast_to(values, size)


Number = Callable[[Tick], Floats]
Condition = Callable[[Tick], Truths]

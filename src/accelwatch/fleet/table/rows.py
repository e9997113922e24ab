"""Stable rows: a device keeps its row for as long as it is there or expected.

A row that is given to another device, and one whose device was exchanged or restarted, gets another
generation: what was gathered before belongs to something else.
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)
# Node and id of a device.
Key = tuple[str, str]

_LEAST = 64


class Rows:
    """Numbers for devices; arrays by row are `size` long."""

    def __init__(self) -> None:
        self.size = _LEAST
        self.generation: npt.NDArray[np.uint32] = np.zeros(_LEAST, dtype=np.uint32)
        self._of: dict[Key, int] = {}
        # By row.
        self._identity: list[tuple[str, ...]] = []
        self._free: list[int] = []
        # Rows that were ever given; those behind are empty.
        self.used = 0

    def __len__(self) -> int:
        return len(self._of)

    def get(self, key: Key) -> int | None:
        """The row of a device that has one."""
        return self._of.get(key)

    def give(self, key: Key, who: tuple[str, ...], boot: str) -> tuple[int, bool]:
        """The row of a device, and whether it is another device there than before.

        `who` is what distinguishes two devices: serial, uuid. What is not known differs from nothing.
        """
        row = self._of.get(key)
        if row is None:
            row = self._of[key] = self._free.pop() if self._free else self._next()
            self._identity[row] = (*who, boot)
            self.generation[row] += 1
            return row, True
        before, now = self._identity[row], (*who, boot)
        if before != now:
            changed = [bool(a and b) and a != b for a, b in zip(before, now, strict=True)]
            pairs = zip(before, now, strict=True)
            self._identity[row] = tuple([new or old for old, new in pairs])
            if any(changed):
                self.generation[row] += 1
                return row, any(changed[:-1])
        return row, False

    def release(self, key: Key) -> None:
        """A device is neither there nor expected any more."""
        row = self._of.pop(key)
        self._identity[row] = ()
        self._free.append(row)

    def _next(self) -> int:
        row = self.used
        self.used += 1
        self._identity.append(())
        if row >= self.size:
            self.size *= 2
            self.generation = grown(self.generation, self.size, 0)
        return row


def grown(values: npt.NDArray[Scalar], size: int, fill: float) -> npt.NDArray[Scalar]:
    """The same along its last axis, longer; what is new is filled."""
    more = size - values.shape[-1]
    if more <= 0:
        return values
    padding = np.full((*values.shape[:-1], more), fill, dtype=values.dtype)
    return np.concatenate([values, padding], axis=-1)

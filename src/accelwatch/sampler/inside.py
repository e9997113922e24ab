"""Which threads are inside a driver at this moment, in a file that outlives the process.

A library that ends the process (`exit`, a kill) leaves no crash report; whose call it was is known from
here. The cells lie in the crash file, behind the longest crash report.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from threading import get_ident

_OFFSET = 1 << 20
_CELL = struct.Struct("=Q")
_FREE = bytes(_CELL.size)
_MAX_CELLS = 4096


class Inside:
    """A cell of eight bytes for each thread that is inside; used by all threads."""

    def __init__(self, descriptor: int | None = None) -> None:
        """None: nobody reads it, so nothing is written."""
        self._descriptor = descriptor
        self._free: list[int] = []
        self._cells = count()

    @contextmanager
    def call(self) -> Iterator[None]:
        """While this lasts, the present thread is inside."""
        if self._descriptor is None:
            yield
            return
        place = self._place()
        os.pwrite(self._descriptor, _CELL.pack(get_ident()), place)
        try:
            yield
        finally:
            os.pwrite(self._descriptor, _FREE, place)
            self._free.append(place)

    def _place(self) -> int:
        try:
            return self._free.pop()
        except IndexError:
            return _OFFSET + _CELL.size * (next(self._cells) % _MAX_CELLS)


def threads_inside(descriptor: int) -> frozenset[int]:
    """Identifiers of the threads that were inside when the process ended."""
    data = os.pread(descriptor, _CELL.size * _MAX_CELLS, _OFFSET)
    whole = len(data) - len(data) % _CELL.size
    return frozenset(ident for (ident,) in _CELL.iter_unpack(data[:whole]) if ident)

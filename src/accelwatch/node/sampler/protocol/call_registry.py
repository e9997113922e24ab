"""Which calls are out, and which threads are inside a driver, in memory that outlives the collector.

A library that ends the process (a crash, `exit`, a kill) leaves no time for a report; afterwards the
owner reads from here whose call it was. The memory is that of the crash file, behind the longest crash
report. Setting a mark makes no system call: it wakes nobody, and no thread releases the interpreter.
"""

import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from threading import get_ident

import msgspec

from accelwatch.node.store.reports import Called, Noted

# In the crash file; a multiple of every page size.
_OFFSET = 1 << 20
_THREAD = struct.Struct("=Q")
_FREE_THREAD = bytes(_THREAD.size)
_MAX_THREADS = 4096
_CALLS_AT = _THREAD.size * _MAX_THREADS
# Of what follows it in the cell of a call; 0 in one that is free.
_LENGTH = struct.Struct("=H")
_FREE_CALL = bytes(_LENGTH.size)
_CALL_BYTES = 512
_MAX_CALLS = 256
_CALLS_END = _CALLS_AT + _CALL_BYTES * _MAX_CALLS
_encoder = msgspec.msgpack.Encoder()


def map_registry(descriptor: int) -> mmap.mmap:
    """The memory for marks in a crash file. Raises OSError where there is no room for it.

    Allocates the room at once: without it, the first mark on a full disk would end the process.
    """
    os.posix_fallocate(descriptor, _OFFSET, _CALLS_END)
    return mmap.mmap(descriptor, _CALLS_END, offset=_OFFSET)


class Inside:
    """A cell for each thread that is inside a driver; used by all threads."""

    def __init__(
        self, memory: mmap.mmap | None = None, on_return: Callable[[], None] = lambda: None
    ) -> None:
        """None: nobody reads it, so nothing is written. `on_return` is called after each call, while the
        thread still counts as inside."""
        self._memory = memory
        self._on_return = on_return
        self._free: list[int] = []
        self._cells = count()

    @contextmanager
    def call(self) -> Iterator[None]:
        """While this lasts, the present thread is inside."""
        memory = self._memory
        if memory is None:
            yield
            return
        start = self._cell()
        end = start + _THREAD.size
        memory[start:end] = _THREAD.pack(get_ident())
        try:
            yield
        finally:
            self._on_return()
            memory[start:end] = _FREE_THREAD
            self._free.append(start)

    def _cell(self) -> int:
        try:
            return self._free.pop()
        except IndexError:
            return _THREAD.size * (next(self._cells) % _MAX_THREADS)


class CallsOut:
    """A cell for each call that has started and not come back; used by all threads."""

    def __init__(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._free = list(range(_CALLS_END - _CALL_BYTES, _CALLS_AT - 1, -_CALL_BYTES))
        # By the number of a call.
        self._cells: dict[int, int] = {}

    def note(self, report: Noted) -> None:
        """A call is about to be made, or has come back.

        Where there are more of them than cells, the others are nobody's when the process ends.
        """
        if isinstance(report, Called):
            self._note_started(report)
        elif (cell := self._cells.pop(report.call, None)) is not None:
            self._memory[cell : cell + _LENGTH.size] = _FREE_CALL
            self._free.append(cell)

    def _note_started(self, called: Called) -> None:
        try:
            cell = self._cells[called.call] = self._free.pop()
        except IndexError:
            return
        body = _encoder.encode(called)
        if len(body) > _CALL_BYTES - _LENGTH.size:
            body = _encoder.encode(msgspec.structs.replace(called, slot=""))  # its backend, then
        start = cell + _LENGTH.size
        self._memory[start : start + len(body)] = body
        # The length comes last: half a mark is none.
        self._memory[cell:start] = _LENGTH.pack(len(body))


def threads_inside(descriptor: int) -> frozenset[int]:
    """Identifiers of the threads that were inside when the process ended."""
    data = os.pread(descriptor, _CALLS_AT, _OFFSET)
    complete_size = len(data) - len(data) % _THREAD.size
    return frozenset(ident for (ident,) in _THREAD.iter_unpack(data[:complete_size]) if ident)


def calls_out(descriptor: int) -> tuple[Called, ...]:
    """The calls that were out when the process ended, in the order in which they were made.

    What is damaged is left out: a library that crashes may have written here.
    """
    data = os.pread(descriptor, _CALLS_END - _CALLS_AT, _OFFSET + _CALLS_AT)
    calls = []
    for cell in range(0, len(data) - _LENGTH.size, _CALL_BYTES):
        (length,) = _LENGTH.unpack_from(data, cell)
        if not length:
            continue
        start = cell + _LENGTH.size
        try:
            calls.append(msgspec.msgpack.decode(data[start : start + length], type=Called))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return tuple(sorted(calls, key=lambda called: called.call))

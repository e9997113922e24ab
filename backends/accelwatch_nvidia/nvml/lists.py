"""Lists whose length the driver reports: it is checked before memory is allocated for it.

The binding's own functions allocate as much memory as the driver says, and make an object of each row.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from ctypes import byref, c_uint, c_ulonglong, create_string_buffer
from functools import partial
from heapq import nlargest
from struct import Struct
from typing import Any, NamedTuple

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import MAX_PROCESSES
from accelwatch_nvidia import returns
from accelwatch_nvidia.nvml.nvml import DeviceCalls

# A third of the pids that Linux gives out on a small machine; more is no count of processes.
MAX_ROWS = 1 << 17
_FIRST_ROOM = 64
_TRIES = 3
# nvmlProcessInfo_v2_t (nvml.h): pid, used memory, GPU instance, compute instance.
_RUNNING = Struct("@IQII")
# nvmlProcessUtilizationSample_t (nvml.h): pid, time, SM, memory, encoder and decoder in percent.
_SAMPLE = Struct("@IQIIII")
_NOT_AVAILABLE = (1 << 64) - 1


class Running(NamedTuple):
    """A process with a context; memory in bytes, None where the driver does not report it."""

    pid: int
    used_bytes: int | None


class Sample(NamedTuple):
    """How busy a process kept the SMs up to a moment in microseconds, in percent."""

    pid: int
    time_us: int
    sm_percent: int


class Listed(NamedTuple):
    """Processes with a context, at most MAX_PROCESSES: those with the most memory."""

    processes: list[Running]
    # How many the driver reported.
    total: int


def running(calls: DeviceCalls, functions: Sequence[str]) -> Listed | Absence:
    """Processes by the first function that this driver has and the device supports."""
    answer: _Rows | Absence = Absence.UNSUPPORTED
    for function in functions:
        answer = _query(calls, function, _RUNNING, _FIRST_ROOM, _count_first)
        if answer is not Absence.UNSUPPORTED:
            break
    if isinstance(answer, Absence):
        return answer
    rows: Iterable[tuple[int, ...]] = answer
    if answer.total > MAX_PROCESSES:
        rows = nlargest(MAX_PROCESSES, rows, key=_reported_memory)
    processes = [Running(row[0], None if row[1] == _NOT_AVAILABLE else row[1]) for row in rows]
    return Listed(processes, answer.total)


def samples(calls: DeviceCalls, since_us: int, pids: Container[int]) -> list[Sample] | Absence:
    """Utilisation samples of these processes that are newer than a moment."""
    arrange = partial(_rows_first, since_us)
    answer = _query(calls, "nvmlDeviceGetProcessUtilization", _SAMPLE, 0, arrange)
    if isinstance(answer, Absence):
        return answer
    return [Sample(*row[:3]) for row in answer if row[0] in pids]


def _reported_memory(row: tuple[int, ...]) -> int:
    return 0 if row[1] == _NOT_AVAILABLE else row[1]


def _count_first(count: Any, rows: Any) -> tuple[Any, ...]:
    return count, rows


def _rows_first(since_us: int, count: Any, rows: Any) -> tuple[Any, ...]:
    return rows, count, c_ulonglong(since_us)


class _Rows:
    """The rows of an answer, unpacked one by one: a hundred thousand of them would fill the memory."""

    def __init__(self, layout: Struct, buffer: Any, total: int) -> None:
        self.total = total
        self._layout = layout
        self._bytes = memoryview(buffer or b"").cast("B")[: total * layout.size]

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return self._layout.iter_unpack(self._bytes)


def _query(
    calls: DeviceCalls,
    function: str,
    layout: Struct,
    room: int,
    arrange: Callable[[Any, Any], tuple[Any, ...]],
) -> _Rows | Absence:
    """Query with some room, and with as much as is needed when that was too little."""
    call = calls.symbol(function)
    if call is None:
        return Absence.UNSUPPORTED
    for _ in range(_TRIES):
        count, rows = c_uint(room), create_string_buffer(room * layout.size) if room else None
        code = call(calls.handle, *arrange(byref(count), rows))
        if code == returns.SUCCESS:
            return _Rows(layout, rows, min(count.value, room))
        if code != returns.INSUFFICIENT_SIZE:
            return calls.absence_of(code, (function,))
        if count.value > MAX_ROWS:
            break
        room = count.value + count.value // 4 + 16  # more may have come meanwhile
    return Absence.ERROR

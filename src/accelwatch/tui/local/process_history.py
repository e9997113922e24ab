"""What processes did in the last five minutes, for as many of them as a machine normally has."""

import math
from array import array

from accelwatch.schema.reading import Process
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.local.history import FINE_S, FINE_SIZE, Ring

TRACKED = ("gpu_memory_bytes", "utilization_ratio", "cpu_utilization_ratio")
# Processes that are followed; 3.6 KiB each.
MOST = 1024
_FORGET_S = 60.0
Key = tuple[int, float | None, str]


def tracked_values(process: Process) -> tuple[float, ...]:
    """The tracked quantities of a process; NaN for what it does not have."""
    values = (process.gpu_memory_bytes, process.utilization_ratio, process.cpu_utilization_ratio)
    return tuple(math.nan if value is None else value for value in values)


class ProcessHistory:
    """Rings by pid, start time and device."""

    def __init__(self) -> None:
        self._rings: dict[Key, tuple[Ring, float]] = {}

    def record(self, shot: Snapshot) -> None:
        """Add the processes of a snapshot; those that ended a minute ago are forgotten."""
        for view in shot.devices:
            if view.sample_time is None:
                continue
            for process in view.reading.processes or ():
                self._add_sample(process, view.sample_time)
        if len(self._rings) > MOST // 2:
            old = shot.time - _FORGET_S
            self._rings = {k: entry for k, entry in self._rings.items() if entry[1] > old}

    def _add_sample(self, process: Process, timestamp: float) -> None:
        key = (process.pid, process.start_time, process.device_id)
        entry = self._rings.get(key)
        if entry is None:
            if len(self._rings) >= MOST:
                return
            entry = (Ring(FINE_S, FINE_SIZE, len(TRACKED)), 0.0)
        if entry[1] == timestamp:
            return
        entry[0].add(timestamp, tracked_values(process))
        self._rings[key] = (entry[0], timestamp)

    def series(
        self, process: Process, quantity: str, until: float, *, stands: bool = False
    ) -> "array[float]":
        """The five minutes before `until`, oldest first; NaN where nothing is known.

        With `stands` the last value is still the present one.
        """
        entry = self._rings.get((process.pid, process.start_time, process.device_id))
        if entry is None:
            return array("f", [math.nan])
        return entry[0].series(TRACKED.index(quantity), until, stands=stands)

    def clear(self) -> None:
        """Forget everything."""
        self._rings.clear()

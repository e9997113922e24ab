"""What the collection says about itself: how cycles went, what the processes use."""

from collections import Counter

from accelwatch.accumulate import WINDOW_S
from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Number, Reading
from accelwatch.store.reports import Cycle, Heartbeat
from accelwatch.store.usage import cpu_seconds, resident_bytes

Own = dict[tuple[str, ...], Number]


class _Collector:
    def __init__(self) -> None:
        self.up = 0
        self.duration_s: float | None = None
        self.last_success: float | None = None
        self.cycles: Counter[str] = Counter()


class SelfMetrics:
    """Series of the `collector_*` and `exporter_*` families that the collection fills."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._collectors: dict[str, _Collector] = {}
        self._heartbeat: Heartbeat | None = None
        self._cpu_before_s = 0.0

    def cycle(self, cycle: Cycle) -> None:
        """A collector has ended a cycle; a skipped one says nothing about success."""
        found = self._collectors.setdefault(cycle.backend, _Collector())
        found.cycles[cycle.result] += 1
        if cycle.result == "skipped":
            return
        found.up = int(cycle.result == "ok")
        found.duration_s = cycle.duration_s
        if cycle.result == "ok":
            found.last_success = cycle.wall

    def down(self, backend: str) -> None:
        """A backend cannot be used, or its process has ended."""
        self._collectors.setdefault(backend, _Collector()).up = 0

    def all_down(self) -> None:
        """The collector process has ended."""
        for found in self._collectors.values():
            found.up = 0
        if self._heartbeat is not None:
            self._cpu_before_s += self._heartbeat.cpu_s
            self._heartbeat = None

    def heartbeat(self, heartbeat: Heartbeat) -> None:
        """What the collector process uses."""
        self._heartbeat = heartbeat

    def series(self, readings: list[tuple[str, Reading]], vendors: dict[str, str]) -> Own:
        """All series now, from complete readings by backend, and each backend's vendor."""
        own: Own = {("exporter_window_seconds",): WINDOW_S}
        for vendor in sorted(set(vendors.values())):
            own["exporter_sample_interval_seconds", vendor] = self._interval_s
        for name, found in sorted(self._collectors.items()):
            own["collector_up", name] = found.up
            if found.duration_s is not None:
                own["collector_duration_seconds", name] = found.duration_s
            if found.last_success is not None:
                own["collector_last_success_timestamp_seconds", name] = found.last_success
            for result, total in sorted(found.cycles.items()):
                own["collector_cycles_total", name, result] = total
        own.update(_unavailable(readings))
        own.update(self._usage())
        return own

    def _usage(self) -> Own:
        own: Own = {("exporter_cpu_seconds_total", "server"): cpu_seconds()}
        resident = resident_bytes()
        if resident:
            own["exporter_resident_memory_bytes", "server"] = resident
        if self._heartbeat is not None:
            own["exporter_cpu_seconds_total", "collector"] = (
                self._cpu_before_s + self._heartbeat.cpu_s
            )
            if self._heartbeat.resident_bytes:
                own["exporter_resident_memory_bytes", "collector"] = self._heartbeat.resident_bytes
        return own


def _unavailable(readings: list[tuple[str, Reading]]) -> Own:
    """Distinct quantities a collector could not read, by reason; devices wholly absent aside."""
    found: set[tuple[str, str, Absence]] = set()
    for backend, reading in readings:
        for series, reason in reading.absent.items():
            if series != ("*",) and reason is not Absence.NOT_COLLECTED:
                found.add((backend, series[0], reason))
    totals = Counter((backend, reason.value) for backend, _, reason in found)
    return {("collector_unavailable_quantities", *key): n for key, n in sorted(totals.items())}

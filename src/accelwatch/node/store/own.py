"""What the collection says about itself: how cycles went, what the processes use."""

from collections import Counter
from collections.abc import Mapping, Sequence

from accelwatch.base.absence import Absence
from accelwatch.node.store.accumulate import WINDOW_S
from accelwatch.node.store.reports import Cycle, Heartbeat
from accelwatch.node.store.usage import cpu_seconds, resident_bytes
from accelwatch.node.store.vanished import Vanished
from accelwatch.schema.device import DeviceState
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from accelwatch.schema.snapshot import DeviceView, is_host, physical_devices

Own = dict[tuple[str, ...], Number]
# By backend, which quantities are absent and why.
_Absences = list[tuple[str, Mapping[Series, Absence]]]


class Unavailable:
    """How many quantities each collector could not read, by reason.

    It counts again only when a device leaves out other quantities than before.
    """

    def __init__(self) -> None:
        self._absences: _Absences = []
        self._series: dict[tuple[str, ...], Number] = {}

    def series(self, views: Sequence[tuple[str, DeviceView]]) -> dict[tuple[str, ...], Number]:
        """Distinct quantities by collector and reason; devices wholly absent aside.

        Devices of one kind share one mapping of what they leave out: it is counted once.
        """
        silent = {(backend, id(view.unreported)): view.unreported for backend, view in views}
        absences: _Absences = [(backend, view.reading.absent) for backend, view in views]
        absences += [(backend, unreported) for (backend, _), unreported in silent.items()]
        if absences != self._absences:
            self._absences, self._series = absences, _counted(absences)
        return self._series


def _counted(absences: _Absences) -> dict[tuple[str, ...], Number]:
    reasons: set[tuple[str, str, Absence]] = set()
    for backend, absent in absences:
        for series, reason in absent.items():
            if series != ("*",) and reason is not Absence.NOT_COLLECTED:
                reasons.add((backend, series[0], reason))
    totals = Counter((backend, reason.value) for backend, _, reason in reasons)
    return {("collector_unavailable_quantities", *key): n for key, n in sorted(totals.items())}


class _Collector:
    def __init__(self) -> None:
        self.up = 0
        self.duration_s: float | None = None
        self.last_success: float | None = None
        self.cycles: Counter[str] = Counter()


class SelfMetrics:
    """Series of the `collector_*` and `exporter_*` families that the collection fills."""

    def __init__(self, interval_s: float, expect: int = 0) -> None:
        """`expect` devices must be there; 0: nobody says."""
        self._interval_s = interval_s
        self._expect = expect
        self._collectors: dict[str, _Collector] = {}
        self._heartbeat: Heartbeat | None = None
        self._cpu_before_s = 0.0
        self._vanished = Vanished()
        self._unavailable = Unavailable()

    def cycle(self, cycle: Cycle) -> None:
        """A collector has ended a cycle; a skipped one says nothing about success."""
        collector = self._collectors.setdefault(cycle.backend, _Collector())
        collector.cycles[cycle.result] += 1
        if cycle.result == "skipped":
            return
        collector.up = int(cycle.result == "ok")
        collector.duration_s = cycle.duration_s
        if cycle.result == "ok":
            collector.last_success = cycle.wall

    def down(self, backend: str) -> None:
        """A backend cannot be used, or its process has ended."""
        self._collectors.setdefault(backend, _Collector()).up = 0

    def pace(self, interval_s: float) -> None:
        """Another collector process reads at this interval; nothing was down."""
        self._interval_s = interval_s
        self._process_over()

    def all_down(self) -> None:
        """The collector process has ended."""
        for collector in self._collectors.values():
            collector.up = 0
        self._process_over()

    def _process_over(self) -> None:
        """What the process used is counted on by the next one."""
        if self._heartbeat is not None:
            self._cpu_before_s += self._heartbeat.cpu_s
            self._heartbeat = None

    def heartbeat(self, heartbeat: Heartbeat) -> None:
        """What the collector process uses."""
        self._heartbeat = heartbeat

    def series(self, views: list[tuple[str, DeviceView]], vendors: dict[str, str]) -> Own:
        """All series now, from views by backend, and each backend's vendor."""
        own: Own = {("exporter_window_seconds",): WINDOW_S}
        for vendor in sorted(set(vendors.values())):
            own["exporter_sample_interval_seconds", vendor] = self._interval_s
        for name, collector in sorted(self._collectors.items()):
            own["collector_up", name] = collector.up
            if collector.duration_s is not None:
                own["collector_duration_seconds", name] = collector.duration_s
            if collector.last_success is not None:
                own["collector_last_success_timestamp_seconds", name] = collector.last_success
            for result, total in sorted(collector.cycles.items()):
                own["collector_cycles_total", name, result] = total
        if self._expect:
            devices = physical_devices(view for _, view in views if not is_host(view.device))
            own["collector_devices_expected",] = self._expect
            own["collector_devices",] = sum(
                device_view.state is not DeviceState.LOST for device_view in devices
            )
        own.update(self._unavailable.series(views))
        own.update(self._vanished.series(views))
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

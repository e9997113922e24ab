"""Everything that is read from one card: sysfs, hwmon and fdinfo, then Sysman where it is at hand."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from accelwatch.backend import Request
from accelwatch.base.absence import Absence
from accelwatch.schema.device import Device, DeviceKind
from accelwatch.schema.reading import Collected, Link, Process, Reading
from accelwatch.system.kernel import sysfs
from accelwatch.system.kernel.drm_fdinfo import FdinfoScanner
from accelwatch_intel import identity
from accelwatch_intel.card import Card
from accelwatch_intel.clients import Clients, Usage, with_facts
from accelwatch_intel.rates import Rates
from accelwatch_intel.sysfs import energy, gt, hwmon, i915, npu, xe
from accelwatch_intel.sysfs.static_readings import StaticReadings
from accelwatch_intel.sysman import health, readers
from accelwatch_intel.sysman.device import Sink, SysmanCard

# Quantities that may come from the clients' fdinfo.
_OF_CLIENTS = ("engine_utilization_ratio", "utilization_ratio", "memory_used_bytes")
_CLEAN = "No error state collected"
_ENERGY_KEYS = ("power_watts", "energy_joules_total")
_PACKAGE_SOURCE = "hwmon pkg"


class CardReader:
    """Reads one card again and again; keeps what does not change and the last counters."""

    def __init__(
        self, root: Path, card: Card, scanner: FdinfoScanner, *, one_shot: bool = False
    ) -> None:
        self.card = card
        self._root = root
        self._one_shot = one_shot
        self._rates = Rates(Absence.NOT_COLLECTED if one_shot else Absence.ERROR)
        self._clients = Clients(root, scanner, card)
        find = {"xe": xe.find_gts, "i915": i915.find_gts}.get(card.driver or "")
        self._gts = find(card) if find else ()
        self.tiles = _tiles(self._gts)
        self._static: StaticReadings | None = None

    def prime(self, device: Device, now: float, sysman: SysmanCard | None) -> None:
        """Read the counters once, so that the next reading has a difference. Raises DeviceLost."""
        out = Collected(device.id)
        if self.card.kind is DeviceKind.NPU:
            npu.read(self.card, self._rates, now, out)
        else:
            tiles = (hwmon.find_tile(self.card, tile) for tile in self.tiles)
            for sensors in (hwmon.find(self.card), *tiles):
                if sensors is not None:
                    energy.read_energy(sensors, self._rates, now, out, detail=True)
        self._busy_bounds(now)
        if sysman is not None:
            tile_values = {tile: Collected(f"{device.id}/{tile}") for tile in self.tiles}
            readers.read(sysman, Sink(out, tile_values))
        self._clients.read(device.id, now, Request(processes=False))

    def read(
        self, device: Device, request: Request, now: float, sysman: SysmanCard | None
    ) -> list[Reading]:
        """The card's reading, then one of each tile of a multi-tile card. Raises DeviceLost."""
        card_values = Collected(device.id)
        tile_values = {
            tile: Collected(identity.tile_device(device, tile).id) for tile in self.tiles
        }
        sink = Sink(card_values, tile_values)
        if self._static is None or request.slow:
            self._static = StaticReadings(self.card, self._gts, self.tiles)
        self._static.fill(card_values, tile_values)
        if self.card.kind is DeviceKind.NPU:
            npu.read(self.card, self._rates, now, card_values)
        counter = self._read_sysfs(
            card_values, self._gts, self._static.sensors, now, request.groups
        )
        bounds = self._busy_bounds(now)
        if self._one_shot and card_values.absent.get(("power_watts",)) is self._rates.still:
            bounds = [(group, self._believed(bound)) for group, bound in bounds]
        for tile, out in tile_values.items():
            mine = [group for group in self._gts if group.tile == tile]
            sensors = self._static.tile_sensors.get(tile)
            self._read_sysfs(out, mine, sensors, now, frozenset())
        if sysman is not None:
            readers.read(sysman, sink)
        _report_numbers(card_values, tile_values, request)
        usage = self._clients.read(device.id, now, request)
        sources = self._fill_usage(card_values, usage, bounds)
        for tile, out in tile_values.items():
            _fill_busy(out, _largest(bounds, tile))
        if counter == energy.PACKAGE:
            measured = {key for key, *_ in card_values.values}.intersection(_ENERGY_KEYS)
            sources |= dict.fromkeys(sorted(measured), _PACKAGE_SOURCE)
        links: tuple[Link, ...] = ()
        notes: tuple[str, ...] = ()
        if sysman is not None:
            notes = health.memory_notes(sysman)
            links = health.links(sysman) if "links" in request.groups else ()
        sources |= dict.fromkeys(sorted(sink.sources), "sysman")
        notes = (*_notes(usage, sources), *self._fault_notes(), *notes)
        reading = card_values.reading(
            processes=self._processes(card_values, device, usage, request, sysman),
            links=links,
            sources={"*": "sysfs", **sources},
            notes=notes,
        )
        return [reading, *(_tile_reading(out) for out in tile_values.values())]

    def _read_sysfs(
        self,
        out: Collected,
        gts: Sequence[gt.Gt],
        sensors: hwmon.Sensors | None,
        now: float,
        groups: frozenset[str],
    ) -> str | None:
        """Load, heat and power from files; returns the label of the energy counter that was used."""
        gt.read_clocks(gts, out)
        gt.read_throttle(gts, out)
        if sensors is None:
            return None
        hwmon.read_temperatures(sensors, out)
        hwmon.read_fans(sensors, out)
        detail = "components" in groups
        if detail:
            hwmon.read_voltages(sensors, out)
        return energy.read_energy(sensors, self._rates, now, out, detail=detail)

    def _busy_bounds(self, now: float) -> list[tuple[gt.Gt, float | Absence]]:
        return [(group, gt.busy_bound(group, self._rates, now)) for group in self._gts]

    def _believed(self, bound: float | Absence) -> float | Absence:
        """No full load where for a moment the energy counter stood still too: nothing was counted."""
        return self._rates.still if bound == 1.0 else bound

    def _fill_usage(
        self, out: Collected, usage: Usage, bounds: list[tuple[gt.Gt, float | Absence]]
    ) -> dict[str, str]:
        """Busy ratios and memory from fdinfo, where nothing better gave them; where each came from."""
        sources: dict[str, str] = {}
        for engine, ratio in usage.engines.items():
            if usage.is_complete and ("engine_utilization_ratio", engine) not in out.values:
                out.put("engine_utilization_ratio", ratio, engine)
                sources["engine_utilization_ratio"] = "fdinfo"
        if ("utilization_ratio",) not in out.values:
            if usage.is_complete and usage.measured and usage.engines:
                out.put("utilization_ratio", max(usage.engines.values()))
                sources["utilization_ratio"] = "fdinfo"
            elif _fill_busy(out, _largest(bounds)):
                sources["utilization_ratio"] = "gtidle"
        if ("memory_used_bytes",) not in out.values:
            if usage.is_complete and usage.memory_bytes is not None:
                out.put("memory_used_bytes", usage.memory_bytes)
                sources["memory_used_bytes"] = "fdinfo"
            elif ("memory_used_bytes",) not in out.absent:
                out.miss("memory_used_bytes", _why_no_sum(usage))
        return sources

    def _processes(
        self,
        out: Collected,
        device: Device,
        usage: Usage,
        request: Request,
        sysman: SysmanCard | None,
    ) -> tuple[Process, ...] | None:
        if not request.processes:
            out.miss("processes", Absence.NOT_COLLECTED)
            return None
        by_pid = {process.pid: process for process in usage.processes}
        for process in readers.processes(sysman, device.id) if sysman else ():
            if process.pid not in by_pid:
                by_pid[process.pid] = with_facts(self._root, process, argv=request.argv)
        if not by_pid and usage.visited and usage.unreadable == usage.visited:
            out.miss("processes", Absence.PERMISSION)
            return None
        return tuple(by_pid[pid] for pid in sorted(by_pid))

    def _fault_notes(self) -> list[str]:
        """Records of a hang that wait to be fetched; they are looked for, not read out."""
        notes = []
        if (self.card.folder / "devcoredump").exists():
            notes.append("the driver holds a device core dump of a hang (devcoredump)")
        if self.card.driver == "i915" and self.card.node_folder is not None:
            state = _first_line(self.card.node_folder / "error")
            if state and _CLEAN not in state:
                notes.append("the driver holds an error state of a GPU hang (error)")
        return notes


def _report_numbers(
    card_values: Collected, tile_values: dict[int, Collected], request: Request
) -> None:
    """Report what is known before the clients are read; load and memory may come from them."""
    if not request.processes:
        return
    readings = []
    for out in (card_values, *tile_values.values()):
        early = Collected(out.device_id)
        early.values, early.absent = dict(out.values), dict(out.absent)
        for key in _OF_CLIENTS:
            early.miss(key, Absence.TIMEOUT)
        readings.append(early.reading(sources={"*": "sysfs"}))
    request.numbers(readings)


def _first_line(path: Path) -> str:
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(64).decode("utf-8", "replace")
    except OSError:
        return ""


def _tiles(gts: Iterable[gt.Gt]) -> tuple[int, ...]:
    """Numbers of the tiles, when there are several."""
    numbers = sorted({group.tile for group in gts})
    return tuple(numbers) if len(numbers) > 1 else ()


def _largest(
    bounds: list[tuple[gt.Gt, float | Absence]], tile: int | None = None
) -> float | Absence:
    """Busy bound of the graphics GT that was busiest, or the reason why none is known."""
    mine = [
        value
        for group, value in bounds
        if group.domain == "graphics" and tile in (None, group.tile)
    ]
    numbers = [value for value in mine if not isinstance(value, Absence)]
    if numbers:
        return max(numbers)
    return next((value for value in mine if isinstance(value, Absence)), Absence.UNSUPPORTED)


def _why_no_sum(usage: Usage) -> Absence:
    """Reason for a missing sum over clients."""
    if usage.unreadable or (usage.visited and usage.hidden):
        return Absence.PERMISSION
    return usage.absence or Absence.UNSUPPORTED


def _fill_busy(out: Collected, bound: float | Absence) -> bool:
    if ("utilization_ratio",) in out.values:
        return False
    if isinstance(bound, Absence):
        if bound is not Absence.UNSUPPORTED:
            out.miss("utilization_ratio", bound)
        return False
    out.put("utilization_ratio", bound)
    return True


def _notes(usage: Usage, sources: dict[str, str]) -> list[str]:
    notes = []
    if usage.unreadable:
        readable = usage.visited - usage.unreadable
        notes.append(f"fdinfo of {readable} of {usage.visited} processes readable")
    if usage.visited and usage.hidden:
        notes.append("processes of other pid namespaces are not visible")
    if sources.get("utilization_ratio") == "gtidle":
        notes.append("utilization is an upper bound: the time outside the idle state")
    elif sources.get("utilization_ratio") == "fdinfo":
        notes.append("utilization is the busiest engine's time over all clients")
    if _PACKAGE_SOURCE in sources.values():
        notes.append("power and energy are the GPU package's: no counter of the whole card counts")
    return notes


def _tile_reading(out: Collected) -> Reading:
    out.miss("processes", Absence.UNSUPPORTED)
    return out.reading(sources={"*": "sysfs"})


def is_lost(card: Card, *, asleep: bool) -> bool:
    """Whether the function is gone, or its configuration space reads as all ones (off the bus).

    The configuration space of a sleeping function is not read: the kernel would wake it.
    """
    if not card.folder.exists():
        return True
    if asleep:
        return False
    header = sysfs.read_bytes(card.folder / "config")
    return isinstance(header, bytes) and len(header) >= 4 and header[:4] == b"\xff" * 4

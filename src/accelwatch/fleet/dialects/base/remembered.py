"""The earlier data of one target: its devices, for when it cannot read them, and counts of events.

An exporter that has lost a device often loses the names of it too, or of all: what it says then is about
the devices that it reported before.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.backend.kit.cpu_time import CpuTimes
from accelwatch.schema.device import ABSENCE_WITHOUT_VALUES, UP, Device, DeviceState
from accelwatch.schema.health import evaluate_health
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import DeviceView, EventCount

MAX_COUNTS = 1 << 16


class Failure(NamedTuple):
    """That an exporter read none of its devices."""

    # Whether it says that one of them is lost, but not which.
    lost: bool
    note: str


class _CachedDevice(NamedTuple):
    device: Device
    read_at: float
    counts: tuple[EventCount, ...]


class _Since(NamedTuple):
    state: DeviceState
    time: float


class Remembered:
    """The memory of one target; every dialect of its page has its own devices in it."""

    def __init__(self) -> None:
        # Processor times of the scrape before, by dialect.
        self.times: dict[str, CpuTimes] = {}
        self._devices: dict[str, dict[str, _CachedDevice]] = {}
        # Since when a dialect's exporter reads no device.
        self._failing: dict[str, float] = {}
        self._counts: dict[tuple[str, str], tuple[int, float]] = {}
        self._since: dict[str, dict[str, _Since]] = {}

    def last_time(self, device_id: str, code: str, total: int, now: float) -> float:
        """When a count without a time last grew; 0.0 when that was before its first scrape."""
        before = self._counts.get((device_id, code))
        if before is None and len(self._counts) >= MAX_COUNTS:
            return 0.0
        grown = before is not None and total > before[0]
        grown_at = now if grown else 0.0 if before is None else before[1]
        self._counts[device_id, code] = total, grown_at
        return grown_at

    def completed(
        self, dialect: str, views: Sequence[DeviceView], failure: Failure | None, now: float
    ) -> tuple[DeviceView, ...]:
        """The devices as they stand, those of before where the exporter cannot name or read them."""
        cached = self._devices.setdefault(dialect, {})
        if failure is not None and not views:
            since = self._failing.setdefault(dialect, now)
            state = DeviceState.UNRESPONSIVE
            if (
                failure.lost
                and sum(entry.device.parent_id is None for entry in cached.values()) == 1
            ):
                state = DeviceState.LOST
            return tuple(
                _unread(entry, state, since, now, failure.note) for entry in cached.values()
            )
        self._failing.pop(dialect, None)
        named = tuple(self._named(view, cached, views) for view in views)
        self._learn(dialect, named, now)
        return named

    def since(
        self, dialect: str, views: Sequence[DeviceView], now: float
    ) -> tuple[DeviceView, ...]:
        """The devices, each in its state since the first page that said so; no page says since when.

        A view that knows better keeps its time. One that is not well on the first page that has it may
        have been so for long: 0.0.
        """
        before, here = self._since.get(dialect, {}), dict[str, _Since]()
        dated = []
        for view in views:
            id_ = view.device.id
            entry = before.get(id_)
            if entry is None and view.state_since == now and view.state is not DeviceState.OK:
                entry = _Since(view.state, 0.0)
            elif entry is None or entry.state is not view.state or view.state_since != now:
                entry = _Since(view.state, view.state_since)
            here[id_] = entry
            is_old = entry.time != view.state_since
            dated.append(msgspec.structs.replace(view, state_since=entry.time) if is_old else view)
        self._since[dialect] = here
        return tuple(dated)

    def _named(
        self, view: DeviceView, cached: Mapping[str, _CachedDevice], views: Iterable[DeviceView]
    ) -> DeviceView:
        """A lost device under the name that it had; it stands in the exporter's order as before."""
        device = view.device
        if view.state is not DeviceState.LOST or device.uuid or device.pci_bus_id:
            return view
        here = {other.device.id for other in views}
        for entry in cached.values():
            before = entry.device
            same = before.parent_id is None and before.index == device.index
            if same and before.id not in here and before.vendor == device.vendor:
                return msgspec.structs.replace(
                    view,
                    device=before,
                    reading=msgspec.structs.replace(view.reading, device_id=before.id),
                    sample_time=entry.read_at,
                    sample_age_s=max(0.0, view.state_since - entry.read_at),
                )
        return view

    def _learn(self, dialect: str, views: Sequence[DeviceView], now: float) -> None:
        before = self._devices[dialect]
        self._devices[dialect] = {
            view.device.id: _CachedDevice(view.device, now, view.event_counts)
            if view.state in UP or view.device.id not in before
            else before[view.device.id]
            for view in views
        }


def _unread(
    cached: _CachedDevice, state: DeviceState, since: float, now: float, note: str
) -> DeviceView:
    """A device that was there before, of which nothing can be read now."""
    reading = msgspec.structs.replace(
        wholly_absent(cached.device.id, ABSENCE_WITHOUT_VALUES[state]), notes=(note,)
    )
    verdict = evaluate_health(state, reading, (), now)
    return DeviceView(
        device=cached.device,
        state=state,
        state_since=since,
        reading=reading,
        sample_time=cached.read_at,
        sample_age_s=max(0.0, now - cached.read_at),
        health=verdict.health,
        health_reasons=verdict.reasons,
        event_counts=cached.counts,
    )

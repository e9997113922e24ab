"""Where the numbers of a device or partition are in our own text: the fixed half of it.

A row is made once for a layout of the text; of every later text with that layout views.py reads only the
numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.fleet.dialects.base.sharing import absence_reasons, picker, series_positions
from accelwatch.schema.device import ABSENCE_WITHOUT_VALUES, Device, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Link, Number
from accelwatch.schema.snapshot import Owner

_STATE_FAMILIES = ("device_up", "device_suspended", "device_last_read_timestamp_seconds")
_UNREADABLE = "device_unreadable_info"
_LAST_EVENT = "error_event_last_timestamp_seconds"
# Families that are no values of a reading.
_APART = frozenset(
    {
        *_STATE_FAMILIES,
        _UNREADABLE,
        "health",
        "error_events_total",
        _LAST_EVENT,
        "processes",
        "process_memory_used_bytes",
        "process_utilization_ratio",
        "device_info",
        "device_inventory_info",
        "partition_info",
        "link_info",
        "process_info",
        "kubernetes_allocation_info",
        "job_allocation_info",
    }
)


class EventSlots(NamedTuple):
    """A code of errors, and where it is counted."""

    code: str
    category: str
    total: int
    # Where the time of the last one is.
    last: int | None


class ProcessSlots(NamedTuple):
    """A process, and where its numbers are."""

    pid: int
    command: str | None
    user: str | None
    memory: int | None
    utilization: int | None


class ApartSlots(msgspec.Struct, frozen=True, kw_only=True):
    """Where the numbers are that are no values of a reading."""

    up: int | None = None
    suspended: int | None = None
    unreadable: tuple[tuple[DeviceState, int], ...] = ()
    read_at: int | None = None
    health: tuple[tuple[Health, int], ...] = ()
    events: tuple[EventSlots, ...] = ()
    process_counts: tuple[int, ...] = ()
    processes: tuple[ProcessSlots, ...] = ()


class OurRow(msgspec.Struct, kw_only=True):
    """One device or partition of our text: where its numbers are."""

    device: Device
    # Empty once it is settled.
    values: list[tuple[Series, int]] = []
    # Where the number of a series is among those that `pick` gives.
    positions: Mapping[Series, int] = {}
    pick: Callable[[Sequence[Number]], tuple[Number, ...]] = picker(())
    # Families that are no values of a reading; empty once it is settled.
    others: dict[Series, int] = {}
    apart: ApartSlots = ApartSlots()
    absent: dict[Series, Absence] = {}
    # The same while the text does not list the processes.
    unlisted: dict[Series, Absence] = {}
    owners: tuple[Owner, ...] = ()
    links: tuple[Link, ...] = ()
    commands: dict[int, tuple[str, str]] = {}
    # By key: part of the name, `le`, slot.
    histograms: dict[str, list[tuple[str, str, int]]] = {}
    partition_values: dict[str, list[tuple[Series, int]]] = {}
    partitions: "list[OurRow]" = []
    parent: "OurRow | None" = None

    def add_slot(self, family: str, series: Series, slot: int) -> None:
        """Note where a number is."""
        if family in _APART:
            self.others[series] = slot
        else:
            self.values.append((series, slot))

    def settle(self) -> None:
        """Everything has been put: from now on it is only read."""
        reported = frozenset(series for series, _ in self.values)
        self.absent, self.unlisted = (
            absence_reasons(reported, True),
            absence_reasons(reported, False),
        )
        self.positions = series_positions(tuple(series for series, _ in self.values))
        self.pick = picker(tuple(slot for _, slot in self.values))
        self.apart = _apart_slots(self.others, self.commands)
        self.values, self.others, self.commands = [], {}, {}


def _apart_slots(slots: dict[Series, int], commands: dict[int, tuple[str, str]]) -> ApartSlots:
    up, suspended, read_at = [slots.get((family,)) for family in _STATE_FAMILIES]
    return ApartSlots(
        up=up,
        suspended=suspended,
        unreadable=tuple(
            (DeviceState(series[1]), slot)
            for series, slot in slots.items()
            if series[0] == _UNREADABLE and series[1] in ABSENCE_WITHOUT_VALUES
        ),
        read_at=read_at,
        health=tuple(
            (level, slots["health", level.value])
            for level in Health
            if ("health", level.value) in slots
        ),
        events=tuple(
            EventSlots(series[1], series[2], slot, slots.get((_LAST_EVENT, *series[1:])))
            for series, slot in slots.items()
            if series[0] == "error_events_total"
        ),
        process_counts=tuple(slot for series, slot in slots.items() if series[0] == "processes"),
        processes=tuple(
            ProcessSlots(
                pid,
                command or None,
                user or None,
                slots.get(("process_memory_used_bytes", str(pid))),
                slots.get(("process_utilization_ratio", str(pid))),
            )
            for pid, (command, user) in commands.items()
        ),
    )

"""The reports of several exporters on a node's devices, as one: the rules, whoever gathers the parts.

Exporters share one page (`dialects.merge`) or are targets of their own (`state.joined`); here both find
which devices are the same, whose values count, and where each comes from. Parts come best first.
Pure.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from accelwatch.schema.device import UP, Device, DeviceState, normal_pci_bus_id, normal_uuid
from accelwatch.schema.health import Health, HealthEvaluation
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import Owner

# Quantities whose series are independent of each other: each may come from another exporter. All
# series of any other come from one, as two exporters may export the same under two labels.
_INDEPENDENT = frozenset(
    {
        "temperature_celsius",
        "temperature_limit_celsius",
        "clock_hertz",
        "clock_limit_hertz",
        "power_limit_watts",
    }
)

# What one exporter may know of a device's identity and another not.
_FACTS = (
    "model",
    "architecture",
    "uuid",
    "serial",
    "part_number",
    "firmware_version",
    "vbios_version",
    "driver_version",
    "pci_bus_id",
    "numa_node",
    "partition_profile",
    "partition_mode",
)
# Vendors whose driver numbers the devices of a node, and whose exporters export only that number.
_NUMBERED = frozenset({"neuron", "tpu"})
# Beginning of the names of dialects whose open CUDA plug-in exports only NVML's number of a device.
_BY_NUMBER = "backendai-"
_BADNESS: dict[str, int] = {Health.UNKNOWN: 0, Health.OK: 1, Health.DEGRADED: 2, Health.FAILED: 3}


class Same(NamedTuple):
    """One device of a node."""

    # As the first source describes it, with the facts that only others know.
    device: Device
    # Where it is reported: number of the source, and index in it; the first source first.
    positions: tuple[tuple[int, int], ...]


def identity(device: Device) -> str:
    """The best of the names by which a device is found again within its node."""
    return next(names_of(device))


def names_of(device: Device) -> Iterator[str]:
    """Best first; of a partition its position within the parent instead of a PCI address it shares."""
    if device.name == f"{device.vendor}{device.index}" and device.vendor in _NUMBERED:
        yield f"number:{device.name}"
    if device.uuid:
        yield f"uuid:{normal_uuid(device.uuid)}"
    if device.parent_id is not None:
        yield f"partition:{device.parent_id}/{device.partition or device.name}"
    elif device.pci_bus_id:
        yield f"pci:{normal_pci_bus_id(device.pci_bus_id)}"
    yield f"id:{device.id}"


def lookups(device: Device) -> Iterator[str]:
    """The names under which a device may have been met: also its number, where one of the two has
    only that."""
    yield from names_of(device)
    if device.parent_id is None:
        yield f"{'any' if _is_numbered(device) else 'numbered'}:{device.vendor}{device.index}"


def entries(device: Device) -> Iterator[str]:
    """The names under which a device can be met from now on."""
    yield from names_of(device)
    if device.parent_id is None:
        yield f"any:{device.vendor}{device.index}"
        if _is_numbered(device):
            yield f"numbered:{device.vendor}{device.index}"


def _is_numbered(device: Device) -> bool:
    """Whether an exporter exports only the number of a device, which our own agent has, too."""
    nameless = not (device.uuid or device.serial or device.pci_bus_id)
    return nameless and device.backend.startswith(_BY_NUMBER)


def same_devices(sources: Sequence[Sequence[Device]]) -> list[Same]:
    """Each device of a node once, in the order in which it is first reported."""
    same: list[Same] = []
    by_name: dict[str, int] = {}
    for number, devices in enumerate(sources):
        # What this source calls a device, to what it is called here.
        ids: dict[str, str] = {}
        met: dict[str, int] = {}
        # Whole devices first: their partitions may stand before them.
        for position in sorted(
            range(len(devices)), key=lambda at: devices[at].parent_id is not None
        ):
            device = _under(devices[position], ids)
            at = next((by_name[name] for name in lookups(device) if name in by_name), None)
            # One source never reports a device twice: two boards behind one address stay two.
            if at is None or same[at].positions[-1][0] == number:
                at = len(same)
                same.append(Same(device, ((number, position),)))
            else:
                before = same[at]
                facts = with_facts(before.device, device)
                same[at] = Same(facts, (*before.positions, (number, position)))
            ids[devices[position].id] = same[at].device.id
            for name in entries(device):
                met.setdefault(name, at)
        # Only from here on can its names be met, so that no device joins another of the same source; a
        # name keeps meaning whom it meant first.
        by_name = {**met, **by_name}
    return sorted(same, key=lambda entry: entry.positions[0])


def _under(device: Device, ids: dict[str, str]) -> Device:
    """A partition under what its parent is called here."""
    parent = device.parent_id
    if parent is None or ids.get(parent, parent) == parent:
        return device
    new = f"{ids[parent]}/{device.partition or device.name}"
    return msgspec.structs.replace(device, parent_id=ids[parent], id=new)


def with_facts(device: Device, other: Device) -> Device:
    """The device with what only the other description knows; true also of one that is lost."""
    added = {
        fact: value
        for fact in _FACTS
        if getattr(device, fact) is None and (value := getattr(other, fact)) is not None
    }
    if not added:
        return device
    absent = {fact: reason for fact, reason in device.absent.items() if fact not in added}
    return msgspec.structs.replace(device, **added, absent=absent)


def speaking(states: Sequence[str]) -> list[int]:
    """Which parts have a say in values and health, by their states.

    Where the first holds the device for gone or asleep, what others still count are frozen numbers:
    it speaks alone. Where only another does, that one is silent.
    """
    if states[0] not in UP:
        return [0]
    return [at for at, state in enumerate(states) if state in UP]


class HealthReport(NamedTuple):
    """What one speaking part says of a device."""

    state: str
    health: str
    reasons: Sequence[str]


def health_of(reports: Sequence[HealthReport]) -> HealthEvaluation:
    """The worst that reporting parts have, and all that they say to be wrong.

    Exporters see different things wrong and none sees all: what one calls degraded, or fine, hides no
    failure that another sees. A later one that reads the device badly is degraded itself, which is
    nothing about the device.
    """
    counted = [
        report
        for at, report in enumerate(reports)
        if not (at and report.state == DeviceState.DEGRADED and report.health == Health.DEGRADED)
    ]
    worst = max((report.health for report in counted), key=lambda health: _BADNESS.get(health, 0))
    reasons = dict.fromkeys(reason for report in counted for reason in report.reasons)
    return HealthEvaluation(Health(worst), tuple(reasons))


def united(owners: Iterable[Sequence[Owner]]) -> tuple[Owner, ...]:
    """Every owner in any part, once."""
    return tuple(dict.fromkeys(owner for some in owners for owner in some))


def may_fill(series: Series, keys: Collection[str]) -> bool:
    """Whether a later part may give a series, after earlier ones have given series of these keys."""
    return series[0] not in keys or series[0] in _INDEPENDENT


def reading_of(device_id: str, readings: Sequence[tuple[str, Reading]]) -> Reading:
    """One reading of speaking parts, each with the name of its exporter.

    Absences are those of the first, for what no part has; `sources` says of every key that the first
    does not have where it is from.
    """
    first = readings[0][1]
    values = dict(first.values)
    keys = {series[0] for series in values}
    processes, links, sources = first.processes, first.links, dict(first.sources)
    for name, other in readings[1:]:
        added: dict[Series, Number] = {
            series: value
            for series, value in other.values.items()
            if series not in values and may_fill(series, keys)
        }
        new = {series[0] for series in added} - keys
        if processes is None and other.processes is not None:
            processes = other.processes
            new.add("processes")
        values |= added
        keys |= new
        links = links or other.links
        main = other.sources.get("*", name)
        sources = {**{key: other.sources.get(key, main) for key in sorted(new)}, **sources}
    # A value from a later part cancels the first's absence of its series, and that of the whole
    # quantity.
    absent = {
        series: reason
        for series, reason in first.absent.items()
        if series not in values and (len(series) > 1 or series[0] not in keys)
    }
    return msgspec.structs.replace(
        first,
        device_id=device_id,
        values=values,
        absent=absent,
        processes=processes,
        links=links,
        sources=sources,
        notes=tuple(dict.fromkeys(note for _, reading in readings for note in reading.notes)),
    )

"""Two exporters on one node, one list of devices: joined by uuid or PCI id, ours first. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.fleet.dialects.identity import normal_uuid
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.metrics import Series
from accelwatch.schema.snapshot import DeviceView

PRECEDENCE: tuple[str, ...] = (
    "accelwatch",
    "dcgm-exporter-4.9",
    "dcgm-exporter",
    "amd-device-metrics-exporter",
    "xpumd",
    "xpum",
    "gaudi-metric-exporter",
    "npu-exporter",
    "rbln-metrics-exporter",
    "furiosa-metrics-exporter",
    "neuron-monitor",
    "gke-tpu",
    "tt-metrics-exporter",
    "nvidia_gpu_exporter",
    "nvitop-exporter",
    "all-smi",
    "node_exporter",
    "red-hat",
)
"""Ours, then the vendor's, then others; a dialect that is not listed comes last."""

_BY_LABEL = frozenset(
    {
        "temperature_celsius",
        "temperature_limit_celsius",
        "clock_hertz",
        "clock_limit_hertz",
        "power_limit_watts",
    }
)
"""Quantities whose series are independent of each other: each may come from another exporter."""

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
_UP = (DeviceState.OK, DeviceState.DEGRADED)


def merge(
    views_by_dialect: Mapping[str, Sequence[DeviceView]], precedence: Sequence[str] = PRECEDENCE
) -> tuple[DeviceView, ...]:
    """Each device once. The first dialect of the precedence gives state and values, the others what it
    does not have; `reading.sources` then says by key where it is from.
    """
    order = {name: rank for rank, name in enumerate(precedence)}
    names = sorted(views_by_dialect, key=lambda name: (order.get(name, len(order)), name))
    merged: list[DeviceView] = []
    for name in names:
        known = _index(merged)
        fresh: list[DeviceView] = []
        parents: dict[str, str] = {}
        for view in views_by_dialect[name]:
            moved = _moved(view, parents)
            at = next((known[one] for one in _ids(moved.device) if one in known), None)
            if at is None:
                fresh.append(moved)
            else:
                parents[view.device.id] = merged[at].device.id
                merged[at] = _filled(merged[at], moved, name)
        merged += fresh
    return tuple(merged)


def _moved(view: DeviceView, parents: Mapping[str, str]) -> DeviceView:
    """A partition of a device that goes by another id here."""
    parent = view.device.parent_id
    if parent is None or parents.get(parent, parent) == parent:
        return view
    new = parents[parent]
    device = msgspec.structs.replace(
        view.device, parent_id=new, id=f"{new}/{view.device.partition or view.device.name}"
    )
    reading = msgspec.structs.replace(view.reading, device_id=device.id)
    return msgspec.structs.replace(view, device=device, reading=reading)


def _index(views: Sequence[DeviceView]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for at, view in enumerate(views):
        for one in _ids(view.device):
            found.setdefault(one, at)
    return found


def _ids(device: Device) -> list[tuple[str, str]]:
    """What a device is joined by: of a partition its place within the parent, else uuid and PCI id."""
    if device.parent_id is not None:
        ids = [("uuid", normal_uuid(device.uuid))] if device.uuid else []
        return [*ids, ("partition", f"{device.parent_id}/{device.partition}")]
    ids = [("uuid", normal_uuid(device.uuid))] if device.uuid else []
    return [*ids, ("pci", device.pci_bus_id)] if device.pci_bus_id else ids


def _filled(base: DeviceView, other: DeviceView, dialect: str) -> DeviceView:
    """The base with what only the other knows; nothing is filled in for a device that is not up."""
    missing = {
        field: getattr(other.device, field)
        for field in _FACTS
        if getattr(base.device, field) is None and getattr(other.device, field) is not None
    }
    device = msgspec.structs.replace(base.device, **missing) if missing else base.device
    changed = msgspec.structs.replace(
        base,
        device=device,
        owners=tuple(dict.fromkeys((*base.owners, *other.owners))),
        event_counts=base.event_counts or other.event_counts,
    )
    if base.health is Health.UNKNOWN and base.state in _UP:
        changed = msgspec.structs.replace(
            changed, health=other.health, health_reasons=other.health_reasons
        )
    if base.state not in _UP or other.state not in _UP:
        return changed
    return _with_values(changed, other, dialect)


def _with_values(base: DeviceView, other: DeviceView, dialect: str) -> DeviceView:
    values = dict(base.reading.values)
    keys = {series[0] for series in values}
    added: dict[Series, int | float] = {
        series: value
        for series, value in other.reading.values.items()
        if series not in values and (series[0] not in keys or series[0] in _BY_LABEL)
    }
    told = {series[0] for series in added}
    absent: dict[Series, Absence] = {
        series: reason
        for series, reason in base.reading.absent.items()
        if series not in added and not (len(series) == 1 and series[0] in told)
    }
    fills = base.reading.processes is None and other.reading.processes is not None
    if fills:
        absent.pop(("processes",), None)
        told.add("processes")
    reading = msgspec.structs.replace(
        base.reading,
        values={**values, **added},
        absent=absent,
        processes=other.reading.processes if fills else base.reading.processes,
        sources={**dict.fromkeys(sorted(told - keys), dialect), **base.reading.sources},
        notes=tuple(dict.fromkeys((*base.reading.notes, *other.reading.notes))),
    )
    return msgspec.structs.replace(base, reading=reading)

"""The field list that `--fields`, CSV headers, tables and completion share: identity and quantities.

A field is named by a key of the JSON document, or by a key and labels (`temperature_celsius.memory`).
"""

from collections.abc import Iterable
from functools import cache

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.errors import UsageError
from accelwatch.base.names.nearest import nearest
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import Device
from accelwatch.schema.json.wire import device_rows
from accelwatch.schema.metrics import Metric, Series
from accelwatch.schema.reading import Number
from accelwatch.schema.series import path_of, primary_value, series_of
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.timestamps import timestamp

Cell = str | Number | None

_IDENTITY_HELP = {
    "id": "Stable name: vendor and uuid, serial or PCI id.",
    "vendor": "Vendor of the device.",
    "backend": "Backend that reads it.",
    "index": "Number in the vendor's own order.",
    "name": "Short name on this host.",
    "kind": "gpu or npu.",
    "model": "Product name.",
    "architecture": "Architecture or generation.",
    "uuid": "The vendor's unique id.",
    "serial": "Serial number of the board.",
    "part_number": "Part number of the board.",
    "firmware_version": "Version of the device firmware.",
    "vbios_version": "Version of the video BIOS.",
    "driver_version": "Version of the kernel driver.",
    "boot_id": "The host's boot id; of the host only.",
    "pci_bus_id": "PCI domain, bus, device and function.",
    "numa_node": "NUMA node the device is attached to.",
    "memory_kind": "dedicated, shared with the host, or aggregate over processes.",
    "parent_id": "Device that this partition is part of.",
    "partition": "Name of the partition within its parent.",
    "partition_technology": "mig, xcp or tile.",
    "partition_profile": "Profile of the partition.",
    "partition_mode": "Partitioning mode of the whole device.",
}
_STATE_HELP = {
    "state": "ok, degraded, lost, unresponsive, suspended or excluded.",
    "state_since": "When the device came into that state; absent when it was so at the first look.",
    "sample_time": "When it was last read.",
    "sample_age_s": "Seconds since it was last read.",
    "health": "ok, degraded, failed or unknown.",
}

# The same on every machine, so that files of several machines can be joined. Not widened:
# `temperature_celsius` is the sensor that the bare name means, of the GPU or its junction.
DEFAULT_CSV: tuple[str, ...] = (
    "index",
    "name",
    "vendor",
    "model",
    "uuid",
    "pci_bus_id",
    "state",
    "health",
    "utilization_ratio",
    "memory_used_bytes",
    "memory_size_bytes",
    "temperature_celsius",
    "temperature_celsius.memory",
    "power_watts",
    "power_limit_watts.enforced",
    "clock_hertz.graphics",
    "ecc_errors_total.corrected",
    "ecc_errors_total.uncorrected",
    "reset_required",
)


class Field(msgspec.Struct, frozen=True):
    """A name that a user may request; unit and labels are empty for identity."""

    name: str
    unit: str
    help: str
    labels: tuple[str, ...] = ()


# The catalogue is constant, so the result is never invalid.
@cache
def fields() -> tuple[Field, ...]:
    """Every field, identity first, then the catalogue's order."""
    identity = [Field(name, "", text) for name, text in (_IDENTITY_HELP | _STATE_HELP).items()]
    return (*identity, *(Field(row.key, row.unit, row.help, row.labels) for row in device_rows()))


def resolve(names: Iterable[str]) -> tuple[str, ...]:
    """The names, checked. Raises UsageError that names the wrong one and the nearest right one."""
    by_name = {field.name: field for field in fields()}
    resolved: list[str] = []
    for name in (text.strip() for text in names):
        key, *labels = series_of(name)
        field = by_name.get(key)
        if field is None:
            close = nearest(key, list(by_name))
            hint = f"; did you mean {close}?" if close else ""
            raise UsageError(f"no field named {key!r}{hint} (--fields help lists them)")
        if len(labels) not in (0, len(field.labels)):
            shape = ".".join((key, *(f"<{label}>" for label in field.labels)))
            raise UsageError(f"field {name!r} is written {shape}")
        resolved.append(name)
    return tuple(resolved)


def columns(names: Iterable[str], views: Iterable[DeviceView]) -> tuple[str, ...]:
    """The names with each bare labelled quantity widened to one column a series found in the views."""
    by_quantity: dict[str, dict[Series, None]] = {}
    for view in views:
        for series in (*view.reading.values, *view.reading.absent):
            if len(series) > 1:
                by_quantity.setdefault(series[0], {})[series] = None
    widened: list[str] = []
    for name in names:
        row = by_key().get(name)
        if row is not None and row.labels and name in by_quantity:
            widened.extend(path_of(series) for series in by_quantity[name])
        else:
            widened.append(name)
    return tuple(widened)


def cell(view: DeviceView, name: str) -> Cell:
    """Value of a field for one device; None where it is absent."""
    if name in Device.__struct_fields__:
        value: Cell = getattr(view.device, name)
        return value
    if name in _STATE_HELP:
        return _state_cell(view, name)
    series = series_of(name)
    row = by_key().get(series[0])
    if row is None:
        return None
    if len(series) == 1:
        primary: Number | None = primary_value(view.reading.values, row)
        return primary
    return view.reading.values.get(series)


def _state_cell(view: DeviceView, name: str) -> Cell:
    value = getattr(view, name)
    if name in ("state_since", "sample_time"):
        return timestamp(value) if value else None
    return value if isinstance(value, int | float) or value is None else str(value)


def reason(view: DeviceView, name: str) -> Absence:
    """Why a field of a device is absent."""
    absent, unreported = view.reading.absent, view.unreported
    series = series_of(name)
    key = series[:1]
    why = absent.get(series) or absent.get(key) or unreported.get(key) or absent.get(("*",))
    return why or _identity_reason(view, name, by_key().get(series[0]))


def _identity_reason(view: DeviceView, name: str, row: Metric | None) -> Absence:
    if row is not None:
        return Absence.UNSUPPORTED
    return view.device.absent.get(name, Absence.UNSUPPORTED)

"""What one reading says of the use of one device."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.node.usage.shares import Quantity, Share, shares_of
from accelwatch.schema.catalogue.lookup import by_key
from accelwatch.schema.device import BROKEN, Device
from accelwatch.schema.reading import Number, is_cut
from accelwatch.schema.series import primary_value
from accelwatch.schema.snapshot import DeviceView, Snapshot, absences


class Observation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One device at one moment, in base units."""

    # The device's identity.
    device: str
    name: str
    shares: tuple[Share, ...]
    load: Quantity
    memory_bytes: Quantity
    power_watts: Quantity
    # A counter, where there is one; it may be reset.
    energy_joules: float | None = None
    # Another: the integral of the load.
    busy_s: float | None = None
    # Unix seconds at which it was read; the same again is the same reading.
    sample_time: float | None = None
    # False: the holders are those before, and nothing else is known.
    observed: bool = True
    # As `Reading.pace_s`.
    pace_s: float = 0.0


def observations_of(snapshot: Snapshot) -> list[Observation]:
    """Devices of a node without those that are partitioned, whose partitions count instead.

    A partition without an owner has that of its device. It has no power of its own: that of its
    device is divided evenly among all partitions.
    """
    partitions = partitions_of(view.device for view in snapshot.devices)
    views = {view.device.id: view for view in snapshot.devices}
    return [
        _observation(view, views.get(view.device.parent_id or ""), *_meter(view, views, partitions))
        for view in snapshot.devices
        if view.device.id not in partitions
    ]


def partitions_of(devices: Iterable[Device]) -> dict[str, int]:
    """How many partitions a device has, by its id, of those that have any."""
    return dict(Counter(device.parent_id for device in devices if device.parent_id is not None))


def _meter(
    view: DeviceView, views: dict[str, DeviceView], partitions: dict[str, int]
) -> tuple[DeviceView, int]:
    """The device whose power counts, and by how many it is divided."""
    parent = views.get(view.device.parent_id or "")
    if parent is None or primary_value(view.reading.values, by_key()["power_watts"]) is not None:
        return view, 1
    return parent, partitions[parent.device.id]


def _observation(
    view: DeviceView, parent: DeviceView | None, meter: DeviceView, partition_count: int
) -> Observation:
    owners = view.owners or (parent.owners if parent is not None else ())
    load, memory = _quantity(view, "utilization_ratio"), _quantity(view, "memory_used_bytes")
    power, energy = _quantity(meter, "power_watts"), _number(meter, "energy_joules_total")
    reading = view.reading
    is_complete = not is_cut(reading) and not any(
        "are sent to the hub" in note for note in reading.notes
    )
    return Observation(
        device=view.device.id,
        name=view.device.name,
        shares=shares_of(
            owners, reading.processes, load=load, memory_bytes=memory, is_complete=is_complete
        ),
        load=load,
        memory_bytes=memory,
        power_watts=power if isinstance(power, Absence) else power / partition_count,
        energy_joules=None if energy is None else energy / partition_count,
        busy_s=_number(view, "busy_seconds_total"),
        sample_time=view.sample_time,
        observed=view.state not in BROKEN and ("*",) not in reading.absent,
        pace_s=reading.pace_s,
    )


def _quantity(view: DeviceView, key: str) -> Quantity:
    value = _number(view, key)
    if value is not None:
        return float(value)
    absent = absences(view)
    reasons = [reason for series, reason in absent.items() if series[0] == key]
    return reasons[0] if reasons else absent.get(("*",), Absence.UNSUPPORTED)


def _number(view: DeviceView, key: str) -> Number | None:
    value: Number | None = primary_value(view.reading.values, by_key()[key])
    return value

"""Several exporters in one page, one list of devices, by the rules of `fleet.merge`. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.fleet.dialects.base.precedence import PRECEDENCE
from accelwatch.fleet.merge import Judged, health_of, reading_of, same_devices, speaking, united
from accelwatch.schema.device import Device
from accelwatch.schema.snapshot import DeviceView


def merge(
    views_by_dialect: Mapping[str, Sequence[DeviceView]], precedence: Sequence[str] = PRECEDENCE
) -> tuple[DeviceView, ...]:
    """Each device once. The first dialect of the precedence gives state and values, the others what it
    does not have; `reading.sources` then says by key where it is from.
    """
    order = {name: rank for rank, name in enumerate(precedence)}
    names = sorted(views_by_dialect, key=lambda name: (order.get(name, len(order)), name))
    same = same_devices([[view.device for view in views_by_dialect[name]] for name in names])
    return tuple(
        _joined(device, [(names[at], views_by_dialect[names[at]][place]) for at, place in places])
        for device, places in same
    )


def _joined(device: Device, parts: Sequence[tuple[str, DeviceView]]) -> DeviceView:
    views = [view for _, view in parts]
    first = views[0]
    if len(views) == 1 and first.device is device:
        return first
    spoken = speaking([view.state for view in views])
    judged = health_of(
        [
            Judged(part.state, part.health, part.health_reasons)
            for part in map(views.__getitem__, spoken)
        ]
    )
    return msgspec.structs.replace(
        first,
        device=device,
        reading=reading_of(device.id, [(parts[at][0], views[at].reading) for at in spoken]),
        health=judged.health,
        health_reasons=judged.reasons,
        owners=united(view.owners for view in views),
        event_counts=next((view.event_counts for view in views if view.event_counts), ()),
    )

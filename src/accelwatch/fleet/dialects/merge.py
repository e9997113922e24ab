"""Several exporters in one page, one list of devices, by the rules of `fleet.merge`. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from accelwatch.fleet.dialects.base.precedence import PRECEDENCE
from accelwatch.fleet.merge import (
    HealthReport,
    health_of,
    reading_of,
    same_devices,
    speaking,
    united,
)
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
        _joined(
            device,
            [(names[at], views_by_dialect[names[at]][position]) for at, position in positions],
        )
        for device, positions in same
    )


def _joined(device: Device, sources: Sequence[tuple[str, DeviceView]]) -> DeviceView:
    views = [view for _, view in sources]
    first = views[0]
    if len(views) == 1 and first.device is device:
        return first
    spoken = speaking([view.state for view in views])
    verdict = health_of(
        [
            HealthReport(view.state, view.health, view.health_reasons)
            for view in map(views.__getitem__, spoken)
        ]
    )
    return msgspec.structs.replace(
        first,
        device=device,
        reading=reading_of(device.id, [(sources[at][0], views[at].reading) for at in spoken]),
        health=verdict.health,
        health_reasons=verdict.reasons,
        owners=united(view.owners for view in views),
        event_counts=next((view.event_counts for view in views if view.event_counts), ()),
    )

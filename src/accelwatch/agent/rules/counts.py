"""How many devices of a node there are, and how many of them cannot be judged."""

import msgspec

from accelwatch.schema.device import UP, DeviceState
from accelwatch.schema.snapshot import DeviceView, Snapshot, physical_devices, unusable

_LEFT_ALONE = frozenset({DeviceState.SUSPENDED, DeviceState.EXCLUDED})


class DeviceCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Devices of a node, their partitions not counted."""

    total: int = 0
    lost: int = 0
    # They should answer and do not.
    silent: int = 0
    # They are there, and their backend cannot be used: nothing can be read of them.
    unread: int = 0


def is_silent(view: DeviceView) -> bool:
    """Whether a device that should answer has not been read at all.

    A device whose reads fail has answered: it is degraded, not silent.
    """
    is_explained = view.state in UP or view.state in _LEFT_ALONE or view.state is DeviceState.LOST
    return not is_explained or (view.state is DeviceState.OK and view.sample_time is None)


def unread_devices(snapshot: Snapshot) -> tuple[DeviceView, ...]:
    """Whole devices that are rows although their backend cannot be used."""
    backends = {status.name for status in unusable(snapshot.backends)}
    return tuple(
        view
        for view in physical_devices(snapshot.devices)
        if view.device.backend in backends and view.state in UP and not view.reading.values
    )


def count_devices(snapshot: Snapshot) -> DeviceCounts:
    """The devices of a snapshot."""
    views = physical_devices(snapshot.devices)
    return DeviceCounts(
        total=len(views),
        lost=sum(view.state is DeviceState.LOST for view in views),
        silent=sum(map(is_silent, views)),
        unread=len(unread_devices(snapshot)),
    )

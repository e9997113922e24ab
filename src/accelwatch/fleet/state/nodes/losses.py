"""When a device that was not read is lost: the one rule of a back-test and of a recorded moment. Pure.

A read that failed is no loss. The device is lost once its reads have failed for long, or when a log has
said that it is lost since it was read last.
"""

from accelwatch.fleet.table.belief import Bools, Floats
from accelwatch.schema.event import ErrorEvent

# Between the first and the last of several failed reads, of which nothing says why: a driver is loaded,
# a device reset and its partitions changed in less time.
LOST_AFTER_S = 150.0
# Other faults of the bus are of devices that are still there.
_CODES = frozenset(
    {
        "amdgpu_device_lost",
        "device_lost",
        "hygpu_device_lost",
        "nvidia_fallen_off_bus",
        "tenstorrent_off_the_bus",
        "xid_79",
    }
)


def reports_loss(event: ErrorEvent) -> bool:
    """Whether an event says that its device is gone."""
    return event.trusted and event.code in _CODES


def are_lost(failing_s: Floats, reported_at: Floats, read_at: Floats) -> Bools:
    """By device that is not read: for how long reads have failed, when a log said last that it is
    lost, and when it was read last; minus infinity of what never was.
    """
    return (failing_s >= LOST_AFTER_S) | (reported_at > read_at)


def is_lost(failing_s: float, reported_at: float, read_at: float) -> bool:
    """The same of one device."""
    return failing_s >= LOST_AFTER_S or reported_at > read_at

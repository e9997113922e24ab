"""Error events of a target: those that it sends, and those that its counters of events show."""

from collections.abc import Mapping, Sequence

from accelwatch.fleet.state.events import EventLog, counted, first_seen
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.schema.device import DeviceState
from accelwatch.schema.snapshot import EventCount
from accelwatch.schema.stream.context import Event

# By device id.
Counts = Mapping[str, Sequence[EventCount]]


def record_events(
    log: EventLog, node: Node, source: TargetSource, events: Sequence[Event], *, again: bool
) -> None:
    """Log a target's events; `again`: it may have sent them before."""

    def name(device_id: str) -> str:
        device = source.devices.get(device_id)
        return device.device.name if device is not None else ""

    log.record(node.name, source.target.key, events, ours=source.skew.ours, name=name, again=again)


def event_counts(source: TargetSource) -> Counts:
    """The counters of each device, as they were reported.

    Of a device that its exporter has never listed since the hub began no count is known.
    """
    return {
        key: device.event_counts
        for key, device in source.devices.items()
        if device.event_counts or device.state != DeviceState.EXCLUDED
    }


def counted_events(source: TargetSource, before: Counts) -> list[Event]:
    """Events by the growth of the counters."""
    return [
        event
        for device_id in source.devices
        for event in _of_device(source, device_id, before.get(device_id))
    ]


def _of_device(
    source: TargetSource, device_id: str, before: Sequence[EventCount] | None
) -> list[Event]:
    """None for a device that is new."""
    counts = source.devices[device_id].event_counts
    if not counts:
        return []
    if before is None:
        return first_seen(counts, device_id, source.time)
    return counted(before, counts, device_id, source.time)

"""A node as its own agent would show it, made from its sources' data; times on the hub's clock."""

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.fleet.state.expected_nodes import missing_devices
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.devices import FleetDevice
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import TargetSource, decode_backends
from accelwatch.schema.device import DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.natural_order import device_order
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import BackendStatus, DeviceView, ReadFailure, Snapshot

_failures = msgspec.msgpack.Decoder(tuple[ReadFailure, ...]).decode


def snapshot_of(fleet: Fleet, node: Node) -> Snapshot:
    """The node as it stands; missing devices are lost rows."""
    best, now = node.best, fleet.clock.monotonic()
    views = [view(node, present, now) for present in node.devices.values()]
    views += [_missing_view(node, device.id) for device in missing_devices(node)]
    sort_key = device_order(shown.device for shown in views)
    views.sort(key=lambda shown: sort_key(shown.device))
    host = node.host
    backends, errors = _read_through(node)
    return Snapshot(
        time=fleet.clock.wall(),
        host=node.name,
        version=best.version if best is not None else "",
        boot_id=best.boot_id if best is not None else "",
        interval_s=best.interval_s if best is not None else None,
        devices=tuple(views),
        node=None if host is None else view(node, host, now),
        backends=backends,
        events=tuple(noted.event for noted in fleet.events.of(node.name)),
        errors=errors,
    )


def _read_through(node: Node) -> tuple[tuple[BackendStatus, ...], tuple[ReadFailure, ...]]:
    """Backends and failures as a stream of the node sent them, or nothing."""
    for source in node.sources.values():
        reported = source.backends
        try:
            decoded = decode_backends(reported.backends), _failures(reported.errors)
        except DECODE_ERRORS:
            continue
        if any(decoded):
            return decoded
    return (), ()


def view(node: Node, device: FleetDevice, now: float) -> DeviceView:
    """One device as a view; its times are on our clock when the node's is far off."""
    source = node.origin(device)
    state, since, usage = DeviceState(device.state), device.state_since, device.usage
    sampled, age = device.sample_time, None
    if source is not None:
        since = source.skew.ours(since)
        sampled = None if sampled is None else source.skew.ours(sampled)
        if device.device.id in node.devices:
            age = age_s(node, device.device.id, now)
    return DeviceView(
        device=device.device,
        state=state,
        state_since=since,
        reading=device.reading(),
        sample_time=sampled,
        sample_age_s=age,
        health=Health(device.health),
        health_reasons=usage.health_reasons,
        owners=usage.occupancy.owners,
        event_counts=usage.event_counts,
    )


def _missing_view(node: Node, device_id: str) -> DeviceView:
    assert node.expected is not None
    return DeviceView(
        device=node.expected.devices[device_id],
        state=DeviceState.LOST,
        state_since=0.0,
        reading=wholly_absent(device_id, Absence.LOST),
        health=Health.FAILED,
        health_reasons=("the node does not list the device any more",),
    )


def age_s(node: Node, device_id: str, now: float) -> float | None:
    """Seconds since a device was read, whatever the node's clock says."""
    device = node.devices[device_id]
    return source_age_s(node.origin(device), device, now)


def source_age_s(source: TargetSource | None, device: FleetDevice, now: float) -> float | None:
    """Seconds since a source's device was read; None when it never was."""
    if source is None or source.arrived is None or device.sample_time is None:
        return None
    return round(now - source.arrived + max(0.0, source.time - device.sample_time), 3)

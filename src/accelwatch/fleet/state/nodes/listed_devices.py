"""Which devices of a node its exporter lists: some list only devices that a pod holds.

A device that such an exporter leaves out is not missing: it is excluded, with its counts of events.
"""

from collections.abc import Sequence

import msgspec

from accelwatch.fleet.listing import Listing, unlisted_devices, unlisted_views
from accelwatch.fleet.state.inventory.file import Expected
from accelwatch.fleet.state.nodes.devices import FleetDevice
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.state.nodes.source import TargetSource
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.snapshot import DeviceView


def learn_listing(
    node: Node, source: TargetSource, listing: Listing | None, views: Sequence[DeviceView]
) -> Expected | None:
    """What a page of a source shows about which devices are listed; what is expected, where that has
    changed.
    """
    expected = node.expected
    if expected is None or (listing or expected.listing) is None:
        return None
    learnt = _learnt(node, source, listing, expected, views)
    if learnt == expected.listing:
        return None
    expected.listing = learnt
    return expected


def _learnt(
    node: Node,
    source: TargetSource,
    listing: Listing | None,
    expected: Expected,
    views: Sequence[DeviceView],
) -> Listing | None:
    previous = expected.listing
    if listing is not None:
        unlisted = unlisted_devices(listing.vendor, views, expected.devices.values())
        were_missing = () if source.arrived is None else [device.id for device in node.missing()]
        failed = (
            device_id
            for device_id, device in source.devices.items()
            if device.health == Health.FAILED
        )
        return listing.after(previous, unlisted, were_missing, failed)
    if previous is None or previous.exporter not in source.dialect.split("+"):
        return previous
    if not any(view.device.vendor == previous.vendor for view in views):
        return previous  # nothing could be read
    return previous.without_claims(
        unlisted_devices(previous.vendor, views, expected.devices.values())
    )


def left_out(
    node: Node,
    source: TargetSource,
    listing: Listing | None,
    views: Sequence[DeviceView],
    now: float,
) -> list[DeviceView]:
    """Expected devices that are not among the views of a source which may leave them out; `now` in
    Unix seconds. None where its page, of which `listing` is, has no claim: it lists all devices.
    None where another source lists the vendor's devices: it would list them.
    """
    if listing is None or node.expected is None:
        return []
    listing = node.expected.listing
    if listing is None or not listing.claimed_only:
        return []
    others = (other for other in node.fresh_sources() if other is not source)
    if any(
        device.device.vendor == listing.vendor
        for other in others
        for device in other.devices.values()
    ):
        return []
    unlisted = unlisted_views(listing, views, node.expected.devices.values(), now)
    return [_as_before(view, source.devices.get(view.device.id)) for view in unlisted]


def not_listed(node: Node) -> list[Device]:
    """Expected devices that the exporter does not list and may leave out."""
    listing = node.expected.listing if node.expected is not None else None
    if listing is None or not listing.claimed_only:
        return []
    return [
        present.device
        for present in node.devices.values()
        if present.state == DeviceState.EXCLUDED and present.device.vendor == listing.vendor
    ]


def _as_before(view: DeviceView, before: FleetDevice | None) -> DeviceView:
    """An unlisted device with the counts of events it had, and since when it is not listed."""
    if before is None:
        return msgspec.structs.replace(view, state_since=0.0)
    since = before.state_since if before.state == view.state else view.state_since
    return msgspec.structs.replace(view, state_since=since, event_counts=before.event_counts)

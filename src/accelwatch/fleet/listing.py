"""Which devices an exporter lists: all of its node, or under DRA perhaps only those that pods hold.

dcgm-exporter 4.3.1-4.4.0 to 4.4.1-4.6.0 leaves out each GPU without a claim as soon as any has one
(NVIDIA/dcgm-exporter#569). Its page names no version, so its labels have to show it.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.fleet.merge import identity, names_of
from accelwatch.schema.device import Device, DeviceState, normal_uuid
from accelwatch.schema.health import Health
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import DeviceView

_REASON = (
    "{} does not list the device: under Kubernetes DRA, releases before 4.4.2-4.7.0 leave out each GPU"
    " that no pod holds, so it may be well or gone; update the exporter or run an agent on the node"
)


class Holder(NamedTuple):
    """Who holds a device; both with their namespace, and empty where the page does not name them."""

    claim: str
    pod: str


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What a page shows about which devices its exporter lists."""

    exporter: str
    vendor: str
    # Whether it may leave out devices without a claim: all that it lists have one. False once it lists
    # devices with and without a claim side by side.
    claimed_only: bool
    # Who holds the devices of the newest page, by uuid of the device.
    holders: Mapping[str, tuple[Holder, ...]] = {}
    # Ids of devices that have gone: they were not listed although nobody had given them back.
    missing: tuple[str, ...] = ()

    def after(
        self,
        previous: "Listing | None",
        unlisted: Iterable[Device],
        were_missing: Iterable[str],
        failed: Iterable[str] = (),
    ) -> "Listing":
        """The same with what is known from before, and with the devices that are not listed now.

        Who has listed all devices goes on to do so. One that vanishes with all that its pod held may
        have been given back; it has gone only if the exporter had called it `failed` before.
        """
        if previous is not None and previous.is_settled and previous.vendor == self.vendor:
            return previous
        before = previous.holders if previous is not None else {}
        stayed = _all(before) & _all(self.holders)
        already_missing = {*(were_missing if previous is None else previous.missing), *failed}
        missing = [
            device.id
            for device in unlisted
            if device.id in already_missing
            or _is_still_claimed(_holders_of(device, before), stayed)
        ]
        return msgspec.structs.replace(self, missing=tuple(sorted(missing)))

    def without_claims(self, unlisted: Iterable[Device]) -> "Listing":
        """What is known after a page on which nothing has a claim: such a page lists all devices."""
        if self.is_settled:
            return self
        missing = tuple(sorted(device.id for device in unlisted))
        return msgspec.structs.replace(self, holders={}, missing=missing)

    @property
    def is_settled(self) -> bool:
        """Whether it is known to list all devices."""
        return not self.claimed_only


def _all(holders: Mapping[str, tuple[Holder, ...]]) -> set[Holder]:
    return {holder for some in holders.values() for holder in some}


def _holders_of(device: Device, holders: Mapping[str, tuple[Holder, ...]]) -> tuple[Holder, ...]:
    """Of a partition nothing is kept: it may have been given back while its siblings are in use."""
    if device.parent_id is not None or device.uuid is None:
        return ()
    return holders.get(normal_uuid(device.uuid), ())


def _is_still_claimed(holders: Iterable[Holder], stayed: set[Holder]) -> bool:
    """Whether a claim or pod of a device is there yet for other devices, as it was before.

    A pod that was recreated under its name has other claims, so the name alone says nothing.
    """
    claims = {holder.claim for holder in stayed}
    pods = {holder.pod for holder in stayed if holder.pod}
    return any(holder.claim in claims or holder.pod in pods for holder in holders)


def unlisted_devices(
    vendor: str, views: Iterable[DeviceView], expected: Iterable[Device]
) -> list[Device]:
    """Expected devices of a vendor that are not among `views`."""
    listed = {name for view in views for name in (view.device.id, *names_of(view.device))}
    return [
        device
        for device in expected
        if device.vendor == vendor and listed.isdisjoint((device.id, identity(device)))
    ]


def unlisted_views(
    listing: Listing | None,
    views: Iterable[DeviceView],
    expected: Iterable[Device],
    now: float,
) -> list[DeviceView]:
    """Expected devices that are not among `views` and that the exporter may leave out; `now` in Unix
    seconds.
    """
    if listing is None or not listing.claimed_only:
        return []
    return [
        _unlisted(device, listing.exporter, now)
        for device in unlisted_devices(listing.vendor, views, expected)
        if device.id not in listing.missing
    ]


def _unlisted(device: Device, exporter: str, now: float) -> DeviceView:
    reason = _REASON.format(exporter)
    reading = wholly_absent(device.id, Absence.NOT_COLLECTED)
    return DeviceView(
        device=device,
        state=DeviceState.EXCLUDED,
        state_since=now,
        reading=msgspec.structs.replace(reading, notes=(reason,)),
        health=Health.UNKNOWN,
        health_reasons=(reason,),
    )

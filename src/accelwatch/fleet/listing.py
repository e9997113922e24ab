"""Which devices an exporter lists: all of its node, or under DRA perhaps only those that pods hold.

dcgm-exporter 4.3.1-4.4.0 to 4.4.1-4.6.0 leaves out each GPU without a claim as soon as any has one
(NVIDIA/dcgm-exporter#569). Its page names no version, so its labels have to show it.
"""

from collections.abc import Iterable

import msgspec

from accelwatch.fleet.merge import identity
from accelwatch.schema.absence import Absence
from accelwatch.schema.device import Device, DeviceState
from accelwatch.schema.health import Health
from accelwatch.schema.reading import wholly_absent
from accelwatch.schema.snapshot import DeviceView

_REASON = (
    "{} does not list the device: under Kubernetes DRA, releases before 4.4.2-4.7.0 leave out each GPU"
    " that no pod holds, so it may be well or gone; update the exporter or run an agent on the node"
)


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What a page shows about which devices its exporter lists."""

    exporter: str
    vendor: str
    claimed_only: bool
    """Whether it may leave out devices without a claim: all that it lists have one. False once it lists
    devices with and without a claim side by side."""

    def after(self, known: "Listing | None") -> "Listing":
        """The same with what is known from before: who has listed all devices goes on to do so."""
        is_settled = known is not None and known.vendor == self.vendor and not known.claimed_only
        return known if known is not None and is_settled else self


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
    listed = {name for view in views for name in (view.device.id, identity(view.device))}
    return [
        _unlisted(device, listing.exporter, now)
        for device in expected
        if device.vendor == listing.vendor and listed.isdisjoint((device.id, identity(device)))
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

"""What a hub still knows of a device's last minutes."""

import contextlib

import msgspec

from accelwatch.errors import WireError
from accelwatch.fleet.api.documents import HistoryDocument
from accelwatch.fleet.follow.faults import TargetFault
from accelwatch.fleet.hub_client.session import HubSession, node_path
from accelwatch.fleet.picture.model import Past
from accelwatch.schema.moments import unix_seconds

_decode = msgspec.json.Decoder(HistoryDocument).decode


async def past_of(session: HubSession, node: str, device: str) -> Past | None:
    """The history of a device by its id; None where there is none or the hub does not tell it."""
    with contextlib.suppress(TargetFault, msgspec.DecodeError, WireError):
        found = _decode(await session.document(node_path(node, "/history"), {"device": device}))
        if found.values:
            return Past(step_s=found.step_s, end=unix_seconds(found.end), values=found.values)
    return None

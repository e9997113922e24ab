"""What the streams of all our servers have in common: their path, forms, and the way to a client."""

from collections.abc import Mapping
from typing import Final, Protocol

import msgspec

from accelwatch.schema.stream.frames import frame

STREAM = "/v1/stream"
MSGPACK: Final = "application/msgpack"
NDJSON: Final = "application/x-ndjson"
SSE: Final = "text/event-stream"
# MessagePack with the values of ticks packed (`schema/stream/packed.py`), on request.
PACKED: Final = "application/vnd.accelwatch.packed+msgpack"
INCIDENTS: Final = "application/vnd.accelwatch.incidents+msgpack"
# The hub's stream with incidents, as MessagePack and as JSON lines; on request.
INCIDENT_LINES: Final = "application/vnd.accelwatch.incidents+x-ndjson"
HUB_HEADER = "Accelwatch-Hub"
# The value by which a hub that notifies people of incidents announces that to its agents.
ALERTING = "alerts"
# JSON lines first: what a client gets that does not say.
OFFERED = (NDJSON, SSE, MSGPACK)


_to_json = msgspec.json.Encoder().encode
_to_msgpack = msgspec.msgpack.Encoder().encode


class Outlet(Protocol):
    """The way to one client."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the client's request."""
        ...

    async def write(self, data: bytes) -> None:
        """Hand over bytes; may wait for the client. Raises ConnectionError when it has gone."""
        ...

    def backlog(self) -> int:
        """Bytes written that the client's connection has not read yet."""
        ...


class Stalled(Exception):  # noqa: N818 - a state of the client
    """The client has not read for too long."""


def framed(message: msgspec.Struct, media: str) -> bytes:
    """A message as bytes: a length and MessagePack, a line of JSON, or an event named by its tag."""
    if media in (MSGPACK, PACKED, INCIDENTS):
        return frame(_to_msgpack(message))
    if media == SSE:
        name = str(message.__struct_config__.tag)
        return b"event: " + name.encode() + b"\ndata: " + _to_json(message) + b"\n\n"
    return _to_json(message) + b"\n"

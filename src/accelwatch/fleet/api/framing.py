"""A message as bytes: a length and MessagePack, a line of JSON, or a server-sent event."""

import msgspec

from accelwatch.web.stream import MSGPACK, SSE

_LENGTH = 4
_to_json = msgspec.json.Encoder().encode
_to_msgpack = msgspec.msgpack.Encoder().encode


def framed(message: msgspec.Struct, media: str) -> bytes:
    """The bytes; events are named by the message's tag."""
    if media == MSGPACK:
        body = _to_msgpack(message)
        return len(body).to_bytes(_LENGTH, "big") + body
    if media == SSE:
        name = str(message.__struct_config__.tag)
        return b"event: " + name.encode() + b"\ndata: " + _to_json(message) + b"\n\n"
    return _to_json(message) + b"\n"

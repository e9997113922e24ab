"""The messages of a hub's stream, decoded straight into the types of the Fleet screen.

A message of a kind that this version does not know is left out, so an older dashboard can follow a newer
hub.
"""

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.wire import (
    STREAM,
    DeviceSlot,
    FleetEvent,
    FleetHello,
    FleetMessage,
    FleetTick,
    IncidentNow,
    RulesNow,
)

# The first key of every message, as MessagePack writes it.
_TAG = b"\xa4type"
# Lengths of the heads of maps with more than 15 entries.
_MAP_HEADS = {b"\xde": 3, b"\xdf": 5}


Received = FleetMessage
_decode_hello = msgspec.msgpack.Decoder(FleetHello).decode
_decode_slot = msgspec.msgpack.Decoder(DeviceSlot).decode
_decode_event = msgspec.msgpack.Decoder(FleetEvent).decode
_decode_rules = msgspec.msgpack.Decoder(RulesNow).decode
_decode_incident = msgspec.msgpack.Decoder(IncidentNow).decode
_decode_tick = msgspec.msgpack.Decoder(FleetTick).decode


def tag(body: bytes) -> str:
    """The kind of a message; empty when it is not at the front, where the hub writes it."""
    at = _MAP_HEADS.get(body[:1], 1)
    if body[at : at + 5] != _TAG or len(body) < at + 6 or body[at + 5] & 0xE0 != 0xA0:
        return ""
    at += 6
    return body[at : at + (body[at - 1] & 0x1F)].decode("ascii", "replace")


def message(body: bytes) -> Received | None:
    """A message; None for one of an unknown kind. Raises TargetFault for damage."""
    try:
        match tag(body):
            case "tick":
                return _decode_tick(body)
            case "device":
                return _decode_slot(body)
            case "event":
                return _decode_event(body)
            case "incident":
                return _decode_incident(body)
            case "rules":
                return _decode_rules(body)
            case "hello":
                return _checked(_decode_hello(body))
    except DECODE_ERRORS as error:
        raise TargetFault(Reason.GARBAGE, f"no message of a hub: {error}") from error
    return None


def _checked(hello: FleetHello) -> FleetHello:
    if hello.schema != STREAM:
        text = f"it speaks {hello.schema[:40]!r}, this version {STREAM!r}"
        raise TargetFault(Reason.GARBAGE, text)
    return hello

"""Amounts of resources, as GraphQL gives them: JSON in a string."""

import msgspec

from accelwatch.base.decode_errors import DECODE_ERRORS

# Amounts of resources by slot, such as cuda.device: 8; memory in bytes.
Slots = dict[str, float]


def slots_in(text: str | None) -> Slots | None:
    """Of the JSON in a string that GraphQL gives; what has no bound, Infinity, is left out.

    None where it is not said, or not understood.
    """
    try:
        amounts = msgspec.json.decode(text or "", type=dict[str, float], strict=False)
    except DECODE_ERRORS:
        return None
    return {slot: amount for slot, amount in amounts.items() if amount < float("inf")}

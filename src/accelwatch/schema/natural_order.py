"""The order in which people expect names: `nvidia2` before `nvidia10`. Pure."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from accelwatch.schema.device import Device

Natural = tuple[tuple[int, int | str], ...]
_Position = tuple[str, int, Natural, str]
# Of no more digits than Python reads in one number.
_NUMBERS = re.compile(r"(\d{1,4000})")


# Names are sorted at each repaint and each page; the key depends on the name alone. Bounded,
# because names of jobs and processes come and go.
@lru_cache(maxsize=65536)
def natural(name: str) -> Natural:
    """A name as it is ordered: its numbers as numbers."""
    segments = _NUMBERS.split(name)
    return tuple(
        (0, int(segment)) if segment.isdecimal() else (1, segment.lower())
        for segment in segments
        if segment
    )


def device_order(
    devices: Iterable[Device],
) -> Callable[[Device], tuple[_Position, bool, _Position]]:
    """What a machine's devices are sorted by: whole ones by vendor and index, each before its parts."""
    positions = {device.id: _position(device) for device in devices}

    def key(device: Device) -> tuple[_Position, bool, _Position]:
        own = _position(device)
        parent = positions.get(device.parent_id or "")
        return (own, False, own) if parent is None else (parent, True, own)

    return key


def _position(device: Device) -> _Position:
    return device.vendor, device.index, natural(device.name), device.id

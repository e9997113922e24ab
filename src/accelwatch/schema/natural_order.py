"""The order in which people expect names: `nvidia2` before `nvidia10`. Pure."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from accelwatch.schema.device import Device

Natural = tuple[tuple[int, int | str], ...]
_Place = tuple[str, int, Natural, str]
_NUMBERS = re.compile(r"(\d{1,4000})")
"""Of no more digits than Python reads in one number."""


@lru_cache(maxsize=65536)
def natural(name: str) -> Natural:
    """A name as it is ordered: its numbers as numbers."""
    parts = _NUMBERS.split(name)
    return tuple(
        (0, int(part)) if part.isdecimal() else (1, part.lower()) for part in parts if part
    )


def device_order(devices: Iterable[Device]) -> Callable[[Device], tuple[_Place, bool, _Place]]:
    """What a machine's devices are sorted by: whole ones by vendor and index, each before its parts."""
    places = {device.id: _place(device) for device in devices}

    def key(device: Device) -> tuple[_Place, bool, _Place]:
        own = _place(device)
        whole = places.get(device.parent_id or "")
        return (own, False, own) if whole is None else (whole, True, own)

    return key


def _place(device: Device) -> _Place:
    return device.vendor, device.index, natural(device.name), device.id

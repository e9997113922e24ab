"""Names of nodes in few cells: what all have in common gives way to what differs. Pure."""

from collections.abc import Collection

import msgspec


class CommonAffixes(msgspec.Struct, frozen=True):
    """How many characters all names have in common at their beginning and at their end."""

    head: int = 0
    tail: int = 0


NONE = CommonAffixes()


def common_affixes(names: Collection[str]) -> CommonAffixes:
    """Those of several names; a number is never parted."""
    if len(names) < 2:
        return NONE
    first = min(names)
    shortest = min(map(len, names))
    head = _alike(first, max(names))
    while head and first[head - 1].isdecimal():
        head -= 1
    backwards = [name[::-1] for name in names]
    tail = min(_alike(min(backwards), max(backwards)), shortest - head)
    while tail and first[-tail].isdecimal():
        tail -= 1
    return CommonAffixes(head, max(tail, 0))


def _alike(name: str, other: str) -> int:
    """How many characters two texts begin alike with; of the least and the greatest, all between too."""
    pairs = enumerate(zip(name, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(name), len(other)))


def shortened(name: str, width: int, affixes: CommonAffixes, ellipsis: str) -> str:
    """At most `width` characters of a name, with those that differ from other names."""
    if len(name) <= width:
        return name
    ellipsis_width = len(ellipsis)
    core = len(name) - affixes.head - affixes.tail
    if affixes == NONE or core <= 0 or core + ellipsis_width > width:
        return _without_middle(name, width, ellipsis)
    if affixes.head + core + ellipsis_width <= width:
        return name[: width - ellipsis_width] + ellipsis
    if core + affixes.tail + ellipsis_width <= width:
        return ellipsis + name[len(name) - width + ellipsis_width :]
    room = width - core - 2 * ellipsis_width
    if room < 0:
        return _without_middle(name, width, ellipsis)
    return ellipsis + name[affixes.head - room : affixes.head + core] + ellipsis


def _without_middle(name: str, width: int, ellipsis: str) -> str:
    """Both ends of a name, more of the end, where numbers mostly are."""
    room = width - len(ellipsis)
    if room < 2:
        return name[:width]
    left = room // 3
    return name[:left] + ellipsis + name[len(name) - room + left :]

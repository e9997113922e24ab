"""The text of one fdinfo file as data. Format: the kernel's Documentation/gpu/drm-usage-stats.rst."""

from collections.abc import Callable, Iterable

import msgspec

_SCALES = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# Digits of the largest 64-bit counter; a longer number is damage.
_MAX_DIGITS = 20


class DrmClient(msgspec.Struct, frozen=True, kw_only=True):
    """One open DRM file description: the unit by which drivers account engine time and memory."""

    # PCI id of the device; empty where the driver does not report it (platform devices).
    pdev: str
    driver: str
    # None for drivers that give no id; `file_key` then identifies the client.
    client_id: int | None
    # 0 when the text did not come from a scan.
    pid: int = 0
    # `pid:device:inode` of the open file, filled by a scan when there is no client id.
    file_key: str = ""
    # Cumulative busy nanoseconds by engine.
    engines: dict[str, int] = {}
    # Number of equal engines behind one name; a missing entry means 1.
    capacity: dict[str, int] = {}
    cycles: dict[str, int] = {}
    # Cycles that passed in all, busy or not, by engine.
    total_cycles: dict[str, int] = {}
    # Region to {total, shared, resident, active, purgeable, memory} in bytes.
    memory: dict[str, dict[str, int]] = {}

    def key(self) -> tuple[str, int | str]:
        """What identifies this client on the machine."""
        return self.pdev, self.file_key if self.client_id is None else self.client_id


def _number(text: str) -> int | None:
    """A plain decimal number, or None."""
    if text.isdecimal() and text.isascii() and len(text) <= _MAX_DIGITS:
        return int(text)
    return None


def _nanoseconds(text: str) -> int | None:
    """`N ns`; a number without its unit is a cut line."""
    number, _, unit = text.partition(" ")
    return _number(number) if unit.strip() == "ns" else None


def _bytes(text: str) -> int | None:
    """`N`, `N KiB`, `N MiB`."""
    number, _, unit = text.partition(" ")
    amount, scale = _number(number), _SCALES.get(unit.strip())
    return None if amount is None or scale is None else amount * scale


# Key prefix, field, reader; the first prefix that fits wins.
_COUNTERS: tuple[tuple[str, str, Callable[[str], int | None]], ...] = (
    ("drm-engine-capacity-", "capacity", _number),
    ("drm-engine-", "engines", _nanoseconds),
    ("drm-total-cycles-", "total_cycles", _number),
    ("drm-cycles-", "cycles", _number),
)

_MEMORY_STATES = ("total", "shared", "resident", "active", "purgeable", "memory")


def _record(fields: dict[str, dict[str, int]], key: str, value: str) -> bool:
    for prefix, field, read in _COUNTERS:
        if key.startswith(prefix):
            number = read(value)
            if number is not None:
                fields[field][key.removeprefix(prefix)] = number
            return True
    return False


def _record_memory(memory: dict[str, dict[str, int]], key: str, value: str) -> None:
    _, state, region = [*key.split("-", 2), "", ""][:3]
    amount = _bytes(value)
    if state in _MEMORY_STATES and region and amount is not None:
        memory.setdefault(region, {})[state] = amount


def parse_fdinfo(text: str) -> DrmClient | None:
    """The client an fdinfo text describes, with pid 0; None when it is no DRM file.

    A line without its newline was cut and is left out, as are values that are no numbers.
    """
    fields: dict[str, dict[str, int]] = {field: {} for _, field, _ in _COUNTERS}
    memory: dict[str, dict[str, int]] = {}
    facts: dict[str, str] = {}
    for line in text.split("\n")[:-1]:
        key, colon, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not colon or not key.startswith("drm-"):
            continue
        if key in ("drm-driver", "drm-pdev", "drm-client-id"):
            facts[key] = value
        elif not _record(fields, key, value):
            _record_memory(memory, key, value)
    if not facts.get("drm-driver"):
        return None
    return DrmClient(
        pdev=facts.get("drm-pdev", "").lower(),
        driver=facts["drm-driver"],
        client_id=_number(facts.get("drm-client-id", "")),
        engines=fields["engines"],
        capacity=fields["capacity"],
        cycles=fields["cycles"],
        total_cycles=fields["total_cycles"],
        memory=memory,
    )


def client_memory_bytes(client: DrmClient, regions: Iterable[str]) -> int | None:
    """Memory a client holds in regions: resident, else the legacy `memory`, else total figure.

    Only one of the three is used for a region, since they count the same buffers. None when the
    client names none of the regions.
    """
    by_region = [client.memory[region] for region in regions if region in client.memory]
    amounts = [_occupied(states) for states in by_region]
    reported = [amount for amount in amounts if amount is not None]
    return sum(reported) if reported else None


def unshared_bytes(client: DrmClient, regions: Iterable[str]) -> int | None:
    """Memory of a client that no other client counts too, for sums over clients."""
    by_region = [client.memory[region] for region in regions if region in client.memory]
    own = [
        max(amount - states.get("shared", 0), 0)
        for states in by_region
        if (amount := _occupied(states)) is not None
    ]
    return sum(own) if own else None


def _occupied(states: dict[str, int]) -> int | None:
    for state in ("resident", "memory", "total"):
        if state in states:
            return states[state]
    return None

"""Which numbers a quantity can have, in base units: what lies outside is a broken reading."""

from functools import cache

from accelwatch.schema.metrics import Kind, by_key

Bounds = tuple[float, float]

_EXACT: dict[str, Bounds] = {
    "fan_speed_ratio": (0.0, 10.0),
    "temperature_headroom_celsius": (-200.0, 300.0),
    "performance_state": (0.0, 15.0),
    "pcie_link_generation": (0.0, 10.0),
    "pcie_link_width_lanes": (0.0, 64.0),
}
_BY_UNIT: dict[str, Bounds] = {
    "ratio": (0.0, 1.01),
    "celsius": (-60.0, 200.0),
    "watts": (0.0, 50_000.0),
    "hertz": (0.0, 20e9),
    "volts": (0.0, 100.0),
    "rpm": (0.0, 100_000.0),
    "bytes": (0.0, 2.0**53),
    "bytes/s": (0.0, 1e14),
}
_COUNTER: Bounds = (0.0, 9e18)
_ANY: Bounds = (0.0, 9e18)

NEVER_ZERO = frozenset({"memory_size_bytes", "power_watts", "temperature_celsius"})
"""Never 0 on a device that runs: where an exporter writes 0 for a failed read, the read failed."""


@cache
def bounds(key: str) -> Bounds:
    """Least and greatest number of a catalogue key that is believed; a ratio may round above 1."""
    row = by_key().get(key)
    if key in _EXACT:
        return _EXACT[key]
    if row is None:
        return _ANY
    if row.kind is Kind.COUNTER:
        return _COUNTER
    return _BY_UNIT.get(row.unit, _ANY)

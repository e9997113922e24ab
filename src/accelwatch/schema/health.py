"""Health: one judgement a device from its state, its own signals and its recent events. Pure."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.reading import Number, Reading


class Health(StrEnum):
    """The values of the state set `accel_health`."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Judgement(msgspec.Struct, frozen=True):
    """A health and, in words, what it rests on."""

    health: Health
    reasons: tuple[str, ...] = ()


_STATE_HEALTH = {
    DeviceState.LOST: (Health.FAILED, "the device is lost"),
    DeviceState.UNRESPONSIVE: (Health.FAILED, "the device does not answer"),
    DeviceState.SUSPENDED: (Health.UNKNOWN, "the device sleeps"),
    DeviceState.EXCLUDED: (Health.UNKNOWN, "the device may not be read"),
}

_SIGNALS: tuple[tuple[str, Health, str], ...] = (
    ("memory_repair_failed", Health.FAILED, "a memory row remap failed"),
    ("reset_required", Health.FAILED, "the driver asks for a reset, reboot or drain"),
    ("memory_repair_pending", Health.DEGRADED, "a memory repair waits for a reset"),
)

_FATAL = frozenset(
    {Category.MEMORY_FATAL, Category.BUS, Category.LINK_FATAL, Category.FIRMWARE, Category.HANG}
)
EVENT_MEMORY_S = 600.0
"""How long a fatal event keeps a device `degraded`, as the alert on it does (docs/metrics.md)."""


def _flag(reading: Reading, key: str) -> Number:
    return reading.values.get((key,), 0)


def judge(
    state: DeviceState, reading: Reading, events: Iterable[ErrorEvent], now: float
) -> Judgement:
    """Health of a device; `now` in Unix seconds, `events` those of this device."""
    if state in _STATE_HEALTH:
        health, reason = _STATE_HEALTH[state]
        return Judgement(health, (reason,))
    found = [(health, text) for key, health, text in _SIGNALS if _flag(reading, key)]
    found += [
        (Health.DEGRADED, f"{event.code} was reported")
        for event in events
        if event.category in _FATAL and event.trusted and now - event.time < EVENT_MEMORY_S
    ]
    if state is DeviceState.DEGRADED and not found:
        found.append((Health.DEGRADED, "part of the device cannot be read"))
    if not found:
        return Judgement(Health.OK)
    worst = Health.FAILED if any(h is Health.FAILED for h, _ in found) else Health.DEGRADED
    return Judgement(worst, tuple(dict.fromkeys(text for _, text in found)))

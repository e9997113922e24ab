"""Health: one judgement a device from its state, its own signals and its recent events. Pure."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import FATAL, ErrorEvent
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Reading


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


STATE_HEALTH = {
    DeviceState.LOST: (Health.FAILED, "the device is lost"),
    DeviceState.UNRESPONSIVE: (Health.FAILED, "the device does not answer"),
    DeviceState.SUSPENDED: (Health.UNKNOWN, "the device sleeps"),
    DeviceState.EXCLUDED: (Health.UNKNOWN, "the device may not be read"),
}

STATE_REASONS = frozenset(reason for _, reason in STATE_HEALTH.values())
"""What is said where the state alone judges a device."""
SIGNALS: tuple[tuple[Series, Health, str], ...] = (
    (("memory_repair_failed",), Health.FAILED, "a memory row remap failed"),
    (("memory_unrepairable",), Health.FAILED, "part of the memory cannot be repaired"),
    (
        ("sram_error_threshold_exceeded",),
        Health.FAILED,
        "uncorrected SRAM errors have passed the vendor's limit",
    ),
    (("reset_required",), Health.FAILED, "the driver asks for a reset, reboot or drain"),
    (("reported_health_info", "failed"), Health.FAILED, "the vendor calls the device failed"),
    (("reported_health_info", "degraded"), Health.DEGRADED, "the vendor calls the device degraded"),
    (("fabric_state_info", "failed"), Health.FAILED, "the registration with the fabric failed"),
    (("fabric_state_info", "unhealthy"), Health.DEGRADED, "the fabric is unhealthy"),
    (("fabric_state_info", "limited_capacity"), Health.DEGRADED, "the fabric has limited capacity"),
    (("memory_repair_pending",), Health.DEGRADED, "a memory repair waits for a reset"),
    (("compute_repair_pending",), Health.DEGRADED, "a compute unit's repair waits for a reset"),
)
"""Series by which a device that answers says itself that something is wrong: those other than 0."""

EVENT_MEMORY_S = 600.0
"""How long a fatal event keeps a device `degraded`, as the alert on it does (docs/metrics.md)."""


def signals(reading: Reading) -> list[tuple[Health, str]]:
    """What the device says of itself that is wrong: how bad it is, and in words."""
    return [(health, text) for series, health, text in SIGNALS if reading.values.get(series)]


def judge(
    state: DeviceState, reading: Reading, events: Iterable[ErrorEvent], now: float
) -> Judgement:
    """Health of a device; `now` in Unix seconds, `events` those of this device."""
    if state in STATE_HEALTH:
        health, reason = STATE_HEALTH[state]
        return Judgement(health, (reason,))
    findings = signals(reading)
    findings += [
        (Health.DEGRADED, f"{event.code} was reported")
        for event in events
        if event.category in FATAL and event.trusted and now - event.time < EVENT_MEMORY_S
    ]
    if state is DeviceState.DEGRADED and not findings:
        findings.append((Health.DEGRADED, "part of the device cannot be read"))
    if not findings:
        return Judgement(Health.OK)
    worst = Health.FAILED if any(h is Health.FAILED for h, _ in findings) else Health.DEGRADED
    return Judgement(worst, tuple(dict.fromkeys(text for _, text in findings)))

"""Health: one judgement a device from its state, its own signals and its recent events. Pure."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from types import MappingProxyType

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


class HealthEvaluation(msgspec.Struct, frozen=True):
    """A health and, in words, what it rests on."""

    health: Health
    reasons: tuple[str, ...] = ()


STATE_HEALTH = {
    DeviceState.LOST: (Health.FAILED, "the device is lost"),
    DeviceState.UNRESPONSIVE: (Health.FAILED, "the device does not answer"),
    DeviceState.SUSPENDED: (Health.UNKNOWN, "the device sleeps"),
    DeviceState.EXCLUDED: (Health.UNKNOWN, "the device may not be read"),
}

# What is said where the state alone judges a device.
STATE_REASONS = frozenset(reason for _, reason in STATE_HEALTH.values())
# By recovery action; what is about a domain of many nodes is no fault of the device.
_REQUESTS = {
    "gpu_reset": "the driver asks for a reset of the GPU",
    "bus_reset": "the driver asks for a reset of the GPU over its bus",
    "drain_p2p": "the driver asks to end peer-to-peer work over the GPU",
    "drain_and_reset": "the driver asks to drain the GPU and to reset it",
    "node_reboot": "the driver asks for a reboot of the node",
    "system_reboot": "the driver asks for a reboot of the whole system",
}
_REQUESTED: Series = ("reset_required",)
# Series by which a device that answers says itself that something is wrong: those other than 0.
SIGNALS: tuple[tuple[Series, Health, str], ...] = (
    (("memory_repair_failed",), Health.FAILED, "a memory row remap failed"),
    (("memory_unrepairable",), Health.FAILED, "part of the memory cannot be repaired"),
    (
        ("sram_error_threshold_exceeded",),
        Health.FAILED,
        "uncorrected SRAM errors have passed the vendor's limit",
    ),
    *(
        (("recovery_action_info", action), Health.FAILED, text)
        for action, text in _REQUESTS.items()
    ),
    (_REQUESTED, Health.FAILED, "the driver asks for a reset, reboot or drain"),
    (("reported_health_info", "failed"), Health.FAILED, "the vendor calls the device failed"),
    (("reported_health_info", "degraded"), Health.DEGRADED, "the vendor calls the device degraded"),
    (("fabric_state_info", "failed"), Health.FAILED, "the registration with the fabric failed"),
    (("fabric_state_info", "unhealthy"), Health.DEGRADED, "the fabric is unhealthy"),
    (("fabric_state_info", "limited_capacity"), Health.DEGRADED, "the fabric has limited capacity"),
    (("inforom_corrupted",), Health.DEGRADED, "the infoROM is corrupted"),
    (("vgpu_license_info", "unlicensed"), Health.DEGRADED, "the virtual GPU has no license"),
    (
        ("vgpu_license_info", "unlicensed_restricted"),
        Health.DEGRADED,
        "the virtual GPU has no license and is throttled",
    ),
    (("memory_repair_pending",), Health.DEGRADED, "a memory repair waits for a reset"),
    (("compute_repair_pending",), Health.DEGRADED, "a compute unit's repair waits for a reset"),
)

# Code of a failed read that says: the device is on its bus and no driver has it.
NO_DRIVER = "no_driver"
# The text for that; the pack `device` matches it.
WITHOUT_DRIVER = "no driver has the device"
# The reason where only an exporter rates a device; the pack `device` matches it at the
# beginning of the reasons, after which only the vendor's word and error codes may stand.
BY_EXPORTER = MappingProxyType(
    {
        Health.FAILED: "the exporter reports failed",
        Health.DEGRADED: "the exporter reports degraded",
    }
)
_STATUS = "reported_status_info"
_REPORTED = "reported_health_info"
# Stands in the note of a reading that has the vendor's codes.
_CODES = "error code"
# Rules match only texts of up to 128 characters; the notes have every code.
_SHOWN_CODES = 4

# How long a fatal event keeps a device `degraded`, as the alert on it does (docs/metrics.md).
EVENT_MEMORY_S = 600.0


class Unread(msgspec.Struct, frozen=True):
    """Why nothing could be read from a device."""

    code: str
    text: str


def signals(reading: Reading) -> list[tuple[Health, str]]:
    """What the device says of itself that is wrong: how bad it is, and in words."""
    values = reading.values
    named = any(values.get(("recovery_action_info", action)) for action in _REQUESTS)
    return [
        (health, _with_vendor_status(text, reading) if series[0] == _REPORTED else text)
        for series, health, text in SIGNALS
        if values.get(series) and not (named and series == _REQUESTED)
    ]


def by_exporter(health: Health, reading: Reading) -> str:
    """The reason by an exporter, with the vendor's word and error codes where it exports them."""
    return _with_vendor_status(BY_EXPORTER[health], reading)


def _with_vendor_status(text: str, reading: Reading) -> str:
    """With the status by the vendor's own name, and its error codes."""
    status = ", ".join(
        series[1] for series, value in reading.values.items() if series[0] == _STATUS and value
    )
    codes = _error_codes([note for note in reading.notes if _CODES in note])
    return (f"{text}: {status}" if status else text) + (f" ({codes})" if codes else "")


def _error_codes(notes: Sequence[str]) -> str:
    """The codes of notes that have one each, in one list; notes that list them already as they are."""
    codes = [code for note in notes if (code := note.partition(f"{_CODES} ")[2])]
    if len(codes) < len(notes) or len(codes) < 2:
        return "; ".join(notes)
    remaining = len(codes) - _SHOWN_CODES
    if remaining > 0:
        return f"error codes {', '.join(codes[:_SHOWN_CODES])} and {remaining} more"
    return f"error codes {', '.join(codes[:-1])} and {codes[-1]}"


def evaluate_health(
    state: DeviceState,
    reading: Reading,
    events: Iterable[ErrorEvent],
    now: float,
    unread: Unread | None = None,
) -> HealthEvaluation:
    """Health of a device; `now` in Unix seconds, `events` those of this device.

    `unread` is why the last read failed, where it says something about the device.
    """
    if state in STATE_HEALTH:
        health, reason = STATE_HEALTH[state]
        return HealthEvaluation(health, (reason,))
    findings = signals(reading)
    findings += [
        (Health.DEGRADED, f"{event.code} was reported")
        for event in events
        if event.category in FATAL and event.trusted and now - event.time < EVENT_MEMORY_S
    ]
    if state is DeviceState.DEGRADED and unread is not None and unread.code == NO_DRIVER:
        findings.append((Health.FAILED, WITHOUT_DRIVER))
    elif state is DeviceState.DEGRADED and not findings:
        text = "part of the device cannot be read" if unread is None else unread.text
        findings.append((Health.DEGRADED, text))
    if not findings:
        return HealthEvaluation(Health.OK)
    worst = Health.FAILED if any(h is Health.FAILED for h, _ in findings) else Health.DEGRADED
    return HealthEvaluation(worst, tuple(dict.fromkeys(text for _, text in findings)))

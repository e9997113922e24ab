"""Error events: a fault that a driver or the kernel reported at a moment."""

from enum import StrEnum

import msgspec


class Category(StrEnum):
    """What a fault touches; decides how loud it is (see docs/metrics.md)."""

    APPLICATION = "application"
    MEMORY_CONTAINED = "memory_contained"
    MEMORY_FATAL = "memory_fatal"
    BUS = "bus"
    LINK = "link"
    LINK_FATAL = "link_fatal"
    THERMAL = "thermal"
    POWER = "power"
    FIRMWARE = "firmware"
    HANG = "hang"
    OTHER = "other"


class ErrorEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One fault. `code` is namespaced by its source (`xid_79`, `ras_umc`, `collector_crash`).

    `device_id` is empty when the fault belongs to the node. `subject` names what the source named (a
    PCI id, an NFS server, a disk) before it was resolved to a device. `trusted` is false for kernel
    log records that user space wrote.
    """

    code: str
    category: Category
    # Unix seconds at which the fault was reported.
    time: float
    text: str
    # `nvml`, `kernel_log`, `sysfs`, `collector`; `hub`; `pushed` for events that others sent to a hub.
    source: str
    device_id: str = ""
    subject: str = ""
    trusted: bool = True
    # Parsed parts, such as `pid`, `process`, `link`, `gpu_instance`.
    detail: dict[str, str] = {}


# Categories that make a device's health degraded.
FATAL = frozenset(
    {Category.MEMORY_FATAL, Category.BUS, Category.LINK_FATAL, Category.FIRMWARE, Category.HANG}
)
# The source of events that others have pushed to a hub.
PUSHED = "pushed"
# Worst first.
SEVERITIES = ("critical", "warning", "info")
# In `detail` of what others have pushed: how bad they say it is.
SEVERITY = "severity"


# Codes of events that report the end of a fault.
RECOVERED = frozenset({"device_recovered", "node_recovered"})


def severity(event: ErrorEvent) -> str:
    """`critical` for what is fatal, `info` for what is an application's, over or untrusted."""
    if event.category is Category.APPLICATION or not event.trusted or event.code in RECOVERED:
        return "info"
    if event.source == PUSHED and (reported := event.detail.get(SEVERITY)) in SEVERITIES:
        return str(reported)
    return "critical" if event.category in FATAL else "warning"

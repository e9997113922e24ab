"""One reading of one device: which readers run, in which order, and what is kept between readings.

The first source that gives a series wins: number files, hwmon, DPM levels, the firmware's table.
"""

from pathlib import Path

import msgspec

from accelwatch.base.absence import Absence
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Collected, Number
from accelwatch_amd.gpu_metrics.table import Table, parse
from accelwatch_amd.gpu_metrics.telemetry import read_telemetry
from accelwatch_amd.gpu_metrics.throttle import ResidencyMeter, read_throttle
from accelwatch_amd.sysfs.attributes import read_attributes
from accelwatch_amd.sysfs.clocks import read_clocks
from accelwatch_amd.sysfs.hwmon import find_hwmon, read_hwmon
from accelwatch_amd.sysfs.pcie import read_errors, read_link
from accelwatch_amd.sysfs.ras import (
    BlockErrors,
    read_blocks,
    read_pages,
    read_protection,
    record_blocks,
)
from accelwatch_amd.sysfs.tree import ReadBytes, Tree

# Quantities that are read again only when a request includes the slow ones.
_SLOW = frozenset(
    {
        "temperature_limit_celsius",
        "power_limit_watts",
        "clock_limit_hertz",
        "pcie_link_generation",
        "pcie_link_width_lanes",
        "ecc_errors_total",
        "ecc_location_errors_total",
        "ecc_enabled",
        "memory_retired_pages",
        "memory_repair_pending",
        "memory_repair_failed",
        "interconnect_errors_total",
    }
)

_FROM_TABLE = ("throttle_active", "throttle_seconds_total")


class Memory(msgspec.Struct, kw_only=True):
    """What one device's readings leave behind for the next."""

    meter: ResidencyMeter = msgspec.field(default_factory=ResidencyMeter)
    values: dict[Series, Number] = {}
    absent: dict[Series, Absence] = {}
    blocks: dict[str, BlockErrors | Absence] = {}
    # Files the device does not have; looked for again with the slow quantities.
    missing: set[Path] = msgspec.field(default_factory=set)
    # Whether the slow quantities have been read once.
    complete: bool = False


def collect(
    device: Tree,
    read: ReadBytes,
    memory: Memory,
    out: Collected,
    *,
    architecture: str | None,
    now: float,
    slow: bool,
) -> Table | None:
    """Read a device into `out`; returns the firmware's table for the partitions.

    Args:
        device: Folder of the PCI device.
        read: Reader for files outside that folder.
        memory: State of this device; its slow part is renewed when `slow`, else reused.
        out: Collects values and absences.
        architecture: Decides which counters can be believed.
        now: Monotonic seconds.
        slow: Whether to read the slow quantities again.
    """
    slow = slow or not memory.complete
    if slow:
        memory.missing.clear()
    device = device.remembering(memory.missing)
    read_attributes(device, out)
    hwmon = find_hwmon(device)
    if hwmon is not None:
        read_hwmon(hwmon, out, limits=slow)
    read_clocks(device, out, limits=slow)
    read_errors(device, out)
    table = _telemetry(device, memory, out, architecture, now)
    if slow:
        read_link(device, read, out)
        memory.blocks = read_blocks(device)
        record_blocks(memory.blocks, out)
        read_pages(device, out)
        read_protection(device, out)
        memory.values = {s: v for s, v in out.values.items() if s[0] in _SLOW}
        memory.absent = {s: r for s, r in out.absent.items() if s[0] in _SLOW}
        memory.complete = True
    else:
        out.values.update(memory.values)
        out.absent.update(memory.absent)
    return table


def _telemetry(
    device: Tree, memory: Memory, out: Collected, architecture: str | None, now: float
) -> Table | None:
    content = device.raw("gpu_metrics")
    table = parse(content) if isinstance(content, bytes) else None
    if table is not None:
        read_telemetry(table, architecture, out)
        read_throttle(table, memory.meter, now, out)
        return table
    if content is not Absence.UNSUPPORTED:
        reason = content if isinstance(content, Absence) else Absence.ERROR
        for key in _FROM_TABLE:
            out.miss(key, reason)
    return None

"""Faults: components that the firmware holds unhealthy, and what the driver counts for each core.

The driver counts since it was loaded; a count above 0 is reported in its word. Without any there is
no "ok": nobody vouches for it. Time-outs, wrong numbers and bad input are the programs' own and are not
reported.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch.system.kernel import sysfs
from accelwatch_neuron import tree

# Below a core; the second is of the first releases.
_STATUS, _OTHER = ("stats/status", "status"), ("stats/other_info",)
# Folder and health of each: failed is what the vendor's guide wants replaced. A collective may hang for
# a fault of another device, and `hw_error` does not say of what: they give no health.
_FAULTS = {
    "hw_hbm_ue_error": (_STATUS, "failed"),
    "hw_nc_ue_error": (_STATUS, "failed"),
    "hw_dma_abort_error": (_STATUS, "failed"),
    "hw_repairable_hbm_ue_error": (_STATUS, "degraded"),
    "hw_collectives_error": (_STATUS, None),
    "hw_error": (_STATUS, None),
    "reset_fail_count": (_OTHER, None),
}
# Of driver 2.30 and later.
_UNHEALTHY = "stats/hardware/health_status/unhealthy_components"
_COMPONENT = re.compile(r"[a-z][a-z0-9_]{1,40}")
_NOTHING = ("none", "healthy", "unknown", "invalid")
# Without the others, links, the device still computes.
_VITAL = frozenset(
    {"hbm", "sram", "firmware_service_api", "firmware_service_processor", "axi_fabric"}
)


def collect_faults(out: Collected, folder: Path) -> None:
    """The words of the faults that the device or any core has, and the worst health of them."""
    cores = tree.cores(folder)
    health_by_fault = {
        fault: health
        for fault, (subfolders, health) in _FAULTS.items()
        if _any(core / subfolder / fault for core in cores for subfolder in subfolders)
    }
    for component in _unhealthy(folder):
        health_by_fault[f"unhealthy {component}"] = "failed" if component in _VITAL else "degraded"
    for fault in health_by_fault:
        out.put("reported_status_info", 1, fault)
    if not health_by_fault:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
    states = set(health_by_fault.values())
    worst = next((state for state in ("failed", "degraded") if state in states), None)
    if worst is None:
        out.miss("reported_health_info", Absence.UNSUPPORTED)
    else:
        out.put("reported_health_info", 1, worst)


def _unhealthy(folder: Path) -> list[str]:
    text = sysfs.read_text(folder / _UNHEALTHY)
    names = [] if isinstance(text, Absence) else [name.strip() for name in text.split(",")]
    return [name for name in names if _COMPONENT.fullmatch(name) and name not in _NOTHING]


def _any(counters: Iterable[Path]) -> bool:
    counts = [tree.count(counter) for counter in counters]
    return any(not isinstance(count, Absence) and count > 0 for count in counts)

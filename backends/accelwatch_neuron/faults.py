"""Faults: components that the firmware holds unhealthy, and what the driver counts for each core.

The driver counts since it was loaded; a count that is not 0 is told in its word. Without any there is
no "ok": nobody vouches for it. Time-outs, wrong numbers and bad input are the programs' own and are not
told.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from accelwatch.base.absence import Absence
from accelwatch.kernel import sysfs
from accelwatch.schema.reading import Collected
from accelwatch_neuron import tree

_STATUS, _OTHER = ("stats/status", "status"), ("stats/other_info",)
"""Below a core; the second is of the first releases."""
_FAULTS = {
    "hw_hbm_ue_error": (_STATUS, "failed"),
    "hw_nc_ue_error": (_STATUS, "failed"),
    "hw_dma_abort_error": (_STATUS, "failed"),
    "hw_repairable_hbm_ue_error": (_STATUS, "degraded"),
    "hw_collectives_error": (_STATUS, None),
    "hw_error": (_STATUS, None),
    "reset_fail_count": (_OTHER, None),
}
"""Folder and health of each: failed is what the vendor's guide wants replaced. A collective may hang for
a fault of another device, and `hw_error` does not say of what: they give no health."""
_UNHEALTHY = "stats/hardware/health_status/unhealthy_components"
"""Of driver 2.30 and later."""
_COMPONENT = re.compile(r"[a-z][a-z0-9_]{1,40}")
_NOTHING = ("none", "healthy", "unknown", "invalid")
_VITAL = frozenset(
    {"hbm", "sram", "firmware_service_api", "firmware_service_processor", "axi_fabric"}
)
"""Without the others, links, the device still computes."""


def put_faults(out: Collected, folder: Path) -> None:
    """The words of the faults that the device or any core has, and the worst health of them."""
    cores = tree.cores(folder)
    words = {
        word: health
        for word, (places, health) in _FAULTS.items()
        if _any(core / place / word for core in cores for place in places)
    }
    for component in _unhealthy(folder):
        words[f"unhealthy {component}"] = "failed" if component in _VITAL else "degraded"
    for word in words:
        out.put("reported_status_info", 1, word)
    if not words:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
    states = set(words.values())
    worst = next((state for state in ("failed", "degraded") if state in states), None)
    if worst is None:
        out.miss("reported_health_info", Absence.UNSUPPORTED)
    else:
        out.put("reported_health_info", 1, worst)


def _unhealthy(folder: Path) -> list[str]:
    told = sysfs.read_text(folder / _UNHEALTHY)
    words = [] if isinstance(told, Absence) else [word.strip() for word in told.split(",")]
    return [word for word in words if _COMPONENT.fullmatch(word) and word not in _NOTHING]


def _any(counters: Iterable[Path]) -> bool:
    counts = [tree.count(counter) for counter in counters]
    return any(not isinstance(count, Absence) and count > 0 for count in counts)

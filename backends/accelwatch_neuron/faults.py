"""Faults that the driver counts for each core since it was loaded.

A count that is not 0 is told in the driver's word. A driver that counts none vouches for nothing:
there is no "ok". Time-outs, wrong numbers and bad input are the programs' own and are not told.
"""

from collections.abc import Iterable
from pathlib import Path

from accelwatch.schema.absence import Absence
from accelwatch.schema.reading import Collected
from accelwatch_neuron import tree

_STATUS, _OTHER = "stats/status", "stats/other_info"
_FAULTS = {
    "hw_hbm_ue_error": (_STATUS, "failed"),
    "hw_nc_ue_error": (_STATUS, "failed"),
    "hw_dma_abort_error": (_STATUS, "degraded"),
    "hw_repairable_hbm_ue_error": (_STATUS, "degraded"),
    "hw_collectives_error": (_STATUS, None),
    "hw_error": (_STATUS, None),
    "reset_fail_count": (_OTHER, None),
}
"""Folder and health of each. A collective may hang for a fault of another device, and `hw_error` does
not say of what: they give no health."""


def put_faults(out: Collected, folder: Path) -> None:
    """The words of the faults that any core has, and the worst health of them."""
    cores = tree.cores(folder)
    words = [
        word for word, (place, _) in _FAULTS.items() if _any(core / place / word for core in cores)
    ]
    for word in words:
        out.put("reported_status_info", 1, word)
    if not words:
        out.miss("reported_status_info", Absence.UNSUPPORTED)
    states = [_FAULTS[word][1] for word in words]
    worst = next((state for state in ("failed", "degraded") if state in states), None)
    if worst is None:
        out.miss("reported_health_info", Absence.UNSUPPORTED)
    else:
        out.put("reported_health_info", 1, worst)


def _any(counters: Iterable[Path]) -> bool:
    counts = [tree.count(counter) for counter in counters]
    return any(not isinstance(count, Absence) and count > 0 for count in counts)

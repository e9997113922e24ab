"""The subject of a log line or a driver's event, its advice, and whether it is decisive."""

from typing import NamedTuple

from accelwatch.detection.evidence import Weight
from accelwatch.detection.frame import FrameEvent
from accelwatch.schema.event import Category


class Reaction(NamedTuple):
    """What follows from a category or a code."""

    family: str
    advice: str
    weight: Weight


# 6.3, step 2. Contained memory errors end the job and are among the ten of 1.2: decisive, by restart.
_BY_CATEGORY = {
    Category.APPLICATION: Reaction("other", "restart", Weight.CONFIRMING),
    Category.MEMORY_CONTAINED: Reaction("ecc", "restart", Weight.DECISIVE),
    Category.MEMORY_FATAL: Reaction("ecc", "reset", Weight.DECISIVE),
    Category.BUS: Reaction("pcie", "reboot", Weight.DECISIVE),
    Category.LINK: Reaction("nvlink", "", Weight.CONFIRMING),
    Category.LINK_FATAL: Reaction("nvlink", "reset", Weight.DECISIVE),
    Category.THERMAL: Reaction("thermal", "", Weight.CONFIRMING),
    Category.POWER: Reaction("power", "", Weight.CONFIRMING),
    Category.FIRMWARE: Reaction("other", "reset", Weight.DECISIVE),
    Category.HANG: Reaction("other", "reset", Weight.DECISIVE),
    Category.OTHER: Reaction("other", "", Weight.CONFIRMING),
}
# Codes whose advice differs from their category's: rows that cannot be remapped any more (6.3, REPLACE).
_ADVICE = {"xid_64": "replace"}
# What lines of the host's kernel are about, by how their codes begin; a host is booted, not reset.
_FAMILY = {
    "nfs_": "storage",
    "disk_": "storage",
    "filesystem_": "storage",
    "nvme_": "storage",
    "raid_": "storage",
    "mlx5_": "fabric",
    "netdevice_": "fabric",
    "pcie_": "pcie",
    "edac_": "host",
    "soft_lockup": "host",
    "hard_lockup": "host",
    "rcu_stall": "host",
    "hung_task": "host",
}
# Errors that were corrected, and tasks that wait long, of which most wait for a busy disk or server.
_WARNINGS = frozenset({"xid_92", "edac_ce", "habanalabs_ecc_corrected", "hung_task"})


def is_decisive(observed: FrameEvent) -> bool:
    """What the catalogue or its sender calls critical is; an application's fault never is."""
    event = observed.event
    severity = event.detail.get("severity", "").lower()
    if event.category is Category.APPLICATION or event.code in _WARNINGS:
        return False
    if severity.startswith("correct"):
        return False
    of_category = _BY_CATEGORY[event.category].weight is Weight.DECISIVE
    return of_category or observed.severity == "critical"


def reaction_of(code: str, category: str, *, decisive: bool) -> Reaction:
    """What follows from a code; `decisive` as `is_decisive` had it."""
    reaction = _BY_CATEGORY[Category(category)]
    if category == Category.APPLICATION:
        return reaction
    families = (family for prefix, family in _FAMILY.items() if code.startswith(prefix))
    family = next(families, reaction.family)
    advice = _ADVICE.get(code, reaction.advice)
    if family == "host" and advice:
        advice = "reboot" if decisive else ""
    return reaction._replace(family=family, advice=advice)

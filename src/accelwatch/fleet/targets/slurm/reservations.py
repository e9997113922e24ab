"""Slurm's reservations for maintenance (flag MAINT) as windows of maintenance.

They are Slurm's: it is polled, nothing of them is saved, and they end there.
"""

from accelwatch.alerting.incidents.model.silence import Maintenance
from accelwatch.api_client.slurm.scontrol_text import pairs_of
from accelwatch.base.errors import UsageError
from accelwatch.base.names.host_ranges import expand, listed
from accelwatch.fleet.targets.settings import SlurmSd
from accelwatch.fleet.targets.slurm.scontrol import Scontrol

# Else times are written in the zone and form of the caller.
_UNIX_SECONDS = {"SLURM_TIME_FORMAT": "%s"}
_MAINTENANCE = "MAINT"
# Beginning of the names of those that the Slurm action makes: they hold nodes for a job, or a node for
# its test, and nobody works on their nodes.
_OWN = "accelwatch-"


def reservations(settings: SlurmSd) -> list[Maintenance]:
    """The windows that a cluster has announced or that go on. Blocks. Raises UsageError."""
    scontrol = Scontrol(settings)
    printed = scontrol.printed("--oneliner", "show", "reservations", environ=_UNIX_SECONDS)
    return windows_of(printed.decode("utf-8", "replace"))


def windows_of(text: str) -> list[Maintenance]:
    """The reservations of `scontrol --oneliner show reservations` with the flag MAINT.

    One without nodes (licenses only) is left out: no nodes would mean all of them. So are our own.
    Raises UsageError.
    """
    windows = []
    for line in text.splitlines():
        pairs = pairs_of(line)
        name, nodes = pairs.get("ReservationName", ""), pairs.get("Nodes", "")
        if not name or name.startswith(_OWN):
            continue
        if _MAINTENANCE not in pairs.get("Flags", "").split(","):
            continue
        ranges = tuple(listed(nodes)) if nodes != "(null)" else ()
        if not ranges:
            continue
        for node_range in ranges:
            expand(node_range)
        try:
            starts, ends = float(pairs["StartTime"]), float(pairs["EndTime"])
        except (KeyError, ValueError):
            raise UsageError(f"a reservation of scontrol without times: {line[:80]!r}") from None
        windows.append(
            Maintenance(
                id=f"slurm:{name}",
                nodes=ranges,
                starts=starts,
                ends=ends,
                by="slurm",
                verified=True,
                reason=f"Slurm reservation {name}",
            )
        )
    return windows

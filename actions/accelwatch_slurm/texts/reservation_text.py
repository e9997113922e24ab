"""Reservations as `scontrol --oneliner show reservations` prints them. Pure."""

import msgspec

from accelwatch.api_client.slurm.scontrol_text import pairs_of
from accelwatch_slurm.texts.job_text import names_of
from accelwatch_slurm.texts.node_text import time_of

# Beginning of the names of ours.
OWN = "accelwatch-"
# Beginning of the names of those that keep the nodes of a job.
OF_JOB = f"{OWN}job-"


class SlurmReservation(msgspec.Struct, frozen=True, kw_only=True):
    """What is read of a reservation."""

    name: str
    nodes: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    active: bool = False
    # Unix seconds.
    end_time: float | None = None

    @property
    def maintenance(self) -> bool:
        """Whether its nodes are under maintenance now."""
        return self.active and "MAINT" in self.flags and not self.name.startswith(OWN)


def reservations_of(text: str) -> dict[str, SlurmReservation]:
    """Reservations by name; lines that are none are left out."""
    reservations = {}
    for line in text.splitlines():
        pairs = pairs_of(line)
        name = pairs.get("ReservationName", "")
        if name:
            nodes = pairs.get("Nodes", "")
            reservations[name] = SlurmReservation(
                name=name,
                nodes=() if nodes == "(null)" else names_of(nodes),
                flags=tuple(pairs.get("Flags", "").split(",")),
                active=pairs.get("State") == "ACTIVE",
                end_time=time_of(pairs.get("EndTime")),
            )
    return reservations

"""Who takes nodes out besides us, known by how reasons begin. Pure; a table to be added to."""

from enum import StrEnum
from types import MappingProxyType


class Holder(StrEnum):
    """What kind of somebody holds a node."""

    # The scheduler itself, of its own accord.
    SCHEDULER = "scheduler"
    HEALTH_TOOL = "health_tool"
    PERSON = "person"

    @property
    def text(self) -> str:
        """For people."""
        return _TEXTS[self]


_TEXTS = {
    Holder.SCHEDULER: "the scheduler itself",
    Holder.HEALTH_TOOL: "a health check",
    Holder.PERSON: "a person or another program",
}

# Of Slurm (src/slurmctld, src/slurmd), of LBNL's Node Health Check, of Slinky, of soperator.
BEGINNINGS = MappingProxyType(
    {
        "Prolog error": Holder.SCHEDULER,
        "Epilog error": Holder.SCHEDULER,
        "Kill task failed": Holder.SCHEDULER,
        "Not responding": Holder.SCHEDULER,
        "Node unexpectedly rebooted": Holder.SCHEDULER,
        "reboot timed out": Holder.SCHEDULER,
        "Low RealMemory": Holder.SCHEDULER,
        "Low socket*core*thread count": Holder.SCHEDULER,
        "Duplicate jobid": Holder.SCHEDULER,
        "batch job complete failure": Holder.SCHEDULER,
        "gres/": Holder.SCHEDULER,
        "NHC:": Holder.HEALTH_TOOL,
        "slurm-operator:": Holder.HEALTH_TOOL,
        "[node_problem]": Holder.HEALTH_TOOL,
    }
)
# Who writes where a scheduler itself gives a reason, or adds to one.
SCHEDULER_USERS = frozenset({"slurm"})


def holder_of(reason: str, set_by: str) -> Holder:
    """What kind of somebody wrote a reason. Who is not known is taken for a person."""
    # By the beginning of a reason: schedulers append details to it.
    for prefix, holder in BEGINNINGS.items():
        if reason.startswith(prefix):
            return holder
    return Holder.SCHEDULER if set_by in SCHEDULER_USERS and reason else Holder.PERSON

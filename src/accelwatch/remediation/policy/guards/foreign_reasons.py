"""Who drains nodes besides us, recognised by name or by how reasons begin. Pure; tables to add to."""

from enum import StrEnum
from types import MappingProxyType


class Holder(StrEnum):
    """What kind of somebody holds a node."""

    # The scheduler itself, of its own accord.
    SCHEDULER = "scheduler"
    HEALTH_TOOL = "health_tool"
    # What adds and removes the nodes of a cluster.
    AUTOSCALER = "autoscaler"
    PERSON = "person"

    @property
    def text(self) -> str:
        """For people."""
        return _TEXTS[self]


_TEXTS = {
    Holder.SCHEDULER: "the scheduler itself",
    Holder.HEALTH_TOOL: "a health check",
    Holder.AUTOSCALER: "an autoscaler",
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
# An action's name for who has set a mark, where the mark itself shows it (a taint's key).
NAMES = MappingProxyType(
    {
        "NVSentinel": Holder.HEALTH_TOOL,
        "AMD GPU operator": Holder.HEALTH_TOOL,
        "medik8s": Holder.HEALTH_TOOL,
        "a fencing agent": Holder.HEALTH_TOOL,
        "Karpenter": Holder.AUTOSCALER,
        "cluster autoscaler": Holder.AUTOSCALER,
        "AWS node termination handler": Holder.AUTOSCALER,
    }
)
# Who writes where a scheduler itself gives a reason, or adds to one.
SCHEDULER_USERS = frozenset({"slurm"})


def holder_of(reason: str, set_by: str) -> Holder:
    """The kind of the author of a reason. An unknown author counts as a person."""
    if set_by in NAMES:
        return NAMES[set_by]
    # By the beginning of a reason: schedulers append details to it.
    for prefix, holder in BEGINNINGS.items():
        if reason.startswith(prefix):
            return holder
    return Holder.SCHEDULER if set_by in SCHEDULER_USERS and reason else Holder.PERSON

"""What a lab needs of a scheduler, whichever it is."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from accelwatch_lab.cluster.processes import Processes

# What the spare nodes are called where they need a name.
SPARES = "spares"
_OURS = "accelwatch:"
_OUT = frozenset({"DRAIN", "DOWN", "FAIL"})


class SchedulerKind(StrEnum):
    """Those that there are."""

    SLURM = "slurm"
    STAND_IN = "stand-in"
    KUBERNETES = "kubernetes"
    BACKENDAI = "backendai"


class NodeNow(NamedTuple):
    """A node as its scheduler shows it."""

    # `IDLE`, `DRAIN`, `DOWN`, ...
    states: tuple[str, ...]
    reason: str

    @property
    def out(self) -> bool:
        """Whether it accepts no work."""
        return not _OUT.isdisjoint(self.states)

    @property
    def ours(self) -> bool:
        """Whether the hub quarantined it."""
        return self.out and self.reason.startswith(_OURS)


class JobNow(NamedTuple):
    """A job as its scheduler shows it."""

    # `RUNNING`, ...
    state: str
    nodes: tuple[str, ...]
    restarts: int


class LabScheduler(Protocol):
    """A cluster on this machine, and what administrators, users and faults do to it.

    Everything raises AccelwatchError where it cannot be done.
    """

    # For people.
    title: str
    # Name of the process that answers for it.
    controller: str
    # What people call that, as the subject of a sentence.
    controller_title: str
    # How long callers of its controller wait at most.
    commands_wait_s: float
    names: Sequence[str]
    # Whether it shows of each node the boot id that the node's agent reports.
    shows_boots: bool
    # Scenarios that mean nothing with it, and why.
    unplayable: Mapping[str, str]
    processes: Processes

    @property
    def shown_by(self) -> str:
        """The command that shows its nodes."""

    def start(self, spares: Sequence[str]) -> None:
        """Start all of it and wait until its nodes could run a job."""

    def cancel_jobs(self) -> None:
        """Before it is ended; raises nothing."""

    def actions(self) -> str:
        """The list `remedy.actions` of a hub that acts on it, as YAML."""

    def sinks(self) -> str:
        """More of the list `alerts.sinks`, as YAML: what notifies the scheduler; empty for none."""

    def submit(self, count: int) -> str:
        """Id of a counting job over so many nodes."""

    def cancel(self, job: str) -> None:
        """End a job; raises nothing."""

    def nodes_now(self) -> dict[str, NodeNow]:
        """Every node."""

    def job_now(self, job: str) -> JobNow | None:
        """A job; None when it is not known."""

    def drain(self, node: str, reason: str) -> None:
        """As an administrator does."""

    def resume(self, node: str) -> None:
        """As an administrator does."""

    def daemon(self, node: str) -> str:
        """Name of the process of a node's daemon."""

    def start_node(self, node: str) -> None:
        """Have a node whose daemon has ended boot."""

    def output_of(self, name: str) -> str:
        """The end of what a process has printed."""

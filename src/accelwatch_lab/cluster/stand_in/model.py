"""The nodes and the jobs that the stand-in's scheduler has."""

from enum import StrEnum

import msgspec

from accelwatch_lab.cluster.stand_in.hook_documents import OwnerAnnotation
from accelwatch_lab.cluster.stand_in.wire import Copy


class State(StrEnum):
    """How far a job is, in the words of an observe hook."""

    WAITING = "waiting"
    RUNNING = "running"
    STOPPING = "ending"
    STOPPED = "ended"


class Node(msgspec.Struct, kw_only=True):
    """One node."""

    name: str
    # Jobs come to it only while it is drawn.
    spare: bool = False
    drawn: bool = False
    # Why it accepts no work; empty when it does.
    reason: str = ""
    set_by: str = ""
    # Unix seconds.
    set_at: float | None = None
    annotation: OwnerAnnotation | None = None
    # Its power was cut: nothing is started there.
    down: bool = False
    answering: bool = False


class Job(msgspec.Struct, kw_only=True):
    """One job."""

    id: str
    # Nodes that it needs.
    count: int
    # Unix seconds.
    submitted: float
    state: State = State.WAITING
    nodes: tuple[str, ...] = ()
    restarts: int = 0
    # Unix seconds.
    started: float | None = None
    avoided: frozenset[str] = frozenset()
    liked: tuple[str, ...] = ()
    # Unix seconds.
    not_before: float = 0.0
    # Whether it is not restarted when its copy is gone.
    over: bool = False
    failed: bool = False

    @property
    def copy(self) -> Copy:
        """What runs of it, or should."""
        return Copy(job=self.id, restart=self.restarts, nodes=self.nodes)

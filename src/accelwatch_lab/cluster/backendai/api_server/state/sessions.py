"""The manager's rows of sessions and their kernels."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from accelwatch_lab.cluster.backendai.api_server.accounts import Keypair
from accelwatch_lab.cluster.backendai.api_server.clock import text_of

CLOSED = frozenset({"TERMINATED", "CANCELLED", "ERROR"})
# They hold their agents' slots.
OCCUPYING = frozenset(
    {"SCHEDULED", "PREPARING", "PULLING", "PREPARED", "CREATING", "RUNNING", "TERMINATING"}
)
# From the choice of agents to work.
STAGES = ("SCHEDULED", "PREPARING", "PREPARED", "CREATING", "RUNNING")


class Kernel(msgspec.Struct, kw_only=True):
    """One container of a session."""

    id: str
    role: str
    index: int
    local_rank: int
    agent: str | None = None
    status: str = "PENDING"
    status_changed: float
    starts_at: float | None = None
    terminated_at: float | None = None

    @property
    def hostname(self) -> str:
        """In the session's own network."""
        return f"{self.role}{self.index}"


class Session(msgspec.Struct, kw_only=True):
    """A session: its request, and how far it is."""

    id: str
    creation_id: str
    name: str
    owner: Keypair
    kind: str
    image: str
    architecture: str
    tag: str
    project: str
    domain: str
    group: str
    cluster_mode: str
    cluster_size: int
    priority: int
    startup_command: str | None
    bootstrap_script: str | None
    callback_url: str | None
    batch_timeout_s: float | None
    environ: Mapping[str, str]
    # Of one kernel.
    slots: Mapping[str, int]
    resource_opts: Mapping[str, Any]
    agent_list: tuple[str, ...]
    dependencies: tuple[str, ...]
    mounts: tuple[str, ...]
    created_at: float
    kernels: list[Kernel]
    status: str = "PENDING"
    status_info: str | None = None
    status_data: Any = None
    status_changed: float
    # When it came to each of its statuses.
    history: dict[str, str | None] = msgspec.field(default_factory=dict)
    result: str = "UNDEFINED"
    scheduled_at: float | None = None
    starts_at: float | None = None
    terminated_at: float | None = None
    # Unix seconds at which it goes on of itself; None: never.
    due: float | None = None

    @property
    def agent_ids(self) -> list[str]:
        """Of its kernels, once they are chosen."""
        return [kernel.agent for kernel in self.kernels if kernel.agent is not None]

    @property
    def is_batch(self) -> bool:
        """Whether it ends with its command."""
        return self.kind == "batch"

    def become(self, status: str, at: float, info: str | None = None) -> None:
        """Go to a status, with all kernels."""
        self.status, self.status_changed = status, at
        self.history[status] = text_of(at)
        if info is not None:
            self.status_info = info
        for kernel in self.kernels:
            kernel.status, kernel.status_changed = status, at
            if status == "RUNNING":
                kernel.starts_at = at
            elif status in CLOSED:
                kernel.terminated_at = at
        if status == "RUNNING":
            self.starts_at = at
        elif status in CLOSED:
            self.terminated_at, self.due = at, None


class Sessions:
    """All that ever were, by id, the oldest first."""

    def __init__(self) -> None:
        self.rows: dict[str, Session] = {}

    def add(self, session: Session) -> None:
        """It is known from now on."""
        self.rows[session.id] = session

    def open(self) -> Iterator[Session]:
        """Those that have not ended."""
        return (session for session in self.rows.values() if session.status not in CLOSED)

    def named(self, name: str, owner: Keypair) -> list[Session]:
        """All of an owner that have a name."""
        return [
            session
            for session in self.rows.values()
            if session.name == name and session.owner.access_key == owner.access_key
        ]

    def on(self, agent_id: str) -> list[Session]:
        """Those that hold something on an agent."""
        return [
            session
            for session in self.rows.values()
            if session.status in OCCUPYING and agent_id in session.agent_ids
        ]

    def occupied(self, agent_id: str) -> dict[str, int]:
        """The slots of an agent that are in use."""
        occupied: dict[str, int] = {}
        for session in self.on(agent_id):
            for slot, count in session.slots.items():
                occupied[slot] = occupied.get(slot, 0) + count * session.agent_ids.count(agent_id)
        return occupied

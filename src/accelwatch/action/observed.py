"""How things stand, as a scheduler shows them."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch.action.intent import JobKey, OwnerAnnotation


class HoldState(StrEnum):
    """To whom a node belongs, as its scheduler shows it."""

    OPEN = "open"
    """It takes work."""
    OURS = "ours"
    FOREIGN = "foreign"
    """Somebody else holds it: nothing of it is changed."""
    DOWN = "down"
    """The scheduler itself has given it up."""
    MISSING = "missing"
    """The scheduler knows no such node."""


class NodeObservation(msgspec.Struct, frozen=True, kw_only=True):
    """A node as its scheduler shows it."""

    name: str
    hold_state: HoldState
    answering: bool | None = None
    """Whether the scheduler's own daemon there answers; None where it does not say."""
    annotation: OwnerAnnotation | None = None
    reason: str = ""
    set_by: str = ""
    set_at: float | None = None
    """Unix seconds at which the reason was set."""
    address: str = ""
    """Host name by which the scheduler reaches the machine."""
    boot_time: float | None = None
    boot_id: str = ""
    system_uuid: str = ""
    """Of the machine's firmware."""
    jobs: tuple[JobKey, ...] = ()
    restartable: frozenset[JobKey] = frozenset()
    """Those of its jobs whose users want them begun again when they die of themselves."""
    owners: Mapping[str, str] = {}
    """Who submitted each of its jobs, by the job as users write it; where the scheduler says so."""
    pools: tuple[str, ...] = ()
    """Partitions or node groups."""
    maintenance: bool = False
    rebooting: bool = False


class ReservationObservation(msgspec.Struct, frozen=True, kw_only=True):
    """A reservation of ours that keeps nodes for a job, whoever made it when."""

    name: str
    node: str
    """One of its nodes; empty where it has none."""
    job: JobKey
    """For which it was made, as the scheduler knows it now; submitted at 0 where it knows none."""


class JobState(StrEnum):
    """How far a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETING = "ending"
    """It holds its nodes until its last process is gone."""
    HELD = "held"
    """It waits until a person or we let it go."""
    FINISHED = "ended"
    MISSING = "missing"


class JobObservation(msgspec.Struct, frozen=True, kw_only=True):
    """A job as its scheduler shows it."""

    key: JobKey
    state: JobState
    user: str = ""
    submitted: float = 0.0
    """Unix seconds; 0 where the scheduler does not say. Slurm sets it anew with each requeue."""
    nodes: tuple[str, ...] = ()
    restarts: int = 0
    """How often it has begun again."""
    started: float | None = None
    """Unix seconds."""
    may_start: float | None = None
    """Unix seconds before which the scheduler does not try."""
    requeueable: bool = False
    interactive: bool = False
    """It cannot be begun again by anybody but its user."""
    failed: bool = False
    """Whether one that has ended did so before it should, and not because somebody wanted it."""
    checkpoint: str = ""
    """Its newest whole checkpoint, where one is known."""
    earlier: str = ""
    """The whole checkpoint before the newest, where the job can be told to begin from it."""
    step: int | None = None
    """Training step that it had reached, as far as its checkpoints or a hook tell."""
    text: str = ""
    """Why it waits or has ended, in the scheduler's words."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand for an intent. What is None was not asked or could not be told."""

    time: float
    """Unix seconds at which it was read."""
    node: NodeObservation | None = None
    job: JobObservation | None = None
    proven_dead: bool = False
    """Whether nothing of the job's old copy can run on the bad node any more."""
    own: Mapping[str, str] = {}
    """What only the action itself understands."""

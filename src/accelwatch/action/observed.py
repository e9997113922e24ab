"""How things stand, as a scheduler shows them."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from accelwatch.action.intent import JobKey, OwnerAnnotation


class HoldState(StrEnum):
    """To whom a node belongs, as its scheduler shows it."""

    # It accepts work.
    OPEN = "open"
    OURS = "ours"
    # Somebody else holds it: nothing of it is changed.
    FOREIGN = "foreign"
    # The scheduler itself has given it up.
    DOWN = "down"
    # The scheduler knows no such node.
    MISSING = "missing"


class NodeObservation(msgspec.Struct, frozen=True, kw_only=True):
    """A node as its scheduler shows it."""

    name: str
    hold_state: HoldState
    # Whether the scheduler's own daemon there answers; None where it does not say.
    answering: bool | None = None
    annotation: OwnerAnnotation | None = None
    reason: str = ""
    set_by: str = ""
    # Unix seconds at which the reason was set.
    set_at: float | None = None
    # Host name by which the scheduler reaches the machine.
    address: str = ""
    boot_time: float | None = None
    boot_id: str = ""
    # Of the machine's firmware.
    system_uuid: str = ""
    jobs: tuple[JobKey, ...] = ()
    # Whose jobs may lack in `jobs`, as it does not answer; the node is not known to be empty then.
    jobs_missing: str = ""
    # What our mark removes, by `DeviceKey.id`; empty where it removes the whole node.
    quarantined_devices: tuple[str, ...] = ()
    # Those of its jobs that use a device of `quarantined_devices`; None where that is unknown.
    device_jobs: tuple[JobKey, ...] | None = None
    # Those of its jobs whose users want them restarted when they die of themselves.
    restartable: frozenset[JobKey] = frozenset()
    # Who submitted each of its jobs, by the job as users write it; where the scheduler says so.
    owners: Mapping[str, str] = {}
    # Partitions or node groups.
    pools: tuple[str, ...] = ()
    maintenance: bool = False
    rebooting: bool = False
    # By what a node differs from one that was made later under its name; empty where a scheduler keeps
    # its nodes, whatever becomes of their machines. Words: a node of two schedulers has one of each.
    incarnation: str = ""
    # What a person or another program has undone of our mark, in words, while the rest of it keeps work
    # away still: the node is released then.
    undone: str = ""


class ReservationObservation(msgspec.Struct, frozen=True, kw_only=True):
    """A reservation of ours that keeps nodes for a job, whoever made it when."""

    name: str
    # One of its nodes; empty where it has none.
    node: str
    # For which it was made, as the scheduler knows it now; submitted at 0 where it knows none.
    job: JobKey


class JobState(StrEnum):
    """How far a job is."""

    WAITING = "waiting"
    RUNNING = "running"
    # It holds its nodes until its last process is gone.
    COMPLETING = "ending"
    # It waits until a person or we let it go.
    HELD = "held"
    FINISHED = "ended"
    MISSING = "missing"


class JobObservation(msgspec.Struct, frozen=True, kw_only=True):
    """A job as its scheduler shows it."""

    key: JobKey
    state: JobState
    user: str = ""
    # Unix seconds; 0 where the scheduler does not say. Slurm resets it with each requeue.
    submitted: float = 0.0
    nodes: tuple[str, ...] = ()
    # How often it has restarted.
    restarts: int = 0
    # Unix seconds.
    started: float | None = None
    # Unix seconds before which the scheduler does not try.
    may_start: float | None = None
    requeueable: bool = False
    # Only its user can restart it.
    interactive: bool = False
    # Whether one that has ended did so before it should, and not because somebody wanted it.
    failed: bool = False
    # Why its own launcher forbids a restart; empty where it does not.
    declined: str = ""
    # Its newest whole checkpoint, where one is known.
    checkpoint: str = ""
    # The whole checkpoint before the newest, where the job can be made to start from it.
    earlier: str = ""
    # Training step that it had reached, if its checkpoints or a hook report it.
    step: int | None = None
    # Why it waits or has ended, in the scheduler's words.
    text: str = ""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """The observed state for an intent. What is None was not read or could not be."""

    # Unix seconds at which it was read.
    time: float
    node: NodeObservation | None = None
    job: JobObservation | None = None
    # Whether nothing of the job's old copy can run on the bad node any more.
    proven_dead: bool = False
    # What only the action itself understands.
    own: Mapping[str, str] = {}

"""The history of each job: its submissions, resumes, deaths, and the run that is watched."""

from collections.abc import Mapping

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobObservation


class Try(msgspec.Struct, frozen=True, kw_only=True):
    """What a job starts with: what makes one resume different from the last."""

    # In any order.
    nodes: tuple[str, ...]
    # Name or step of the checkpoint that it begins from; empty where that is not known.
    checkpoint: str = ""
    # What has passed since, such as the id of a storm's incident.
    cleared: str = ""


class Blame(msgspec.Struct, frozen=True):
    """What spoke against a node when a job died on it."""

    # Empty: the node did not answer.
    rule: str
    # The scheduler's name of the node.
    target: str
    # The hub's name.
    node: str = ""
    serial: str = ""


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ended before it should."""

    # Unix seconds.
    at: float
    # Training step that it had reached, where that is known.
    step: int | None = None
    # Its newest checkpoint then, where one is known.
    newest: str = ""
    # Whether a fault of a device or node speaks for itself.
    device_fault: bool = False
    # What spoke against its nodes.
    blamed: tuple[Blame, ...] = ()
    # Why its own launcher forbade a restart; empty where it did not.
    declined: str = ""
    # With what it ran.
    tried: Try


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A restarted job, while it is watched."""

    # The hub's name of the node that it was moved off.
    node: str
    # The move that restarted it.
    moved: Intent
    # Unix seconds at which it was seen to run again, or at which it died.
    since: float
    # As it was seen last.
    seen: JobObservation
    # Whether it has died and waits for a restart.
    dead: bool = False
    # The incident of many nodes for whose end it waits.
    group: str = ""


class JobHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What has happened to one job so far."""

    # Unix seconds of each observed submission: Slurm sets a new one with each
    # requeue. A job of the same id with another one is another job. Empty where none was seen.
    submitted: tuple[float, ...] = ()

    # Unix seconds of the resumes without a person, as long as they count.
    resumed: tuple[float, ...] = ()
    # Resumes since it last ran well for long.
    in_a_row: int = 0
    # The latest resume; None before the first.
    latest: Try | None = None
    deaths: tuple[Death, ...] = ()
    # What had passed when it was restarted on the same nodes: that is done once.
    passed: tuple[Blame, ...] = ()
    # None: nobody looks after it.
    run: Run | None = None


class RetryState(msgspec.Struct, frozen=True, kw_only=True):
    """The histories of all jobs that something happened to, by cluster and id."""

    jobs: Mapping[str, JobHistory] = {}


def is_of(history: JobHistory, submitted: float) -> bool:
    """Whether a history is of the job that was submitted then (0: nobody knows), not of one before it.

    While a job is watched, its id is not reused: its scheduler has restarted it.
    """
    recorded = history.submitted
    return not (recorded and submitted) or submitted in recorded or history.run is not None


def differs(tried: Try, other: Try) -> bool:
    """Whether one starts with something else than the other."""
    if set(tried.nodes) != set(other.nodes):
        return True
    comparable = bool(tried.checkpoint and other.checkpoint)
    return has_cleared(tried, other) or (comparable and tried.checkpoint != other.checkpoint)


def has_cleared(tried: Try, other: Try) -> bool:
    """Whether something has passed since that the other one did not wait for."""
    return bool(tried.cleared) and tried.cleared != other.cleared

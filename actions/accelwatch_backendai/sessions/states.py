"""How far a session is, by its status; the statuses of 23.03 to 26.9. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from accelwatch.action.observed import JobState
from accelwatch_backendai.api.sessions import Session

_STATES: Mapping[JobState, tuple[str, ...]] = MappingProxyType(
    {
        JobState.WAITING: (
            "PENDING",
            "DEPRIORITIZING",
            "RESERVED",
            "SCHEDULED",
            "PREPARING",
            "PULLING",
            "PREPARED",
            "CREATING",
            "RESCHEDULING",
        ),
        JobState.RUNNING: ("RUNNING", "RUNNING_DEGRADED", "RESTARTING"),
        JobState.COMPLETING: ("TERMINATING", "PREEMPTED"),
        JobState.FINISHED: ("TERMINATED", "CANCELLED", "ERROR"),
    }
)
_BY_STATUS = {status: state for state, statuses in _STATES.items() for status in statuses}
# Of a kernel of which nothing runs: it has ended, or was never started.
_NEVER_STARTED = frozenset({"PENDING", "SCHEDULED", "CANCELLED"})
# Put into `status_info` where a session was ended without its agents having confirmed it.
_FORCED = "force-terminated"
_TERMINATED = "TERMINATED"
_TIMEOUT = "task-timeout"
# In `status_info` of a batch session whose command or container has failed.
_DIED = frozenset(
    {"task-failed", "self-terminated", "abnormal-termination", "stale-kernel", "scheduled", ""}
)


def state_of(status: str) -> JobState:
    """How far it is; a status of a later release counts as waiting, so that nothing is done to it."""
    return _BY_STATUS.get(status, JobState.WAITING)


def is_finished(status: str) -> bool:
    """Whether nothing of it will run any more, as far as the manager knows."""
    return state_of(status) is JobState.FINISHED


def was_forced(status_info: str) -> bool:
    """Whether it was ended without its agents' reports: what ran there may run on."""
    return status_info == _FORCED


def is_kernel_finished(status: str, *, forced: bool) -> bool:
    """Whether nothing of a kernel runs, by its agent's own word; after a forced end there is none."""
    return status in _NEVER_STARTED or (status == _TERMINATED and not forced)


def has_died(session: Session) -> bool:
    """Whether a session that has ended did so of itself and too soon.

    Its own time limit, an idle check and everybody's request are wishes. Only 26.9 says at the session
    why it has ended; 26.1 leaves `scheduled` there, and says it at a kernel, where it may be overwritten
    by `already-terminated`. A request leaves `user-requested`, with SUCCESS or FAILURE by its command.
    """
    if session.status == "ERROR":
        return True
    if session.status != _TERMINATED or session.result != "FAILURE":
        return False
    is_requested = any(kernel.status_info == _TIMEOUT for kernel in session.kernels)
    return session.status_info in _DIED and not is_requested

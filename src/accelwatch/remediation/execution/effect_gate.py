"""Whether an effect may start now, checked immediately before each, whenever it was decided."""

from collections.abc import Callable

from accelwatch.action.intent import Intent, IntentKind
from accelwatch.alerting.incidents.journal.lease import Lease
from accelwatch.remediation.execution.emergency_stop import EmergencyStop
from accelwatch.remediation.policy.guards import data_guard
from accelwatch.remediation.policy.guards.denial import Answer, Denial
from accelwatch.remediation.policy.guards.limits.ceiling import UNDOING
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.policy.step.reservations import is_being_moved

MayStart = Callable[[RemedyState], Answer]


def guarded_by_data(state: RemedyState) -> Answer:
    """Whether enough of the fleet is observed to start anything."""
    return data_guard.may_start(state.world.guard)


class EffectGate:
    """Nothing begins without the lease. What we did ourselves may be undone; all else waits for a STOP
    and a guard.
    """

    def __init__(self, stop: EmergencyStop, lease: Lease, may_start: MayStart) -> None:
        self._stop = stop
        self._lease = lease
        self._may_start = may_start

    def reason(self, state: RemedyState, intent: Intent) -> str:
        """Why no effect of an intent may start now; empty when it may."""
        if reason := self._lease.problem:
            return reason
        if intent.kind in UNDOING:
            return _moving(state, intent)
        if reason := self._stop.reason(state):
            return reason
        answer = self._may_start(state)
        return answer.text if isinstance(answer, Denial) else ""


def _moving(state: RemedyState, intent: Intent) -> str:
    """Why nothing is put back for a job now: its move would miss it."""
    job = intent.job if intent.kind is IntentKind.RESTORE_JOB else None
    return f"job {job} is being moved" if job and is_being_moved(state, job) else ""

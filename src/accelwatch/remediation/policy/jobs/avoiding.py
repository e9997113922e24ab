"""Where a job that is being moved may not start, as that is now. Pure.

A move may wait for hours; nodes go bad and become well meanwhile.
"""

import msgspec

from accelwatch.action.intent import Intent, JobKey
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.cases import bad_nodes
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.guards.retry.job_history import JobHistory
from accelwatch.remediation.policy.state.model import RemedyState
from accelwatch.remediation.settings import RemedySettings

# No setting says which nodes are bad.
_SETTINGS = RemedySettings()


def as_of_now(state: RemedyState, intent: Intent, now: float) -> Intent:
    """The same intent with the nodes that are bad now (`now` in Unix seconds)."""
    if intent.kind is not Kind.MOVE_JOB or intent.job is None:
        return intent
    bad_now = bad_nodes(StepContext(state, _SETTINGS, now))
    if not intent.revive and intent in state.chores.values():
        # Its node waits for it no more, and may be well by now.
        return msgspec.structs.replace(intent, may_return=True, bad_nodes=tuple(sorted(bad_now)))
    left = _left_behind(state, intent, intent.job)
    bad = (*left, *sorted(bad_now - set(left)))
    if set(bad) == set(intent.bad_nodes):
        return intent
    return msgspec.structs.replace(intent, bad_nodes=bad)


def _left_behind(state: RemedyState, intent: Intent, job: JobKey) -> tuple[str, ...]:
    """The nodes that the job leaves, whatever is seen of them now."""
    if not intent.revive:
        return (intent.node,)
    run = state.retries.jobs.get(f"{job.cluster}/{job}", JobHistory()).run
    ran = (intent.node,) if run is None else run.seen.nodes
    return tuple(node for node in intent.bad_nodes if node in ran)

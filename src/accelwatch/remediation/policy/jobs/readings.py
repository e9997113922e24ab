"""Whether what something is done for was read just now. Pure.

Nothing is done to a node or its jobs on a reading that is older than two intervals of its source: by
then nobody knows what the device is like. Where the silence itself is the evidence it needs no reading.
"""

from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.timing import silence_s
from accelwatch.remediation.policy.context.views import StepView
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.jobs.jobs import jobs_of, next_job, silent
from accelwatch.remediation.policy.state.case import Case
from accelwatch.remediation.policy.state.clocks import FRESH_S
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.world import NEVER_RECEIVED

# What is done to a node or its jobs because of what was read of its devices.
ON_EVIDENCE = frozenset(
    {
        Kind.QUARANTINE,
        Kind.FENCE,
        Kind.SIGNAL_JOB,
        Kind.DRAW_SPARE,
        Kind.MOVE_JOB,
        Kind.SWAP_IN_JOB,
        Kind.CANCEL_JOB,
        Kind.RESET_DEVICE,
        Kind.REBOOT,
        Kind.POWER_CYCLE,
    }
)


def is_current(ctx: StepView, remedy: Remedy, kind: Kind, case: Case | None) -> Answer:
    """Whether the last reading of a node, and of the device of a case, is recent enough."""
    if kind not in ON_EVIDENCE or _needs_none(ctx, remedy, kind, case):
        return PERMIT
    status = ctx.node_status(remedy.node)
    if status is None or status.time <= NEVER_RECEIVED:
        return _stale(f"the hub has received no reading of {remedy.node} yet")
    limit_s = silence_s(status.interval_s)
    limit = f"nothing is done on a reading older than {limit_s:g} s (two of its intervals)"
    if case is not None and case.device in status.late_devices:
        return _stale(f"the source of {case.device} on {remedy.node} is silent, and {limit}")
    age_s = ctx.now - status.time
    # The text of a node that is not late has no age, which would change every second.
    if status.late or age_s > max(limit_s, FRESH_S):
        return _stale(f"the last reading of {remedy.node} is {age_s:.0f} s old, and {limit}")
    return PERMIT


def _needs_none(ctx: StepView, remedy: Remedy, kind: Kind, case: Case | None) -> bool:
    """Whether a person wants it, or something else than a reading speaks for it."""
    if remedy.approval.manual or remedy.repair.unfit or remedy.jobs.fenced:
        return True
    if silent(ctx, remedy) or (case is not None and case.silence):
        return True
    # A job that has left the node is restarted elsewhere, whatever the node is like.
    return kind is Kind.MOVE_JOB and next_job(ctx, remedy) not in (jobs_of(ctx, remedy) or ())


def _stale(text: str) -> Denial:
    return Denial(why=DenialKind.STALE_READING, text=text)

"""The intent that a stage wants, made of what is known of the node."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from accelwatch.action.intent import MOST_REASON, Intent, JobKey, OwnerAnnotation
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.alerting.rules.document import Fence
from accelwatch.remediation.policy.context.cases import bad_nodes, case_to_repair, leading
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.effects.deadlines import notified_after_s
from accelwatch.remediation.policy.guards.denial import Denial
from accelwatch.remediation.policy.jobs.jobs import job_of
from accelwatch.remediation.policy.plan.device_level import desired_devices
from accelwatch.remediation.policy.plan.tests.peers import peer_of, refuted
from accelwatch.remediation.policy.plan.verify import next_test
from accelwatch.remediation.policy.state import clocks
from accelwatch.remediation.policy.state.model import Remedy

# Replaces the incident in the mark of a node that a person quarantined.
BY_HAND = "by-hand"
# Seconds after which an intent makes no sense any more.
DEADLINES: Mapping[Kind, float] = MappingProxyType(
    {
        Kind.QUARANTINE: clocks.QUARANTINE_S,
        Kind.RELEASE: clocks.RELEASE_S,
        Kind.FENCE: clocks.FENCE_S,
        Kind.SIGNAL_JOB: clocks.JOB_S,
        Kind.MOVE_JOB: clocks.JOB_S,
        Kind.SWAP_IN_JOB: clocks.SWAP_S,
        Kind.CANCEL_JOB: clocks.JOB_S,
        Kind.RESTORE_JOB: clocks.RESTORE_S,
        Kind.FOLLOW_JOB: clocks.RESTORE_S,
        Kind.DRAW_SPARE: clocks.JOB_S,
        Kind.RETURN_SPARE: clocks.RESTORE_S,
        Kind.RESET_DEVICE: clocks.REMEDY_S,
        Kind.REBOOT: clocks.REMEDY_S,
        Kind.POWER_CYCLE: clocks.REMEDY_S,
        Kind.TEST: clocks.TEST_S,
        Kind.SERVICE: clocks.SERVICE_S,
    }
)
_WITH_SPARE = frozenset({Kind.MOVE_JOB, Kind.DRAW_SPARE, Kind.RETURN_SPARE})
# What is about where a job may run next.
_LEAVES = frozenset({Kind.MOVE_JOB, Kind.DRAW_SPARE})


def intent_of(ctx: StepContext, remedy: Remedy, kind: Kind) -> Intent:
    """What is wanted of the node now."""
    policy = remedy.policy
    status = ctx.node_status(remedy.node)
    cases = leading(ctx, remedy)
    case = case_to_repair(remedy, cases)
    job = job_of(ctx, remedy, kind)
    devices = desired_devices(ctx, remedy, cases) if kind is Kind.QUARANTINE else ()
    test = next_test(remedy) if kind is Kind.TEST else ""
    return Intent(
        kind=kind,
        mark=annotation_of(ctx, remedy),
        node=remedy.scheduler_name,
        reason=reason_of(remedy, "" if case is None else case.title),
        rule="" if policy is None else policy.rule,
        severity="" if case is None else case.severity.value,
        device="" if case is None else case.device,
        devices=devices,
        boot_id="" if status is None else status.boot_id,
        job=job,
        bad_nodes=_to_leave(ctx, remedy) if kind in _LEAVES else (),
        ran_on=_ran_on(ctx, remedy, job) if kind is Kind.MOVE_JOB and job is not None else (),
        spare=remedy.jobs.spare if kind in _WITH_SPARE else "",
        signal="" if policy is None or kind is not Kind.SIGNAL_JOB else policy.signal,
        fenced_by_job=policy is not None and policy.fence is Fence.JOB,
        revive=kind is Kind.MOVE_JOB and job in remedy.jobs.lost,
        force_requeue=ctx.settings.resume.force_requeue,
        test=test,
        peer=_peer(ctx, remedy, test),
        original=_before(remedy, kind, job),
        asked=ctx.now,
        deadline=ctx.now + _within_s(remedy, kind),
    )


def _peer(ctx: StepContext, remedy: Remedy, test: str) -> str:
    """The scheduler's name of the peer in a test; empty where it needs none."""
    if not ctx.settings.test_settings(test).pair:
        return ""
    peer = peer_of(ctx, test, remedy.node, ctx.target(remedy), refuted(remedy, test))
    return "" if isinstance(peer, Denial) else peer.name


def _within_s(remedy: Remedy, kind: Kind) -> float:
    """A rule may say how long a launcher has to go on without a node."""
    if kind is Kind.FOLLOW_JOB:
        return clocks.JOB_S
    grace_s = 0.0 if remedy.policy is None else remedy.policy.grace_s
    if kind is Kind.SWAP_IN_JOB and grace_s:
        return grace_s
    # Whoever is notified has some time before it is given up.
    notified_s = notified_after_s(remedy, kind)
    return max(DEADLINES[kind], 0.0 if notified_s is None else 2 * notified_s)


def annotation_of(ctx: StepContext, remedy: Remedy) -> OwnerAnnotation:
    """By what our hold on the node is known, or will be."""
    if remedy.hold is not None:
        return remedy.hold.mark
    return OwnerAnnotation(remedy.incident or BY_HAND, ctx.state.token)


def restoring(moved: Intent, now: float) -> Intent:
    """What puts back what the move of a job has changed."""
    return msgspec.structs.replace(
        moved, kind=Kind.RESTORE_JOB, asked=now, deadline=now + DEADLINES[Kind.RESTORE_JOB]
    )


def reason_of(remedy: Remedy, title: str) -> str:
    """The reason shown at the scheduler, in ASCII; the rule stands beside it."""
    if remedy.approval.manual and remedy.approval.wanted_out:
        summary = f"by {remedy.approval.wanted_out}"
    elif remedy.policy is None:
        summary = f"by hand {title}".strip()
    else:
        summary = title or remedy.policy.rule
    text = summary.encode("ascii", "replace").decode("ascii")
    return text[:MOST_REASON]


def _before(remedy: Remedy, kind: Kind, job: JobKey | None) -> Mapping[str, str]:
    """What stood there before us: of the node, or of a job whose moves have not ended well."""
    if kind is Kind.RELEASE:
        return _as_we_left_it(remedy)
    if kind is not Kind.MOVE_JOB:
        return {}
    return next((move.original for move in remedy.jobs.unfinished if move.job == job), {})


def _as_we_left_it(remedy: Remedy) -> dict[str, str]:
    """What stood there before our mark, and how that looked: who set it, and when."""
    quarantine = remedy.hold
    if quarantine is None:
        return {}
    origin = (
        {} if remedy.approval.forced or not quarantine.set_by else {"set_by": quarantine.set_by}
    )
    if quarantine.set_at is not None and not remedy.approval.forced:
        origin["set_at"] = str(quarantine.set_at)
    return {**quarantine.original, **origin}


def _ran_on(ctx: StepContext, remedy: Remedy, job: JobKey) -> tuple[str, ...]:
    """Every node of which anything says that the job ran there: shown, left, or named by its remedy."""
    key = (job.cluster, job.id, job.part)
    nodes = {remedy.scheduler_name}
    nodes.update(node for move in remedy.jobs.unfinished if move.job == job for node in move.ran_on)
    for node in ctx.world.scheduler_nodes.values():
        if any((other_job.cluster, other_job.id, other_job.part) == key for other_job in node.jobs):
            nodes.add(node.name)
    for left in ctx.state.departed.values():
        if (left.job.cluster, left.job.id, left.job.part) == key:
            nodes.update(left.nodes)
    for other in ctx.state.remedies.values():
        recorded = (
            *other.jobs.stranded,
            *other.jobs.handled,
            *other.jobs.lost,
            *other.jobs.looked_for,
        )
        if any((other_job.cluster, other_job.id, other_job.part) == key for other_job in recorded):
            nodes.add(other.scheduler_name)
    return tuple(sorted(nodes))


def _to_leave(ctx: StepContext, remedy: Remedy) -> tuple[str, ...]:
    """Where a job may not start: here, and on any other bad node."""
    here = remedy.scheduler_name
    return (here, *sorted(bad_nodes(ctx) - {here}))

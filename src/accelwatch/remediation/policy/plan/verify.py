"""Whether a node has shown that it is well: fresh, good, long enough, one machine throughout. Pure.

Nothing here is ever true for want of data: a silent node has shown nothing.
"""

from accelwatch.base.names.hardware_keys import keys_of
from accelwatch.remediation.policy.context.cases import barring, leading
from accelwatch.remediation.policy.context.views import NodeView
from accelwatch.remediation.policy.guards.denial import PERMIT, Answer, Denial, DenialKind
from accelwatch.remediation.policy.state.clocks import FRESH_S, LONG_S, LONGER, SETTLE_S
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.state.score import Verdict, verdict


def scored(remedy: Remedy) -> tuple[str, ...]:
    """By what its failures are counted: the node, the boards that have failed, and their slots."""
    serials = dict.fromkeys(case.serial for case in remedy.cases if case.serial)
    slots = {serial: slot for slot, serial in remedy.repair.serials.items()}
    boards = (
        key
        for serial in serials
        for key in keys_of(remedy.node, slot=slots.get(serial, ""), serial=serial)[1:]
    )
    return (*keys_of(remedy.node), *boards)


def passive_s(ctx: NodeView, remedy: Remedy) -> float:
    """For how many seconds it has to look well: longer for what has failed often."""
    if remedy.approval.vouched:
        return 0.0
    needed = 0.0 if remedy.policy is None else remedy.policy.passive_s
    if verdict(ctx.state.scores, scored(remedy), ctx.now) is Verdict.USUAL:
        return needed
    return max(needed * LONGER, LONG_S)


def verify_health(ctx: NodeView, remedy: Remedy) -> Answer:
    """Whether it has been healthy for long enough, and does so now."""
    good, verification = ctx.world.good.get(remedy.node), remedy.repair.verification
    if barring(ctx, remedy):
        return _denial("something is wrong with it still")
    if good is None or not -FRESH_S <= ctx.now - good.until <= FRESH_S:
        return _denial("no fresh data shows it healthy")
    if verification is None or not verification.generation:
        return _denial("verification of this machine has not started")
    if verification.generation != good.generation:
        return _denial("it is another boot or other hardware than was verified")
    if good.until <= verification.since:
        return _denial("it was not checked since")
    lasted, needed = well_for_s(ctx, remedy), passive_s(ctx, remedy)
    if lasted < needed:
        until = ctx.now + needed - lasted
        text = f"it has been healthy for {lasted:.0f} s of {needed:.0f} s"
        return Denial(why=DenialKind.DATA, text=text, until=until)
    return PERMIT


def well_for_s(ctx: NodeView, remedy: Remedy) -> float:
    """The seconds for which the node was continuously healthy, since its verification started.

    Counted from status to status: a clock that was set adds no status, and so no time.
    """
    good, verification = ctx.world.good.get(remedy.node), remedy.repair.verification
    if good is None or verification is None:
        return 0.0
    return max(good.until - max(good.since, verification.since), 0.0)


def next_test(remedy: Remedy) -> str:
    """The active test that is next; empty when all have passed."""
    passed = () if remedy.repair.verification is None else remedy.repair.verification.passed
    tests = () if remedy.policy is None else remedy.policy.tests
    return next((test for test in tests if test not in passed), "")


def waits_for_test(ctx: NodeView, remedy: Remedy) -> bool:
    """Whether it looks well, and only a test is left."""
    return next_test(remedy) != "" and not isinstance(verify_health(ctx, remedy), Denial)


def other_generation(ctx: NodeView, remedy: Remedy) -> bool:
    """Whether it has rebooted, or has other hardware, since the verification started."""
    status, verification = ctx.node_status(remedy.node), remedy.repair.verification
    return (
        status is not None
        and verification is not None
        and status.generation != verification.generation
    )


def wrong_again(ctx: NodeView, remedy: Remedy) -> bool:
    """Whether a rule that wants it quarantined has fired since the verification started."""
    since = None if remedy.repair.verification is None else remedy.repair.verification.since
    return any(since is None or case.evidence_at > since for case in leading(ctx, remedy))


def still_wrong(ctx: NodeView, remedy: Remedy) -> bool:
    """Whether what was wrong is so still, though its rule had the time to clear."""
    return _settled(ctx, remedy) and any(not case.blind for case in leading(ctx, remedy))


def is_observed_bad(ctx: NodeView, remedy: Remedy) -> bool:
    """Whether a rule with an action fires on fresh data, though none of its incidents is open."""
    status = ctx.node_status(remedy.node)
    if status is None or status.healthy is not False or ctx.now - status.time > FRESH_S:
        return False
    return _settled(ctx, remedy) and not leading(ctx, remedy)


def _settled(ctx: NodeView, remedy: Remedy) -> bool:
    return (
        remedy.repair.verification is not None
        and ctx.now > remedy.repair.verification.since + SETTLE_S
    )


def _denial(text: str) -> Denial:
    return Denial(why=DenialKind.DATA, text=text)

"""A job that is moved and does not leave another node, which is silent and which nothing named. Pure.

Its scheduler waits for that node until it gives the node up. Nothing is done about a node
that no rule has named, so a person is called while the move goes on waiting.
"""

from collections.abc import Iterator

import msgspec

from accelwatch.action.intent import Intent
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import NodeObservation
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.state.clocks import HANGS_S
from accelwatch.remediation.policy.state.model import Remedy
from accelwatch.remediation.policy.table.transitions import store_remedy


def notify_hanging(ctx: StepContext) -> None:
    """Call a person, once for each such node, when a move has waited for a minute."""
    moving = [
        (remedy, remedy.pursuing)
        for remedy in ctx.state.remedies.values()
        if remedy.pursuing is not None
        and remedy.pursuing.kind is Kind.MOVE_JOB
        and ctx.now - remedy.pursuing.asked >= HANGS_S
    ]
    if not moving:
        return
    ours = {
        remedy.scheduler_name for remedy in ctx.state.remedies.values() if remedy.hold is not None
    }
    silent = [
        node
        for node in ctx.world.scheduler_nodes.values()
        if node.answering is False and node.jobs and node.name not in ours
    ]
    for remedy, move in moving:
        nodes = [name for name in _nodes_with_job(silent, move) if name not in remedy.jobs.hanging]
        if nodes:
            _notify(ctx, remedy, move, nodes)


def _nodes_with_job(silent: list[NodeObservation], move: Intent) -> Iterator[str]:
    """The silent nodes that a job has not left, whatever its time of submission is by now."""
    job = move.job
    for node in silent:
        job_ids = ((other.cluster, other.id, other.part) for other in node.jobs)
        if job is not None and (job.cluster, job.id, job.part) in job_ids:
            yield node.name


def _notify(ctx: StepContext, remedy: Remedy, move: Intent, nodes: list[str]) -> None:
    names = ", ".join(nodes)
    text = (
        f"job {move.job} cannot leave {names}, which does not answer its scheduler and which no rule "
        f"has flagged: look at {names}. If it hangs, power it off before you set it down: "
        "the scheduler then starts the job elsewhere, and the old copy must not keep running"
    )
    ctx.note(remedy, text, Loudness.ALERT)
    store_remedy(
        ctx,
        remedy,
        msgspec.structs.replace(
            remedy,
            jobs=msgspec.structs.replace(remedy.jobs, hanging=(*remedy.jobs.hanging, *nodes)),
        ),
    )

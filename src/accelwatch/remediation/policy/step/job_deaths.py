"""Jobs that have died of themselves, and whose users want them restarted then. Pure.

Nothing speaks against their nodes, so they restart on the same ones, once; later deaths are
subject to the rules for every restarted job (`retry`): something has to differ.
Jobs whose users said nothing of the kind are never touched.
"""

import msgspec

from accelwatch.action.intent import Intent, OwnerAnnotation
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.action.observed import JobState
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES, DEPARTED
from accelwatch.remediation.policy.guards.identity import Proof
from accelwatch.remediation.policy.guards.limits.ceiling import Ceiling
from accelwatch.remediation.policy.guards.retry.job_history import JobHistory, Run
from accelwatch.remediation.policy.jobs.another_try import bad_now, group_of
from accelwatch.remediation.policy.jobs.chores import OWN_END, name_of
from accelwatch.remediation.policy.jobs.resuming import dead_of_itself
from accelwatch.remediation.policy.state.clocks import DEATH_SETTLES_S, JOB_S
from accelwatch.remediation.policy.state.model import Departed
from accelwatch.remediation.policy.state.pursued import Pursued
from accelwatch.remediation.policy.step.reservations import is_being_moved

# Begins the keys of chores that find out how a job has ended.
JOB_CHECK = "look "
# Checks of jobs at once: after a fault of a whole cluster its scheduler is queried bit by bit.
MOST_CHECKS = 8
replace = msgspec.structs.replace


def start_job_checks(ctx: StepContext) -> None:
    """Start to find out how jobs have ended that have left their nodes, and are to be restarted."""
    waiting = [
        (key, departure) for key, departure in ctx.state.departed.items() if departure.begin_again
    ]
    if not waiting:
        return
    free = MOST_CHECKS - sum(key.startswith(JOB_CHECK) for key in ctx.state.chores)
    for key, departure in waiting:
        if JOB_CHECK + key in ctx.state.chores:
            continue
        history = ctx.state.retries.jobs.get(name_of(departure.job), JobHistory())
        if history.run is not None or ctx.now - departure.at > DEATH_SETTLES_S:
            # Whoever watches it sees how it has ended; after so long its scheduler may not know.
            ctx.set_row(DEPARTED, key, replace(departure, begin_again=False))
        elif free > 0 and _has_left(ctx, departure):
            free -= 1
            intent = _intent_for(ctx, departure, Kind.FOLLOW_JOB)
            ctx.set_row(CHORES, JOB_CHECK + key, intent)
            ctx.pursue(intent)


def _has_left(ctx: StepContext, departure: Departed) -> bool:
    """Whether no node shows it any more: a job that only releases some of its nodes runs on."""
    return not any(departure.job in node.jobs for node in ctx.world.scheduler_nodes.values())


def _intent_for(ctx: StepContext, departure: Departed, kind: Kind) -> Intent:
    return Intent(
        kind=kind,
        mark=OwnerAnnotation(OWN_END, ctx.state.token),
        node=departure.nodes[0],
        reason="its user wants it restarted",
        job=departure.job,
        asked=ctx.now,
        deadline=ctx.now + JOB_S,
    )


def _least_allowed(ctx: StepContext, nodes: tuple[str, ...]) -> str | None:
    """The hub's name of the node where the least may be done; None where not each is proven."""
    names = {
        proof.name: (Ceiling(status.ceiling).height, node)
        for node, status in ctx.world.node_statuses.items()
        if isinstance(proof := ctx.proof(node), Proof)
    }
    if not names.keys() >= set(nodes):
        return None
    return min(names[node] for node in nodes)[1]


def apply_job_check(ctx: StepContext, key: str, pursued: Pursued) -> None:
    """The end of a job that its user wants restarted when it has died."""
    row = ctx.state.departed.get(key.removeprefix(JOB_CHECK))
    if row is None or not row.begin_again:
        return
    ctx.set_row(DEPARTED, key.removeprefix(JOB_CHECK), replace(row, begin_again=False))
    observed_job = None if pursued.observed is None else pursued.observed.job
    if (
        observed_job is None
        or observed_job.state is not JobState.FINISHED
        or not observed_job.failed
    ):
        return  # also of a job that somebody else has restarted
    if is_being_moved(ctx.state, row.job):
        return  # a node that it has left begins it again, or has handed that on
    observed_job = replace(observed_job, nodes=observed_job.nodes or row.nodes)
    node = _least_allowed(ctx, observed_job.nodes)
    if node is None:
        text = (
            f"job {row.job} has died of itself and is not restarted: its nodes are not known here"
        )
        ctx.call(text)
        return
    run = Run(
        node=node,
        moved=_intent_for(ctx, row, Kind.MOVE_JOB),
        since=ctx.now if observed_job.started is None else observed_job.started,
        seen=observed_job,
    )
    fault = not bad_now(ctx, observed_job.nodes).isdisjoint(observed_job.nodes)
    about = replace(ctx.remedy(run.node), incident="")
    ctx.note(about, f"job {row.job} has died of itself: {pursued.text}", Loudness.NOTIFY)
    dead_of_itself(ctx, run, group=group_of(ctx, observed_job.nodes), device_fault=fault)

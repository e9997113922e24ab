"""Whether a job's own launcher has gone on without a node, by the cycle that it has written down. Pure.

Nothing is done to the job: the node's health check informs the launcher before a rendezvous.
"""

from accelwatch.action.cycle_files import Cycle, CycleError, cycle_of
from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Wait
from accelwatch_slurm.texts.job_text import SlurmJob, names_of
from accelwatch_slurm.texts.observed_context import CYCLE, ObservedContext

_POLL_S = 5.0


def propose_swap(intent: Intent, context: ObservedContext) -> Proposal:
    """Wait for a cycle without the node, or say that there is one."""
    job = context.job
    if intent.job is None or job is None or not job.is_of(intent.job):
        return Achieved(f"Slurm knows no job {intent.job} any more")
    if job.state is JobState.FINISHED:
        return Achieved(f"job {job.id} has ended: {job.slurm_state.lower()}")
    if intent.job.part.isdecimal():
        text = f"the tasks of an array share one cycle file, so nothing proves where {job.id} runs"
        return Refusal(RefusalKind.IMPOSSIBLE, text)
    if job.state is not JobState.RUNNING:
        return Wait(_POLL_S, f"job {job.id} is {job.state.value}")
    if intent.node not in job.nodes:
        return Achieved(f"job {job.id} has left {intent.node}")
    try:
        cycle = cycle_of(context.own.get(CYCLE, ""), intent.job.id)
    except CycleError as error:
        return Wait(_POLL_S, f"no cycle of job {job.id} can be read: {error}")
    return _evaluated(intent, context, job, cycle)


def _evaluated(intent: Intent, context: ObservedContext, job: SlurmJob, cycle: Cycle) -> Proposal:
    name = f"cycle {cycle.number} of job {job.id}"
    if cycle.attempt != job.restarts:
        return Wait(_POLL_S, f"{name} is of its run {cycle.attempt}; it is in run {job.restarts}")
    if cycle.finished_at:
        return Wait(_POLL_S, f"{name} ended at {cycle.finished_at}, and no other has started")
    active = _short_names(cycle.active)
    node_names = _names_of_node(intent, context)
    strange = active - node_names - _short_names(",".join(job.nodes))
    if strange:
        # Where host names are not Slurm's names, a name that is missing proves nothing.
        text = f"{name} names {min(strange)}, which Slurm does not list among its nodes"
        return Wait(_POLL_S, text)
    if active & node_names:
        text = f"{name} runs on {intent.node} still, since {cycle.started}"
        return Wait(_POLL_S, f"{text}; its launcher leaves it out at its next rendezvous")
    return Achieved(f"{name} runs without {intent.node} since {cycle.started}")


def _names_of_node(intent: Intent, context: ObservedContext) -> set[str]:
    node = context.node
    names = (intent.node, "" if node is None else node.hostname)
    return {_short(name) for name in names if name}


def _short_names(expression: str) -> set[str]:
    return {_short(name) for name in names_of(expression)}


def _short(name: str) -> str:
    return name.partition(".")[0].casefold()

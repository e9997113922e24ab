"""Which step has Slurm find out whether the slurmd of a node is silent, without harm to its jobs. Pure.

The controller sends a signal for a job's steps to every node of the job, whether or not a step runs
there, and marks those that do not accept the message in time. It has no message for one node alone that
leaves the node as it is.
"""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_slurm.proposals.draining import missing, not_ours
from accelwatch_slurm.texts import steps
from accelwatch_slurm.texts.observed_context import SIGNALLED, ObservedContext

# A signal that processes ignore by default (signal(7)).
IGNORED = "URG"
_POLL_S = 0.5


def propose_probe(intent: Intent, context: ObservedContext) -> Proposal:
    """Send it once, then wait until Slurm shows the node as silent, or nobody wants to know any more."""
    node = context.node
    if node is None:
        return missing(intent)
    if node.answering is False:
        return Achieved(f"Slurm has found that slurmd of {node.name} does not answer")
    if context.own.get(SIGNALLED):
        return Wait(_POLL_S, f"Slurm waits for slurmd of {node.name} to accept a message")
    if refusal := not_ours(context, node):
        return refusal
    job = next(
        (candidate for candidate in context.jobs if candidate.state is JobState.RUNNING), None
    )
    if job is None:
        return Refusal(RefusalKind.IMPOSSIBLE, f"no job runs on {node.name}")
    return Step(
        kind=steps.PROBE,
        arguments={"node": node.name, "job": job.id, "asked": repr(intent.asked)},
        precondition={"restarts": str(job.restarts)},
        text=f"have Slurm ask slurmd of {node.name}, by SIG{IGNORED} to job {job.id}",
    )

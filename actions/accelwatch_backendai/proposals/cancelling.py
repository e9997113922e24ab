"""Which step ends a job for good, follows one, or begins one again that a move has ended. Pure."""

from accelwatch.action.following import followed
from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.proposals.moving import create
from accelwatch_backendai.proposals.terminating import end, propose_termination
from accelwatch_backendai.sessions.job_view import agents_of, job_view, named, was_terminated_for
from accelwatch_backendai.sessions.leaving import why_it_stays
from accelwatch_backendai.sessions.states import state_of


def propose_cancel(intent: Intent, context: ObservedContext) -> Proposal:
    """End its session; one that is not known any more has ended."""
    view = job_view(context)
    head = view.lineage.head
    if intent.job is None or head is None:
        return Achieved(f"Backend.AI knows no session {intent.job} any more")
    state = state_of(head.status)
    if state is JobState.FINISHED:
        return Achieved(f"{named(head)} has ended")
    agents = agents_of(head)
    if agents and intent.node not in agents:
        return Achieved(f"{named(head)} is not on {intent.node} any more")
    if state is JobState.COMPLETING:
        return propose_termination(intent, context, view, head)
    if reason := why_it_stays(head, context, view):
        return Refusal(RefusalKind.NOT_ALLOWED, f"{named(head)} is left alone: {reason}")
    return end(head, note=False)


def propose_follow(intent: Intent, context: ObservedContext) -> Proposal:
    """It runs for long enough, has ended, or has died; never a step."""
    return followed(intent, context.job, context.time)


def propose_restore(intent: Intent, context: ObservedContext) -> Proposal:
    """A session that a move has ended, and has not created anew, is created now."""
    view = job_view(context)
    head = view.lineage.head
    if head is not None and was_terminated_for(intent, head):
        match state_of(head.status):
            case JobState.COMPLETING:
                return propose_termination(intent, context, view, head)
            case JobState.FINISHED:
                return create(intent, view, head)
            case _:
                pass
    return Achieved(f"job {intent.job} needs no change")

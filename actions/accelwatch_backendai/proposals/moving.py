"""Which step leads to a job that runs on without the bad agents: end its session, create it anew.

Pure. Backend.AI restarts no batch session for a caller, so this is how a job moves. A session that is
created anew is never steered: an agent that is out of service is not chosen, while a list of agents is
only a preference from 26.8 on and binds even agents out of service before 24.09. Where it runs is read.
"""

from collections.abc import Iterable

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_backendai.api.sessions import Session
from accelwatch_backendai.api.tags import tag_of
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.proposals.terminating import POLL_S, end, propose_termination
from accelwatch_backendai.sessions import steps
from accelwatch_backendai.sessions.job_view import (
    TERMINATED,
    JobView,
    agents_of,
    job_view,
    named,
    was_terminated_for,
)
from accelwatch_backendai.sessions.leaving import why_it_stays
from accelwatch_backendai.sessions.lineage import is_successor
from accelwatch_backendai.sessions.states import has_died, state_of

# Between polls of a session for which the scheduler has found no agents: it tries again once a minute
# (26.9). Until it has reported a try, the session may be placed at any moment.
_PENDING_S = 2.0


def propose_move(intent: Intent, context: ObservedContext) -> Proposal:
    """End it on the bad agents, create it anew, and see where it runs."""
    view = job_view(context)
    head = view.lineage.head
    if intent.job is None or head is None:
        return Refusal(RefusalKind.IMPOSSIBLE, f"Backend.AI knows no session {intent.job} any more")
    if len(view.lineage.live) > 1:
        texts = " and ".join(named(session) for session in view.lineage.live)
        return Refusal(RefusalKind.UNSAFE, f"{texts} are one job: end all but one by hand")
    match state_of(head.status):
        case JobState.RUNNING:
            return _away(intent, context, view, head)
        case JobState.COMPLETING if was_terminated_for(intent, head):
            return propose_termination(intent, context, view, head)
        case JobState.COMPLETING:
            return Wait(
                POLL_S, f"{named(head)} is terminating, at the request of another user or tool"
            )
        case JobState.FINISHED:
            return _terminated(intent, view, head)
        case _:
            return waits(head, view.waits)


def _away(intent: Intent, context: ObservedContext, view: JobView, head: Session) -> Proposal:
    agents = agents_of(head)
    bad = [agent for agent in agents if agent in intent.avoided]
    if not agents:
        # Without its agents it is unknown whether it runs elsewhere.
        return Wait(POLL_S, f"{named(head)} runs, and none of its agents is shown yet")
    if not bad:
        return Achieved(f"{named(head)} runs on {','.join(agents)}", moved_to=agents)
    if _was_created_for(intent, head):
        text = (
            f"{named(head)} was placed on {','.join(bad)}, where it may not run: check that its "
            "agents are not schedulable, and end it by hand"
        )
        return Refusal(RefusalKind.UNSAFE, text)
    if _is_handed_back(intent, context):
        text = (
            f"{intent.node} is schedulable again, by another person or tool: what runs there stays"
        )
        return Refusal(RefusalKind.OVERRIDDEN, text)
    if reason := why_it_stays(head, context, view):
        return Refusal(RefusalKind.NOT_ALLOWED, f"{named(head)} stays on {','.join(bad)}: {reason}")
    if view.unspecified:
        return _unspecified(head, view)
    silent = view.silent(head.kernels)
    if silent and not intent.fenced_by_job:
        text = f"{silent} does not answer: fence it first, else job {intent.job} may run twice"
        return Refusal(RefusalKind.UNSAFE, text)
    return end(head, note=True)


def _terminated(intent: Intent, view: JobView, head: Session) -> Proposal:
    died = has_died(head)
    if not was_terminated_for(intent, head) and not (intent.revive and died):
        why = head.status_info or head.status.lower()
        return Refusal(RefusalKind.IMPOSSIBLE, f"{named(head)} has ended: {why}")
    return create(intent, view, head)


def create(intent: Intent, view: JobView, predecessor: Session) -> Proposal:
    """The successor of a session that has ended, once nothing of that can run any more."""
    if agent := view.may_run_on(intent, predecessor):
        text = f"the old copy of {named(predecessor)} may still run on {agent}: fence it first"
        return Refusal(RefusalKind.UNSAFE, text)
    if view.unspecified:
        return _unspecified(predecessor, view)
    first = view.lineage.sessions[0].id if intent.job is None else intent.job.id
    return Step(
        kind=steps.CREATE_SESSION,
        arguments={"session": predecessor.id, "first": first, "tag": tag_of(first, predecessor.id)},
        # The tag of a session has no room for a second one.
        original={f"tag {predecessor.id}": predecessor.tag}
        if predecessor.tag and predecessor.id == first
        else {},
        text=f"create {predecessor.name} again, as it was in {predecessor.id}",
    )


def waits(session: Session, why: str) -> Wait:
    """A session that does not run yet, with the manager's own words why."""
    detail = f": {why}" if why else ""
    seconds = _PENDING_S if why and session.status == "PENDING" else POLL_S
    return Wait(seconds, f"{named(session)} is {session.status.lower()}{detail}")


def _is_handed_back(intent: Intent, context: ObservedContext) -> bool:
    """An administrator who makes an agent schedulable that we hold wants its sessions to stay."""
    ours = context.annotation is not None and context.annotation.incident == intent.mark.incident
    return ours and context.agent is not None and context.agent.schedulable


def _was_created_for(intent: Intent, session: Session) -> bool:
    """Whether it succeeds a session that was ended for this intent."""
    return any(is_successor(session, terminated) for terminated in _terminated_ids(intent.original))


def _terminated_ids(original: Iterable[str]) -> list[str]:
    return [key.removeprefix(TERMINATED) for key in original if key.startswith(TERMINATED)]


def _unspecified(session: Session, view: JobView) -> Refusal:
    text = f"{named(session)} is not resumed by us: {view.unspecified}"
    return Refusal(RefusalKind.IMPOSSIBLE, text)

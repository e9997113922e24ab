"""Which step ends a session, and when it is ended without its agents' word. Pure.

A manager ends a session by asking the agents of its kernels. A lost agent never answers: the session
stays TERMINATING (26.1.0, 26.9.6), while its node may go on computing. `forced` ends it in the manager's
rows alone, so it comes only past a deadline, and only once nothing can run there. In 26.1.0 it ends
nothing of that: the request is answered with empty `stats`, and the agent has to come back.
"""

from accelwatch.action.intent import Intent
from accelwatch.action.step import Proposal, Refusal, RefusalKind, Step, Wait
from accelwatch_backendai.api.sessions import Session
from accelwatch_backendai.observed_context import ObservedContext
from accelwatch_backendai.sessions import steps
from accelwatch_backendai.sessions.job_view import (
    FORCED,
    TERMINATED,
    JobView,
    agents_of,
    named,
    unfinished,
)

# Between polls of what comes about within seconds: a batch session ends in 3 to 5 s, and runs 8 to 10 s
# after it was created (26.9). A poll is four requests in 0.1 s, so a move sends six or seven a second:
# of 30 that the client sends, which has 200 in reserve for many moves at once.
POLL_S = 0.5
# While it is not forced to end yet, which is after a minute by default.
_LOST_POLL_S = 2.0


def end(session: Session, *, note: bool) -> Step:
    """End a session by its id; with `note` it counts as ended by us, and may be created anew."""
    where = ",".join(agents_of(session))
    return Step(
        kind=steps.END_SESSION,
        arguments={"session": session.id},
        original={TERMINATED + session.id: f"{session.name} on {where}"} if note else {},
        text=f"end {named(session)}",
    )


def propose_termination(
    intent: Intent, context: ObservedContext, view: JobView, session: Session
) -> Proposal:
    """What leads from a session that is TERMINATING to one that has ended."""
    left = unfinished(session)
    silent = view.silent(left)
    if silent and not intent.fenced_by_job:
        text = (
            f"{silent} does not answer: fence it first, else {named(session)} may still run there"
        )
        return Refusal(RefusalKind.UNSAFE, text)
    lost = [kernel.agent for kernel in left if not view.answers(kernel.agent)]
    if not lost:
        return Wait(POLL_S, f"{named(session)} is terminating on {','.join(agents_of(session))}")
    left_s = context.options.force_after_s - (context.time - intent.asked)
    if left_s > 0:
        text = (
            f"{named(session)} is terminating on {lost[0]}, which is lost; forced in {left_s:.0f} s"
        )
        return Wait(min(left_s, _LOST_POLL_S), text)
    names = ",".join(sorted(set(lost)))
    # Whose power has to be off still when it is sent.
    proven = "" if intent.fenced_by_job else names
    return Step(
        kind=steps.END_SESSION,
        arguments={"session": session.id, "forced": "true", "off": proven},
        original={FORCED + session.id: names},
        text=f"end {named(session)} by force: nothing can run on {lost[0]}",
    )

"""A job as its newest session shows it. Pure."""

from accelwatch.action.intent import JobKey
from accelwatch.action.observed import JobObservation, JobState
from accelwatch_backendai.sessions.job_view import agents_of
from accelwatch_backendai.sessions.lineage import Lineage
from accelwatch_backendai.sessions.states import has_died, state_of
from accelwatch_backendai.settings.session_rules import SessionType

_MOST_TEXT = 500


def observed_job(key: JobKey, lineage: Lineage, waits: str, *, requeueable: bool) -> JobObservation:
    """Its state; MISSING where the manager knows no session of it. `waits` says why it is pending."""
    head = lineage.head
    if head is None:
        return JobObservation(key=key, state=JobState.MISSING)
    state = state_of(head.status)
    is_finished = state is JobState.FINISHED
    return JobObservation(
        key=key,
        state=state,
        user=head.user,
        nodes=() if is_finished else agents_of(head),
        restarts=lineage.restarts,
        started=head.started if state is JobState.RUNNING else None,
        requeueable=requeueable,
        interactive=head.type == SessionType.INTERACTIVE,
        failed=is_finished and has_died(head),
        text=(waits or head.status_info)[:_MOST_TEXT],
    )

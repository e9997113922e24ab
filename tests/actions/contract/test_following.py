"""How a job that was begun again fares: it runs for long enough, has ended, or has died."""

from typing import Any

import pytest

from accelwatch.action.following import followed
from accelwatch.action.intent import Intent, IntentKind, JobKey, OwnerAnnotation
from accelwatch.action.observed import JobObservation, JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Wait

NOW = 1_795_356_000.0
KEY = JobKey("lab", "1", 1795355571.0)
WANTED = Intent(
    kind=IntentKind.FOLLOW_JOB,
    mark=OwnerAnnotation("inc-1", 1),
    node="n1",
    job=KEY,
    restarts=1,
    run_s=1800.0,
    asked=NOW,
    deadline=NOW + 9000,
)


def job(state: JobState, **fields: Any) -> JobObservation:
    return JobObservation(key=KEY, state=state, **{"restarts": 1, "started": NOW, **fields})


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (None, Wait),
        (job(JobState.RUNNING), Wait),
        (job(JobState.RUNNING, started=NOW - 1799.9), Wait),
        (job(JobState.RUNNING, started=NOW - 1800.0), Achieved),
        (job(JobState.RUNNING, started=None), Wait),
        (job(JobState.FINISHED), Achieved),
        (job(JobState.MISSING), Achieved),
        (job(JobState.COMPLETING), Wait),
        (job(JobState.HELD), Wait),
        (job(JobState.WAITING, restarts=2), Wait),
        (job(JobState.FINISHED, failed=True), Refusal),
        (job(JobState.RUNNING, restarts=2), Refusal),
        (job(JobState.WAITING), Refusal),
    ],
)
def test_what_is_seen_of_a_job_says_how_it_fares(seen: JobObservation | None, kind: type) -> None:
    proposal: Proposal = followed(WANTED, seen, NOW)
    assert isinstance(proposal, kind)
    assert proposal.text
    if isinstance(proposal, Refusal):
        assert proposal.kind is RefusalKind.DIED
    if isinstance(proposal, Wait):
        assert 2.0 <= proposal.seconds <= 10.0

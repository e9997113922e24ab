"""How a restarted job fares, judged by what is observed of it; for every action. Pure."""

from accelwatch.action.intent import Intent
from accelwatch.action.observed import JobObservation, JobState
from accelwatch.action.step import Achieved, Proposal, Refusal, RefusalKind, Wait

POLL_S = 10.0
COMPLETING_S = 2.0


def followed(intent: Intent, job: JobObservation | None, now: float) -> Proposal:
    """It runs for long enough, has ended, or has died; never a step. `now` in Unix seconds."""
    if job is None:
        return Wait(POLL_S, f"the state of job {intent.job} is unknown")
    again = intent.restarts is not None and job.restarts > intent.restarts
    match job.state:
        case JobState.MISSING:
            return Achieved(f"job {intent.job} is not known any more")
        case JobState.FINISHED if job.failed:
            return Refusal(RefusalKind.DIED, job.text or "it has failed")
        case JobState.FINISHED:
            return Achieved(f"job {intent.job} has ended")
        case JobState.RUNNING if again:
            return Refusal(RefusalKind.DIED, "it has been restarted since")
        case JobState.RUNNING:
            return _runs(intent, job, now)
        case JobState.WAITING if not again:
            return Refusal(RefusalKind.DIED, "it is waiting for its restart")
    return Wait(COMPLETING_S, f"job {intent.job} is {job.state.value}")


def _runs(intent: Intent, job: JobObservation, now: float) -> Proposal:
    ran_s = now - (intent.asked if job.started is None else job.started)
    if ran_s >= intent.run_s:
        return Achieved(f"job {intent.job} runs for {ran_s:.0f} s", moved_to=job.nodes)
    left_s = min(intent.run_s - ran_s, POLL_S)
    return Wait(max(left_s, COMPLETING_S), f"job {intent.job} runs for {ran_s:.0f} s")

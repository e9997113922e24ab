"""Intents for a job whose node no longer waits for it, each by its own key, and notes about it. Pure."""

import msgspec

from accelwatch.action.intent import Intent, JobKey
from accelwatch.action.intent import IntentKind as Kind
from accelwatch.remediation.policy.context.outcome import Loudness
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import CHORES
from accelwatch.remediation.policy.guards.retry.job_history import Run
from accelwatch.remediation.policy.state.clocks import RESTORE_S

replace = msgspec.structs.replace
# Replaces the incident in the mark of an operation for a job that died of itself.
OWN_END = "own-end"
# Begins the keys of chores that go on with the move of a job whose node waits for it no more.
MOVED_ON = "move "


def name_of(job: JobKey) -> str:
    """By what a job's history is kept; the history says of which submissions it is."""
    return f"{job.cluster}/{job}"


def start_chore(ctx: StepContext, key: str, intent: Intent) -> None:
    """Pursue an intent that belongs to no remedy, and keep it by its key."""
    ctx.set_row(CHORES, key, intent)
    ctx.pursue(intent)


def stop_following(ctx: StepContext, name: str) -> None:
    """Look after a job no more."""
    watching = ctx.state.chores.get(f"follow {name}")
    if watching is not None:
        ctx.set_row(CHORES, f"follow {name}", None)
        ctx.cancel(watching)


def restore(ctx: StepContext, name: str, run: Run) -> None:
    """Give back what the revival of a job has changed; what a move has is its remedy's to restore."""
    if run.moved.revive:
        back = replace(
            run.moved, kind=Kind.RESTORE_JOB, asked=ctx.now, deadline=ctx.now + RESTORE_S
        )
        start_chore(ctx, f"restore {name} {run.moved.asked:.0f}", back)


def add_note(ctx: StepContext, run: Run, text: str, loudness: Loudness) -> None:
    """Notify people of a job, under the incident for which it was moved."""
    incident = run.moved.mark.incident
    remedy = replace(ctx.remedy(run.node), incident="" if incident == OWN_END else incident)
    ctx.note(remedy, text, loudness)

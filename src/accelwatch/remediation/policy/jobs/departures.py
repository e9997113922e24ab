"""Jobs that have left their nodes lately: what befalls a node may be seen after they have died. Pure.

They are in the journal, so an engine that begins after a crash looks for the same ones. That is one
entry for each job that ends, so it is kept only where jobs may be restarted at all.
"""

from collections.abc import Collection, Iterable, Mapping

from accelwatch.action.intent import JobKey
from accelwatch.remediation.policy.context.step_context import StepContext
from accelwatch.remediation.policy.context.tables import DEPARTED
from accelwatch.remediation.policy.guards.limits.ceiling import Ceiling
from accelwatch.remediation.policy.state.clocks import DEATH_SETTLES_S, REVIVAL_S
from accelwatch.remediation.policy.state.model import Departed

# Jobs that are remembered, the latest to leave.
MOST_DEPARTED = 4096


def departed(
    ctx: StepContext,
    left: Mapping[JobKey, Iterable[str]],
    to_restart: Collection[JobKey],
    time: float,
) -> None:
    """Jobs are not shown any more on nodes (the scheduler's names) that had them; `time` in Unix s."""
    if not left or Ceiling(ctx.settings.ceiling) is not Ceiling.RESUME:
        return
    for job, nodes in left.items():
        existing = ctx.state.departed.get(key_of(job))
        before = () if existing is None else existing.nodes
        every = tuple(dict.fromkeys((*before, *nodes)))
        row = Departed(job=job, at=time, nodes=every, begin_again=job in to_restart)
        ctx.set_row(DEPARTED, key_of(job), row)


def tidy(ctx: StepContext) -> None:
    """Forget departures whose nodes have no remedy, and those of long ago."""
    rows = ctx.state.departed
    if not rows:
        return
    kept = {ctx.target(remedy) for remedy in ctx.state.remedies.values()}
    over = [
        key
        for key, departure in rows.items()
        if ctx.now - departure.at > REVIVAL_S
        or (
            ctx.now - departure.at > DEATH_SETTLES_S
            and not departure.begin_again
            and kept.isdisjoint(departure.nodes)
        )
    ]
    left = len(rows) - len(over)
    if left > MOST_DEPARTED:
        expired = set(over)
        oldest = sorted((key for key in rows if key not in expired), key=lambda key: rows[key].at)
        over += oldest[: left - MOST_DEPARTED]
    for key in over:
        ctx.set_row(DEPARTED, key, None)


def key_of(job: JobKey) -> str:
    """By which a departure is kept: an id that is given again is another job."""
    return f"{job.cluster}/{job} {job.submitted:.0f}"

"""A small driver of an action, as the engine's pursuit is: looks, takes one step, looks again."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable

import msgspec

from accelwatch.action.contract import Action
from accelwatch.action.intent import Intent
from accelwatch.action.step import Achieved, Committed, Refusal, Report, ReportStatus, Step, Wait

Ending = Achieved | Refusal
Between = Callable[[Step], Awaitable[None]]


class Pursuit(msgspec.Struct):
    """What happened on the way."""

    ending: Ending
    steps: list[Step]
    reports: list[Report]

    @property
    def kinds(self) -> list[str]:
        """Kinds of the steps."""
        return [step.kind for step in self.steps]

    @property
    def original(self) -> dict[str, str]:
        """What its steps replaced."""
        return {key: value for step in self.steps for key, value in step.original.items()}


MOST_STEPS = 20
_operations = itertools.count(1)


def committed(intent: Intent, *, dry_run: bool = False) -> Committed:
    """An operation as the journal would have written it."""
    return Committed(
        operation=f"op{next(_operations)}",
        attempt=1,
        annotation=intent.mark,
        deadline=intent.deadline,
        dry_run=dry_run,
    )


async def pursue(
    action: Action,
    intent: Intent,
    *,
    within_s: float = 90.0,
    before: Between | None = None,
    twice: bool = False,
) -> Pursuit:
    """Until it is achieved or refused; fails when that takes too long. `before` runs before each step.

    A step is not done again before its effect has had the time that its kind says it may take. With
    `twice` each step that is idempotent is done two times.
    """
    done: list[Step] = []
    reports: list[Report] = []
    end = time.monotonic() + within_s
    last: tuple[Step, float] | None = None
    while time.monotonic() < end:
        observed = await action.observe(intent)
        proposal = action.propose(intent, observed)
        assert proposal == action.propose(intent, observed)
        if isinstance(proposal, Achieved | Refusal):
            return Pursuit(proposal, done, reports)
        if isinstance(proposal, Wait):
            await asyncio.sleep(min(proposal.seconds, 0.5))
            continue
        if last is not None and last[0] == proposal and time.monotonic() < last[1]:
            await asyncio.sleep(0.05)
            continue
        if before is not None:
            await before(proposal)
        report = await action.perform(proposal, committed(intent))
        if twice and action.steps[proposal.kind].idempotent:
            again = await action.perform(proposal, committed(intent))
            assert again.status is not ReportStatus.UNKNOWN, again
        done.append(proposal)
        reports.append(report)
        assert len(done) < MOST_STEPS, (done, reports)
        settle_s = (
            0.2 if report.status is ReportStatus.RETRY else action.steps[proposal.kind].settle_s
        )
        last = proposal, time.monotonic() + settle_s
    ways = [step.text for step in done]
    raise AssertionError(f"neither achieved nor refused: {ways}, {reports}, at last: {proposal}")

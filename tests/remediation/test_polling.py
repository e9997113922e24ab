"""Looks at all nodes: at once when something was done, and not all of the time."""

import asyncio
import itertools

import pytest

from accelwatch.remediation.execution.polling import (
    LEAST_PAUSE_S,
    MOST_PAUSE_S,
    POLL_EVERY_S,
    Poller,
)
from accelwatch.remediation.policy.state.pursued import Poll
from remediation.fake_scheduler import FakeAction, FakeScheduler
from remediation.virtual_time import LoopClock, VirtualLoop, run


class SlowAction(FakeAction):
    """One whose scheduler takes its time to show all nodes."""

    takes_s = 0.0

    async def observe_all(self):  # type: ignore[no-untyped-def]
        await asyncio.sleep(self.takes_s)
        return await super().observe_all()


@pytest.mark.parametrize(
    ("takes_s", "wanted", "every_s"),
    [
        (0.0, True, LEAST_PAUSE_S),
        (1.0, True, 2.0),
        (10.0, True, 10.0 + MOST_PAUSE_S),
        (0.0, False, POLL_EVERY_S),
        (1.0, False, 1.0 + POLL_EVERY_S),
    ],
)
def test_between_two_looks_a_scheduler_has_time_for_what_is_done(
    takes_s: float, wanted: bool, every_s: float
) -> None:
    loop = VirtualLoop()
    clock = LoopClock(loop)
    action = SlowAction(FakeScheduler(clock, ["n1"]))
    action.takes_s = takes_s
    polls: list[Poll] = []
    poller = Poller({"a": action}, clock, polls.append)

    async def scenario() -> None:
        looking = asyncio.create_task(poller.run())
        while len(polls) < 4:
            if wanted:
                poller.refresh()
            await asyncio.sleep(0.01)
        looking.cancel()

    run(loop, scenario())
    pauses = [after.time - before.time for before, after in itertools.pairwise(polls)]
    assert pauses == pytest.approx([every_s] * 3, abs=0.02)


def test_a_scheduler_that_does_not_answer_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    loop = VirtualLoop()
    clock = LoopClock(loop)
    world = FakeScheduler(clock, ["n1"])
    polls: list[Poll] = []
    poller = Poller({"a": FakeAction(world)}, clock, polls.append)

    async def scenario() -> None:
        task = asyncio.create_task(poller.run())
        for unavailable in ("starting", "", "401 Unauthorized", ""):
            world.unavailable = unavailable
            seconds = 1.0 if unavailable == "starting" else 60.0
            await asyncio.sleep(seconds)
        task.cancel()

    run(loop, scenario())
    # Tasks of other tests' loops, which are collected meanwhile, are asyncio's to log.
    ours = [record for record in caplog.records if record.name.startswith("accelwatch.")]
    texts = [record.getMessage() for record in ours]
    assert texts == ["a does not answer: 401 Unauthorized", "a answers again"]

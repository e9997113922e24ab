"""Turns of a cluster's requests; time passes by itself only where the loop waits."""

import asyncio
import itertools

import pytest

from accelwatch.api_client.limiter import MAX_PAUSE_S, Limiter
from accelwatch.base.clock import ManualClock
from support.processes.idle_loop import IdleClock

FOREVER = float("inf")


async def _turns(limiter: Limiter, count: int) -> list[float]:
    """When each of so many that come together got its turn."""
    clock = IdleClock()
    since = clock.monotonic()

    async def turn() -> float:
        assert await limiter.wait(FOREVER)
        return clock.monotonic() - since

    return list(await asyncio.gather(*(turn() for _ in range(count))))


async def _at_once(limiter: Limiter, count: int) -> int:
    """How many of so many get their turn without waiting for it; the others are waiting still."""
    waiting = [asyncio.create_task(limiter.wait(FOREVER)) for _ in range(count)]
    await asyncio.sleep(0)
    return sum(task.done() for task in waiting)


def test_a_burst_goes_at_once_and_the_rest_at_its_rate() -> None:
    async def main() -> None:
        limiter = Limiter(20, 3, IdleClock())
        assert await _at_once(limiter, 6) == 3
        # What waits comes before what is new.
        (turn,) = await _turns(limiter, 1)
        assert turn >= 0.19

    asyncio.run(main())


@pytest.mark.parametrize("now", [1_000.0, 12_345.678, 57_023.419, 900_000.1])
def test_a_burst_is_whole_whatever_the_clock_shows(now: float) -> None:
    """Its turns are differences and sums of seconds that no float has exactly."""

    async def main() -> None:
        limiter = Limiter(20, 7, ManualClock(monotonic=now))
        assert await _at_once(limiter, 9) == 7

    asyncio.run(main())


def test_credit_comes_back_while_nothing_is_sent() -> None:
    async def main() -> None:
        limiter = Limiter(20, 2, IdleClock())
        await _turns(limiter, 2)
        await asyncio.sleep(1.0)
        assert await _at_once(limiter, 5) == 2

    asyncio.run(main())


def test_a_turn_after_the_deadline_is_none_and_costs_none() -> None:
    async def main() -> None:
        limiter, clock = Limiter(10, 1, IdleClock()), IdleClock()
        assert await limiter.wait(clock.monotonic())
        soon = clock.monotonic() + 0.05
        assert not await limiter.wait(soon)
        assert not await limiter.wait(soon)
        assert await limiter.wait(soon + 0.06)

    asyncio.run(main())


@pytest.mark.parametrize(("requested_s", "expected_s"), [(0.3, 0.3), (None, 1.0)])
def test_a_pause_holds_everybody_and_leaves_no_burst(
    requested_s: float | None, expected_s: float
) -> None:
    async def main() -> None:
        limiter = Limiter(20, 2, IdleClock())
        # Three wait for their turns already when the server asks for the pause.
        waiting = asyncio.create_task(_turns(limiter, 5))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        limiter.pause(requested_s)
        after = asyncio.create_task(_turns(limiter, 2))
        turns = sorted((await waiting)[2:] + await after)
        assert turns[0] >= expected_s - 0.01
        gaps = [later - earlier for earlier, later in itertools.pairwise(turns)]
        assert min(gaps) >= 0.04

    asyncio.run(main())


def test_a_shorter_pause_does_not_end_a_longer() -> None:
    async def main() -> None:
        limiter = Limiter(20, 2, IdleClock())
        limiter.pause(0.3)
        limiter.pause(0.1)
        (turn,) = await _turns(limiter, 1)
        assert turn >= 0.29

    asyncio.run(main())


def test_no_pause_is_longer_than_a_cluster_may_go_unwatched() -> None:
    async def main() -> None:
        clock = IdleClock()
        limiter, now = Limiter(20, 2, clock), clock.monotonic()
        limiter.pause(3600.0)
        assert limiter.opens_at == pytest.approx(now + MAX_PAUSE_S, abs=5.0)

    asyncio.run(main())

"""Work in slices: others come between, one walk after the other, and what is not long never rests."""

import asyncio

import pytest

from accelwatch.base import slices
from accelwatch.base.slices import SLICE_S, LongWork, Turns


@pytest.fixture
def _no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every slice is spent at once."""
    monkeypatch.setattr(slices, "SLICE_S", 0.0)


async def _walk(held: Turns, name: str, steps: int, seen: list[str]) -> None:
    async with held.walk() as walk:
        for _ in range(steps):
            await walk.yield_control()
            seen.append(name)


@pytest.mark.usefixtures("_no_time")
def test_walks_take_turns_and_others_come_between() -> None:
    async def run() -> list[str]:
        held, seen = Turns(), list[str]()

        async def other() -> None:
            for _ in range(4):
                seen.append("-")
                await asyncio.sleep(0)

        await asyncio.gather(_walk(held, "a", 3, seen), _walk(held, "b", 3, seen), other())
        return seen

    seen = asyncio.run(run())
    assert [one for one in seen if one != "-"] == ["a", "b", "a", "b", "a", "b"]
    assert "-" in seen[1:-1]


@pytest.mark.usefixtures("_no_time")
def test_a_walk_that_is_cancelled_or_fails_lets_the_others_go_on() -> None:
    async def run() -> list[str]:
        held, seen = Turns(), list[str]()

        async def fails() -> None:
            async with held.walk():
                raise ValueError

        endless = asyncio.create_task(_walk(held, "endless", 10**9, []))
        waiting = asyncio.create_task(_walk(held, "waiting", 10**9, []))
        await asyncio.sleep(0)
        endless.cancel()
        waiting.cancel()
        await asyncio.gather(endless, waiting, fails(), return_exceptions=True)
        async with asyncio.timeout(60):
            await _walk(held, "a", 2, seen)
        return seen

    assert asyncio.run(run()) == ["a", "a"]


def test_a_short_walk_is_never_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "monotonic", lambda: 100.0)

    async def run() -> list[str]:
        held, seen = Turns(), list[str]()
        await asyncio.gather(_walk(held, "a", 2, seen), _walk(held, "b", 2, seen))
        return seen

    assert asyncio.run(run()) == ["a", "a", "b", "b"]


class Watch:
    """A clock that stands, and how long each rest was."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.rests: list[float] = []
        monkeypatch.setattr(slices, "monotonic", lambda: self.now)
        monkeypatch.setattr(asyncio, "sleep", self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds + 1.0


def test_work_rests_when_its_slice_is_spent_and_reports_its_time_without_rests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = Watch(monkeypatch)

    async def run() -> float:
        work = LongWork()
        for spent in (0.75 * SLICE_S, 0.25 * SLICE_S, 0.5 * SLICE_S, 2 * SLICE_S):
            watch.now += spent
            await work.yield_control()
        watch.now += 0.5 * SLICE_S
        return work.busy_seconds()

    assert asyncio.run(run()) == pytest.approx(4 * SLICE_S)
    assert watch.rests == [0.0, 0.0]


def test_work_may_rest_for_a_multiple_of_what_its_slice_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = Watch(monkeypatch)

    async def run() -> None:
        work = LongWork()
        for _ in range(2):
            watch.now += 2 * SLICE_S
            await work.yield_control(3.0)

    asyncio.run(run())
    assert watch.rests == pytest.approx([6 * SLICE_S, 6 * SLICE_S])

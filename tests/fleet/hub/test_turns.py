import asyncio

import pytest

from accelwatch.fleet.api import turns
from accelwatch.fleet.api.turns import Turns


@pytest.fixture
def _no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every slice is spent at once."""
    monkeypatch.setattr(turns, "_SLICE_S", 0.0)


async def _walk(held: Turns, name: str, steps: int, seen: list[str]) -> None:
    async with held.walk() as walk:
        for _ in range(steps):
            await walk.rest()
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
        async with asyncio.timeout(5):
            await _walk(held, "a", 2, seen)
        return seen

    assert asyncio.run(run()) == ["a", "a"]


def test_a_short_walk_is_never_interrupted() -> None:
    async def run() -> list[str]:
        held, seen = Turns(), list[str]()
        await asyncio.gather(_walk(held, "a", 2, seen), _walk(held, "b", 2, seen))
        return seen

    assert asyncio.run(run()) == ["a", "a", "b", "b"]

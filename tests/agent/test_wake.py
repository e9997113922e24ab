"""One waiting for a moment, or for what comes before it."""

import asyncio

from accelwatch.agent.rules.wake import Wake

_LONG_S = 3600.0


def test_it_is_over_when_its_time_has_come() -> None:
    async def waited() -> None:
        now = asyncio.get_running_loop().time()
        wake = Wake(now)
        assert await wake.over() is False
        wake.wake_at(now)
        assert await wake.over() is False, "it is over"

    asyncio.run(waited())


def test_the_first_that_is_brought_ends_it() -> None:
    async def waited() -> bool:
        now = asyncio.get_running_loop().time()
        wake = Wake(now + _LONG_S)
        wake.wake_at(now)
        wake.wake_at(now + _LONG_S)
        return await wake.over()

    assert asyncio.run(waited()) is True


def test_who_is_cancelled_waits_no_more() -> None:
    async def waited() -> bool:
        loop = asyncio.get_running_loop()
        wake = Wake(loop.time() + _LONG_S)
        waiting = asyncio.create_task(wake.over())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        wake.wake_at(loop.time())
        return waiting.cancelled()

    assert asyncio.run(waited()) is True

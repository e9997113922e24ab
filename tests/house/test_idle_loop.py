"""The time of a loop that counts its waiting only."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from support.processes.idle_loop import IdleLoop


def _run(what: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=IdleLoop) as runner:
        runner.run(what)


def test_what_was_kept_from_running_is_not_late() -> None:
    async def main() -> None:
        async with asyncio.timeout(0.1):
            for _ in range(3):
                time.sleep(0.06)
                await asyncio.sleep(0)

    _run(main())


def test_what_is_waited_for_in_vain_is_late() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await asyncio.Event().wait()

    _run(main())


def test_time_passes_for_a_loop_that_never_waits() -> None:
    async def busy() -> None:
        async with asyncio.timeout(0.05):
            while True:
                await asyncio.sleep(0)

    with pytest.raises(TimeoutError):
        _run(busy())


def test_timers_keep_their_order() -> None:
    async def main() -> None:
        rung: list[int] = []
        loop = asyncio.get_running_loop()
        for number in (3, 1, 2):
            loop.call_later(number * 0.01, rung.append, number)
        await asyncio.sleep(0.04)
        assert rung == [1, 2, 3]

    _run(main())

"""The time of a loop that counts its waiting only."""

import asyncio
import selectors
import socket
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from support.processes.idle_loop import IdleClock, IdleLoop


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


def test_what_arrives_while_the_machine_stands_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timer and what it guards are due together when the process goes on: the answer counts."""
    select = selectors.DefaultSelector.select

    def stopped(selector: Any, timeout: float | None = None) -> Any:
        ready = select(selector, timeout)
        if ready:
            time.sleep(0.3)
        return ready

    async def main() -> None:
        loop = asyncio.get_running_loop()
        here, there = socket.socketpair()
        with here, there:
            here.setblocking(False)
            async with asyncio.timeout(0.25):
                for _ in range(2):
                    loop.call_soon(there.send, b"x")
                    assert await loop.sock_recv(here, 1) == b"x"

    monkeypatch.setattr(selectors.DefaultSelector, "select", stopped)
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


def test_a_clock_on_it_stands_with_it() -> None:
    clock = IdleClock()

    async def main() -> None:
        before = clock.monotonic(), clock.wall()
        time.sleep(0.3)
        assert (clock.monotonic(), clock.wall()) == before
        assert before[0] <= await asyncio.to_thread(clock.monotonic) <= clock.monotonic()
        await asyncio.sleep(0.3)
        assert clock.monotonic() >= before[0] + 0.3
        assert clock.wall() == pytest.approx(before[1] + clock.monotonic() - before[0])

    _run(main())


def test_a_clock_goes_on_from_loop_to_loop_and_is_the_machine_s_on_another() -> None:
    clock, read = IdleClock(), list[float]()

    async def main() -> None:
        read.append(clock.monotonic())
        time.sleep(0.01)

    _run(main())
    _run(main())
    assert read == sorted(read)
    before = time.monotonic()
    asyncio.run(main())
    assert before <= read[-1] <= time.monotonic()

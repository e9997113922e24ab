"""The thread that reads an archive."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from accelwatch.fleet.replay.worker import ReadingThread


def test_calls_are_answered_in_order_and_the_background_goes_on_between_them() -> None:
    steps: list[int] = []
    done = threading.Event()

    def background() -> Iterator[None]:
        for step in range(20):
            steps.append(step)
            yield
        done.set()

    async def go() -> None:
        thread = ReadingThread("test")
        thread.start(background())
        both = await asyncio.gather(thread.call(lambda: 1), thread.call(lambda: 2))
        assert list(both) == [1, 2]
        await asyncio.to_thread(done.wait, 60)
        assert await thread.call(lambda: 3) == 3
        thread.stop()

    asyncio.run(go())
    assert steps == list(range(20))


def test_what_a_call_raises_comes_to_who_waits_and_the_next_is_answered() -> None:
    def wrong() -> int:
        raise OSError("disk")

    async def go() -> None:
        thread = ReadingThread("test")
        thread.start(iter(()))
        with pytest.raises(OSError, match="disk"):
            await thread.call(wrong)
        assert await thread.call(lambda: 7) == 7
        thread.stop()

    asyncio.run(go())


def test_what_the_background_raises_comes_to_who_waits_next() -> None:
    def background() -> Iterator[None]:
        yield
        raise ValueError("odd")

    async def go() -> None:
        thread = ReadingThread("test")
        thread.start(background())

        async def again() -> None:
            while True:
                await thread.call(lambda: 1)
                await asyncio.sleep(0.01)

        with pytest.raises(ValueError, match="odd"):
            await asyncio.wait_for(again(), 60)
        thread.stop()

    asyncio.run(go())


def test_a_call_that_nobody_waits_for_any_more_is_left_out() -> None:
    called: list[str] = []
    held = threading.Event()

    async def go() -> None:
        thread = ReadingThread("test")
        thread.start(iter(()))
        busy = asyncio.create_task(thread.call(lambda: held.wait(60)))
        given_up = asyncio.create_task(thread.call(lambda: called.append("late")))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.sleep(0)
        held.set()
        await busy
        await thread.call(lambda: called.append("next"))
        thread.stop()

    asyncio.run(go())
    assert called == ["next"]

"""Where expositions are read: what takes long must not hold up the streams."""

import asyncio
import threading
import time

from accelwatch.fleet.follow.poll import Exposed, PacedReader
from accelwatch.fleet.follow.turn import Turn

SHORT, LONG, HUGE = b"x" * 1000, b"x" * 100_000, b"x" * 2_000_000


class Reader:
    """Notes the threads on which it reads, and how many read at one time."""

    def __init__(self, busy_s: float = 0.0) -> None:
        self.busy_s = busy_s
        self.on_loop: list[bool] = []
        self.now = self.most = 0

    def __call__(self, _body: bytes) -> Exposed:
        self.on_loop.append(threading.current_thread() is threading.main_thread())
        self.now += 1
        self.most = max(self.most, self.now)
        until = time.thread_time() + self.busy_s
        while time.thread_time() < until:
            pass
        self.now -= 1
        return Exposed(dialect="d", devices=())


def read(reader: Reader, *bodies: bytes) -> list[bool]:
    async def main() -> None:
        reading = PacedReader(reader, Turn())
        for body in bodies:
            await reading.read(body)

    asyncio.run(main())
    return reader.on_loop


def test_what_was_quick_is_read_on_the_loop() -> None:
    assert read(Reader(), SHORT, LONG, LONG, HUGE) == [True, True, True, False]


def test_what_is_new_or_was_slow_is_read_on_a_thread() -> None:
    assert read(Reader(), LONG, LONG) == [False, True]
    assert read(Reader(busy_s=0.02), LONG, LONG, LONG) == [False, False, False]


def test_one_thread_reads_at_a_time() -> None:
    reader = Reader(busy_s=0.02)

    async def main() -> None:
        turn = Turn()
        await asyncio.gather(*(PacedReader(reader, turn).read(LONG) for _ in range(4)))

    asyncio.run(main())
    assert (len(reader.on_loop), reader.most) == (4, 1)

"""A fleet is followed as soon as it can be read: targets start in their order, as fast as we keep up."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import cast

from accelwatch.fleet.follow.failures.failure_log import FailureLog
from accelwatch.fleet.follow.failures.faults import TargetFault
from accelwatch.fleet.follow.followers import Followers
from accelwatch.fleet.follow.frames import Received
from accelwatch.fleet.follow.poll import Exposed
from accelwatch.fleet.follow.session import Client
from accelwatch.fleet.follow.turn import Turn
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.target import Target, targets_of
from remediation.virtual_time import VirtualLoop, run

TARGETS = {target.key: target for target in targets_of(["n[001-100]"])}


class Started:
    """Notes who started, and when; nothing is requested, for there is no reader."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}

    def started(self, target: Target, mode: str) -> None:
        assert mode == "poll"
        self.at.setdefault(target.node, asyncio.get_running_loop().time())

    def message(self, target: Target, message: Received, size: int) -> None:
        raise AssertionError(target)

    def exposed(self, target: Target, exposed: Exposed, duration_s: float) -> None:
        raise AssertionError(target)

    def failed(self, target: Target, fault: TargetFault) -> None:
        assert "not an accelwatch agent" in str(fault)


def started(play: Callable[[Followers, Started, Turn], Awaitable[None]]) -> None:
    async def main() -> None:
        sink, turn = Started(), Turn()
        client = SimpleNamespace(
            scrape=Scrape(mode="poll"), reading=turn, failures=FailureLog(), connector=None
        )
        followers = Followers(cast("Client", client), sink, None)
        try:
            await play(followers, sink, turn)
        finally:
            await followers.close()

    run(VirtualLoop(), main())


def test_all_have_started_in_a_tenth_of_a_second_and_in_their_order() -> None:
    async def play(followers: Followers, sink: Started, _turn: Turn) -> None:
        followers.set_targets(TARGETS)
        await asyncio.sleep(0.1)
        assert list(sink.at) == [target.node for target in TARGETS.values()]
        assert len(set(sink.at.values())) == 5

    started(play)


def test_nobody_starts_while_many_pages_wait_to_be_read() -> None:
    async def play(followers: Followers, sink: Started, turn: Turn) -> None:
        async def read() -> None:
            async with turn:
                await asyncio.sleep(1.0)

        pages = [asyncio.create_task(read()) for _ in range(20)]
        await asyncio.sleep(0)
        followers.set_targets(TARGETS)
        await asyncio.sleep(0.9)
        assert not sink.at
        await asyncio.sleep(0.3)
        assert len(sink.at) == 100
        await asyncio.gather(*pages)
        assert turn.pending == 0

    started(play)


def test_a_target_removed_before_its_start_does_not_start() -> None:
    async def play(followers: Followers, sink: Started, _turn: Turn) -> None:
        followers.set_targets(TARGETS)
        await asyncio.sleep(0.001)
        last = dict(list(TARGETS.items())[-1:])
        followers.set_targets(last)
        await asyncio.sleep(1.0)
        assert list(sink.at)[-1] == "n100"
        assert len(sink.at) == 21
        followers.set_targets(TARGETS)
        await asyncio.sleep(1.0)
        assert len(sink.at) == 100

    started(play)


def test_nobody_starts_after_the_end() -> None:
    async def play(followers: Followers, sink: Started, _turn: Turn) -> None:
        followers.set_targets(TARGETS)
        await followers.close()
        await asyncio.sleep(1.0)
        assert not sink.at

    started(play)


def test_who_gives_up_waiting_for_a_turn_does_not_want_it_any_more() -> None:
    async def main() -> None:
        turn = Turn()
        async with turn:
            waiting = asyncio.create_task(turn.__aenter__())
            await asyncio.sleep(0)
            assert turn.pending == 2
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert turn.pending == 1

    asyncio.run(main())

"""What an agent reports that shall not wait for the next tick of the rules."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from accelwatch.fleet.follow.frames import FrameReader, RawTick
from accelwatch.fleet.rules.evaluator import FleetEvaluator
from accelwatch.schema.device import DeviceState
from accelwatch.schema.event import Category, ErrorEvent
from accelwatch.schema.snapshot import DeviceView
from accelwatch.schema.stream.context import Event
from support.fleet.hub_peers import stream_bytes
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines


class Stream:
    """A node whose stream goes on, and how often it was urgent."""

    def __init__(self) -> None:
        self.bench = Bench("a")
        self.key = self.bench.targets["a"].key
        self.times = 0
        self.bench.fleet.hurry = self._hurry
        self.bench.report("a", machines.view(0), machines.view(1))

    def _hurry(self) -> None:
        self.times += 1

    def tick(self, *views: DeviceView) -> None:
        sent = stream_bytes(machines.snapshot(*views, time=self.bench.clock.wall()))
        for message, size in FrameReader(1 << 20).feed(sent):
            if isinstance(message, RawTick):
                tick = msgspec.structs.replace(message, sequence=message.sequence + 1)
                self.bench.fleet.accept(self.key, tick, size)


def lost(stream: Stream) -> None:
    stream.tick(machines.view(0), machines.view(1, state=DeviceState.LOST))


def gone(stream: Stream) -> None:
    stream.tick(machines.view(0))


def event(stream: Stream) -> None:
    xid = ErrorEvent(
        time=stream.bench.clock.wall(),
        code="xid_79",
        category=Category.BUS,
        text="fallen off the bus",
        source="nvml",
        device_id=machines.device(0).id,
    )
    stream.bench.fleet.accept(stream.key, Event(sequence=1, event=xid), 100)
    stream.tick(machines.view(0), machines.view(1))


@pytest.mark.parametrize("happens", [lost, gone, event])
def test_a_state_an_event_and_a_device_that_goes_are_urgent(
    happens: Callable[[Stream], None],
) -> None:
    stream = Stream()
    assert stream.times == 0, "what a stream begins with is not"
    stream.tick(machines.view(0), machines.view(1))
    assert stream.times == 0, "nor are numbers"
    happens(stream)
    assert stream.times == 1


def test_rules_are_judged_early_when_something_is_urgent() -> None:
    async def scenario() -> None:
        bench = Bench("a")
        evaluator = FleetEvaluator(bench.fleet)
        evaluator.pace(3600.0)
        bench.fleet.hurry()
        async with asyncio.timeout(60.0):
            await evaluator.wait()
        again = asyncio.ensure_future(evaluator.wait())
        await asyncio.sleep(0.2)
        assert not again.done(), "once only"
        bench.fleet.hurry()
        async with asyncio.timeout(60.0):
            await again

    asyncio.run(scenario())

"""Who falls silent is reported within seconds, where a probe may come of it."""

import asyncio
from collections.abc import Sequence

import pytest

from accelwatch.alerting.rules.timing import LEAST_SILENCE_S
from accelwatch.base.clock import Clock
from accelwatch.fleet.remedies.node_status import NodeStatusReader
from accelwatch.fleet.remedies.turns import EVERY_S, Turns
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.state.nodes.node import Node
from accelwatch.fleet.target import targets_of
from remediation.virtual_time import LoopClock, VirtualLoop, run
from support.fleet.manual_fleet import THRESHOLDS
from support.fleet.two_nodes import view


class Site:
    """Two nodes that have spoken once, and who was reported to have turned, with the time."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.fleet = Fleet(clock, THRESHOLDS, None)
        self.targets = targets_of(["a", "b"], {})
        self.fleet.set_targets(self.targets)
        self.reader = NodeStatusReader(self.fleet)
        self.started = clock.monotonic()
        self.notified: list[tuple[str, float]] = []
        self.wanted = True
        self.turns = Turns(self.fleet, self.reader, self.on_turned, lambda: self.wanted)
        for target in self.targets:
            self.speak(target.key)
        for node in self.fleet.nodes.values():
            self.reader.status_of(node, (), "resume")

    def speak(self, key: str) -> None:
        now = self.clock.wall()
        self.fleet.read(key, [view(0, sample_time=now)], now, 1.0)

    def on_turned(self, turned: Sequence[Node]) -> None:
        for node in turned:
            self.notified.append((node.name, self.clock.monotonic() - self.started))
            self.reader.status_of(node, (), "resume")

    async def plays(self, seconds: float) -> None:
        """Looks go on; `b` speaks every second, `a` not again before the fifth."""
        looking = asyncio.create_task(self.turns.run())
        for second in range(1, int(seconds) + 1):
            await asyncio.sleep(1.0)
            self.speak(self.targets[1].key)
            if second == 5:
                self.speak(self.targets[0].key)
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


def played(*, wanted: bool = True) -> list[tuple[str, float]]:
    loop = VirtualLoop()
    site = Site(LoopClock(loop))
    site.wanted = wanted
    run(loop, site.plays(6.0))
    site.fleet.close()
    return site.notified


def test_it_is_published_as_soon_as_it_falls_silent_and_when_it_answers_again() -> None:
    (silent, at), (back, then) = played()
    assert (silent, back) == ("a", "a")
    assert LEAST_SILENCE_S < at <= LEAST_SILENCE_S + EVERY_S
    assert 5.0 <= then <= 5.0 + EVERY_S


def test_nobody_looks_where_nothing_comes_of_it() -> None:
    assert played(wanted=False) == []


def test_after_everything_was_held_up_what_has_arrived_is_taken_up_first() -> None:
    loop = VirtualLoop()
    site = Site(clock := LoopClock(loop))

    async def scenario() -> None:
        looking = asyncio.create_task(site.turns.run())
        await asyncio.sleep(0)
        loop._skipping.now += LEAST_SILENCE_S + 1.0  # the process was stopped meanwhile
        await asyncio.sleep(EVERY_S / 2)
        for target in site.targets:
            site.speak(target.key)
        await asyncio.sleep(1.0)
        looking.cancel()

    run(loop, scenario())
    assert clock is site.clock
    assert site.notified == []
    site.fleet.close()


def test_a_mistake_ends_no_look_for_good(caplog: pytest.LogCaptureFixture) -> None:
    loop = VirtualLoop()
    site = Site(LoopClock(loop))
    report_first, mistakes = site.turns._report, [ValueError("one mistake")]

    def report(nodes: Sequence[Node]) -> None:
        if mistakes:
            raise mistakes.pop()
        report_first(nodes)

    site.turns._report = report
    run(loop, site.plays(70.0))
    assert "a look for nodes that fall silent failed" in caplog.text
    assert [name for name, at in site.notified if at > 60.0] == ["a"]
    site.fleet.close()

"""A node of several sources, and news of the past: which of them decides what is said of the node."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.follow.frames import FrameReader, RawTick
from accelwatch.fleet.state.history import STEP_S
from accelwatch.fleet.target import targets_of
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number, Reading
from accelwatch.schema.snapshot import DeviceView
from support.fleet.hub_peers import stream_bytes
from support.fleet.manual_fleet import Bench
from support.machines import composed as machines

REFUSED = TargetFault(Reason.CONNECT, "refused")


def only(values: dict[Series, Number]) -> DeviceView:
    return machines.view(0, reading=Reading(device_id=machines.device(0).id, values=values))


def test_a_known_node_is_down_only_when_none_of_its_sources_can_be_reached(tmp_path: Path) -> None:
    async def main() -> None:
        first = Bench("a", folder=tmp_path)
        first.report("a", machines.view(0))
        await first.fleet.flush()
        first.fleet.close()
        bench = Bench("a", folder=tmp_path)
        one, other = targets_of(["a", "a:9400"])
        bench.fleet.set_targets([one, other])
        bench.fleet.fail(one.key, REFUSED)
        bench.clock.advance(11)
        assert bench.state("a") == "stale"
        bench.fleet.fail(other.key, REFUSED)
        assert bench.state("a") == "down"
        bench.fleet.close()

    asyncio.run(main())


async def acknowledged() -> Bench:
    """A node that last answered 40 seconds ago, and taken note of as down."""
    bench = Bench("a")
    bench.report("a", machines.view(0))
    bench.clock.advance(40)
    await bench.fleet.acknowledge("a")
    assert note(bench) == bench.clock.wall()
    return bench


def note(bench: Bench) -> float | None:
    expected = bench.fleet.nodes["a"].expected
    assert expected is not None
    return expected.acknowledged


@pytest.mark.parametrize(
    ("later_s", "age_s", "taken_back"),
    [
        (10.0, 45.0, False),  # written before, and the node is down with it
        (100.0, 40.0, True),  # written after, though the node is down with it
        (1.0, 5.0, True),  # written before, and the node is up with it
    ],
)
def test_an_acknowledgement_is_taken_back_by_news_of_after_it_or_by_a_node_that_lives(
    later_s: float, age_s: float, taken_back: bool
) -> None:
    async def main() -> None:
        bench = await acknowledged()
        bench.clock.advance(later_s)
        bench.fleet.read(bench.targets["a"].key, [machines.view(0)], None, 1.0, age_s)
        assert (note(bench) is None) is taken_back
        bench.fleet.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("step", "gaps", "restarts"),
    [(1, 0, 0), (2, 1, 0), (100_001, 100_000, 0), (100_002, 0, 1), (0, 0, 1), (-3, 0, 1)],
)
def test_ticks_that_are_missing_are_a_gap_and_far_too_many_another_stream(
    step: int, gaps: int, restarts: int
) -> None:
    bench = Bench("a")
    bench.report("a", machines.view(0))
    source = bench.fleet.source(bench.targets["a"].key)
    assert source is not None
    source.start_stream()
    for message, size in FrameReader(1 << 20).feed(
        stream_bytes(machines.snapshot(machines.view(0)))
    ):
        if not isinstance(message, RawTick):
            source.accept(message, size, machines.NOW, 0.0)
            continue
        for sequence in (10, 10 + step):
            tick = msgspec.structs.replace(message, sequence=sequence)
            source.accept(tick, size, machines.NOW, 0.0)
    assert (source.gaps_total, source.restarts_total) == (gaps, restarts)


def test_history_is_of_all_sources_of_a_node() -> None:
    bench = Bench("a")
    one, other = targets_of(["a", "a:9400"])
    bench.fleet.set_targets([one, other])
    for _ in range(2):
        bench.fleet.read(one.key, [only({("power_watts",): 300.0})], None, 1.0)
        bench.fleet.read(other.key, [only({("utilization_ratio",): 0.5})], None, 1.0)
        bench.clock.advance(STEP_S)
    history = bench.fleet.history.of_device(bench.fleet.nodes["a"], machines.device(0).id)
    assert history["power_watts",][-2] == 300.0
    assert history["utilization_ratio",][-2] == 0.5


def test_the_age_of_a_node_is_that_of_its_last_news() -> None:
    bench = Bench("a", "b")
    bench.report("a", machines.view(0))
    bench.clock.advance(7)
    now = bench.clock.monotonic()
    assert bench.fleet.nodes["a"].age_s(now) == 7.0
    assert bench.fleet.nodes["b"].age_s(now) is None


def test_a_broken_connection_of_a_slow_target_is_waited_for_three_of_its_intervals() -> None:
    bench = Bench("a")
    key = bench.targets["a"].key
    bench.fleet.read(key, [machines.view(0)], None, 10.0)
    bench.fleet.fail(key, REFUSED)
    bench.clock.advance(30)
    assert bench.state("a") in ("slow", "stale")
    bench.clock.advance(1)
    assert bench.state("a") == "down"

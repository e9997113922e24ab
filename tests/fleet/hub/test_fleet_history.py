"""The hub keeps what the fleet came to over the last hour, and shows it."""

import asyncio
import itertools
from collections import Counter

import pytest

from accelwatch.base.clock import SystemClock
from accelwatch.config.model import Web
from accelwatch.fleet.api.fleet_history import NAMES, STEP_S, STEPS, KeptTotals, numbers_of
from accelwatch.fleet.api.query.totals import Totals
from accelwatch.fleet.hub.model import HubSettings
from accelwatch.fleet.scrape_settings import Scrape
from accelwatch.fleet.targets.settings import Targets
from support.fleet.hub_peers import agent, served_hub
from support.fleet.hub_sources import follow
from support.machines import composed as machines


class Clock(SystemClock):
    """Stands where it is put."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return 1_800_000_000.0 + self.now


def totals(load: float | None, ok: int = 8, **others: int) -> Totals:
    one = Totals()
    one.states = Counter({"ok": ok, **others})
    if load is not None:
        one.means["utilization_ratio"] = load
        one.sums["power_watts"] = 1000.0 * load
    return one


async def looked(kept: KeptTotals, clock: Clock, *steps: int) -> None:
    for step in steps:
        clock.now = 1000.0 + step * STEP_S
        await kept.refresh()


def test_steps_stand_oldest_first_and_those_without_a_count_are_null() -> None:
    loads = itertools.count(1)

    async def sums() -> Totals:
        return totals(next(loads) / 10)

    clock = Clock()
    kept = KeptTotals(clock, sums)
    asyncio.run(looked(kept, clock, 0, 1, 4))
    document = kept.document()
    assert document.values["utilization_ratio"][-5:] == [0.1, 0.2, None, None, 0.3]
    assert document.values["power_watts"][-1] == pytest.approx(300.0)
    assert document.values["utilization_ratio"][:-5] == [None] * (STEPS - 5)
    assert document.end == "2027-01-15T08:20:40.000Z"
    assert document.step_s == STEP_S


def test_the_same_step_counted_twice_has_the_later_count() -> None:
    loads = iter([0.2, 0.4])

    async def sums() -> Totals:
        return totals(next(loads))

    clock = Clock()
    kept = KeptTotals(clock, sums)
    asyncio.run(looked(kept, clock, 0, 0))
    assert kept.document().values["utilization_ratio"][-2:] == [None, 0.4]


@pytest.mark.parametrize("away", [STEPS - 1, STEPS, 3 * STEPS + 7])
def test_what_is_older_than_the_ring_is_gone(away: int) -> None:
    async def sums() -> Totals:
        return totals(0.5)

    clock = Clock()
    kept = KeptTotals(clock, sums)
    asyncio.run(looked(kept, clock, 0, away))
    line = kept.document().values["utilization_ratio"]
    assert line[1:] == [*[None] * (STEPS - 2), 0.5]
    assert line[0] == (0.5 if away < STEPS else None)


def test_nothing_is_reported_before_the_first_count() -> None:
    async def sums() -> Totals:
        raise AssertionError

    assert KeptTotals(Clock(), sums).document().values == {}


@pytest.mark.parametrize(
    ("states", "devices", "silent"),
    [
        ({"ok": 5, "degraded": 2}, 7.0, 0.0),
        ({"ok": 5, "lost": 1, "stale": 2}, 8.0, 3.0),
        ({"unreachable": 4}, 4.0, 4.0),
    ],
)
def test_what_does_not_answer_is_counted(
    states: dict[str, int], devices: float, silent: float
) -> None:
    one = Totals()
    one.states = Counter(states)
    numbers = dict(zip(NAMES, numbers_of(one), strict=True))
    assert (numbers["devices"], numbers["devices_not_answering"]) == (devices, silent)
    assert str(numbers["power_watts"]) == "nan"


def test_a_fleet_without_devices_has_no_numbers() -> None:
    assert {str(one) for one in numbers_of(Totals())} == {"nan"}


def test_a_hub_feeds_its_dashboard() -> None:
    async def main() -> None:
        async with agent() as node:
            settings = HubSettings(
                targets=Targets(static=(node.address,), refresh_s=0.05),
                scrape=Scrape(timeout_s=0.5, max_backoff_s=0.1, interval_s=0.1),
                web=Web(listen_address=("127.0.0.1:0",)),
            )
            async with (
                served_hub(settings, interval_s=0.05) as running,
                follow(running.base) as source,
            ):
                kept, count = running.server.totals, len(machines.snapshot().devices)
                async with asyncio.timeout(60.0):
                    while kept.document().values.get("devices", [None])[-1] != count:
                        await kept.refresh()
                        await asyncio.sleep(0.01)
                document, again = None, await running.get("/v1/fleet/history")
                # As long as neither a count nor a step comes between the two.
                async with asyncio.timeout(60.0):
                    while document != again:
                        document = again
                        past = await source.fleet_history()
                        again = await running.get("/v1/fleet/history")
        assert past is not None
        assert past.values == document["values"]
        assert past.values["devices_not_answering"][-1] == 0

    asyncio.run(main())

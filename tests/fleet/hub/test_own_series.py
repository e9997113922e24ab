"""What a hub's own metrics say of its targets."""

import asyncio

from accelwatch.base.clock import ManualClock
from accelwatch.base.slices import Turns
from accelwatch.fleet.api.own import own_series
from accelwatch.fleet.api.query.totals import Totals
from accelwatch.fleet.follow.failures.faults import Reason, TargetFault
from accelwatch.fleet.state.fleet import Fleet
from accelwatch.fleet.target import targets_of
from accelwatch.schema.metrics import Series
from accelwatch.schema.reading import Number
from support.fleet.manual_fleet import THRESHOLDS
from support.machines import composed as machines


def test_failures_are_reported_of_each_target_of_a_node() -> None:
    fleet = Fleet(ManualClock(wall=machines.NOW), THRESHOLDS, None)
    ours, theirs = targets_of(["n1:9877", "n1:9400"])
    fleet.set_targets([ours, theirs])
    for _ in range(3):
        fleet.fail(theirs.key, TargetFault(Reason.CONNECT, "refused"))

    async def current_series() -> dict[Series, Number]:
        async with Turns().walk() as walk:
            return await own_series(fleet, Totals(), walk)

    found = asyncio.run(current_series())
    assert found["fleet_target_failures_total", "n1", "n1:9400"] == 3
    assert found["fleet_target_failures_total", "n1", "n1:9877"] == 0

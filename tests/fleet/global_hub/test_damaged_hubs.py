"""Hubs below whose messages decode and cannot be true: they are left out, and the others are shown."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from accelwatch.fleet.picture.model import FIELDS
from accelwatch.fleet.wire import DeviceNow, FleetHello, FleetTick
from accelwatch.web.http.stream import MSGPACK
from support.fleet.canned_hubs import CannedHub, serving
from support.fleet.global_hubs import following_hubs, until_fleet
from support.incidents.remedy_documents import page

Change = Callable[[FleetTick], FleetTick]
_replace = msgspec.structs.replace


class DamagedHub(CannedHub):
    """A hub whose tick or hello is another than it should be."""

    damage: Change = staticmethod(lambda tick: tick)
    interval_s = 1.0
    fields = FIELDS

    def hello(self) -> FleetHello:
        return FleetHello(interval_s=self.interval_s, fields=self.fields)

    def tick(self) -> FleetTick:
        devices = (DeviceNow(0, "ok", "ok", 0.1, (0.5,) * len(FIELDS)),)
        return self.damage(_replace(super().tick(), devices=devices))


def _sums(**fields: object) -> Change:
    return lambda tick: _replace(tick, fleet=_replace(tick.fleet, **fields))


def _device(slot: int, values: int) -> Change:
    device = DeviceNow(slot, "ok", "ok", 0.1, (0.5,) * values)
    return lambda tick: _replace(tick, devices=(device,))


DAMAGES: dict[str, tuple[Change, str]] = {
    "fewer values": (_device(0, 1), "values that are not"),
    "a negative slot": (_device(-1, len(FIELDS)), "a device without a place"),
    "no time": (_sums(time="yesterday"), "not a time: 'yesterday'"),
    "too many bytes": (_sums(memory_size_bytes=2**64 - 1), "a count that cannot be"),
    "too many nodes": (_sums(nodes={"up": 2**63}), "a count that cannot be"),
    "fewer than none": (_sums(devices_total=-1), "a count that cannot be"),
    "no sum": (_sums(power_watts=float("nan")), "a sum that is no number"),
    "no mean": (_sums(utilization_ratio=float("inf")), "a sum that is no number"),
    "no moment": (lambda tick: _replace(tick, time=float("nan")), "a tick of no time"),
}


async def _check_the_other_is_shown(damaged: DamagedHub, text: str) -> None:
    whole = DamagedHub(page(), "n1")
    async with serving(whole, damaged) as endpoints, following_hubs(endpoints) as upper:
        fleet = await until_fleet(upper, lambda fleet: text in fleet.hubs[1].fault)
        fleet = await until_fleet(upper, lambda fleet: fleet.nodes_total == 1)
        assert (fleet.hubs[1].state, fleet.hubs[1].age_s) == ("down", None)
        nodes = (await upper.get("/v1/fleet"))["nodes_total"]
        assert nodes == 1
        headers = {"Accept": MSGPACK}
        async with upper.session.get(f"{upper.base}/v1/stream", headers=headers) as response:
            assert response.status == 200
            received = b""
            while received.count(b"\xa4tick") < 2:
                chunk = await response.content.readany()
                assert chunk
                received += chunk


@pytest.mark.parametrize("name", DAMAGES)
def test_a_hub_with_a_tick_that_cannot_be_costs_its_own_part(name: str) -> None:
    damaged = DamagedHub(page(), "n2")
    damaged.damage, text = DAMAGES[name]
    asyncio.run(_check_the_other_is_shown(damaged, text))


@pytest.mark.parametrize("interval_s", [0.0, float("nan"), float("inf"), 3601.0])
def test_an_interval_that_is_none_is_refused(interval_s: float) -> None:
    damaged = DamagedHub(page(), "n2")
    damaged.interval_s = interval_s
    asyncio.run(_check_the_other_is_shown(damaged, f"an interval of {interval_s:g} s"))


def test_fields_in_another_order_are_refused() -> None:
    damaged = DamagedHub(page(), "n2")
    damaged.fields = FIELDS[::-1]
    asyncio.run(_check_the_other_is_shown(damaged, "fields that were not asked for"))

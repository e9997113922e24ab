"""A picture of many devices is made in steps, so that a hub over hubs does not hold its event loop."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from accelwatch.base import slices
from accelwatch.base.slices import LongWork, at_once, in_slices
from accelwatch.fleet.hub_client.several import source as source_of_several
from accelwatch.fleet.hub_client.several.hub_picture import HubPicture
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.hub_client.several.source import SeveralHubs
from accelwatch.fleet.targets.hub_endpoint import HubEndpoint
from support.dashboards.fleets import fleet_view
from support.fleet.hub_peers import agent
from support.fleet.several_hubs import hub_of, until
from support.processes.idle_loop import IdleClock

HUBS = ("pod-1", "pod-2")
NODES = 150


def pictures() -> dict[int, HubPicture]:
    """Of two hubs with machines of their own, 1,200 devices each."""
    view, replace = fleet_view(NODES), msgspec.structs.replace
    other = replace(
        view,
        nodes=[replace(node, node=f"b{node.node}") for node in view.nodes],
        slots=[slot and replace(slot, node=f"b{slot.node}", uuid="") for slot in view.slots],
    )
    return {0: HubPicture(view=view), 1: HubPicture(view=other, age_s=2.0)}


def test_no_step_has_more_than_500_devices() -> None:
    steps = SeveralPicture(HUBS).steps(pictures(), "", {})
    # A step for the nodes of each hub, three for its devices, and the rest.
    assert len(list(steps)) == 2 * (1 + 3)


def test_steps_come_to_the_same_however_they_are_made() -> None:
    expected = SeveralPicture(HUBS).view(pictures(), "", {})
    assert len(expected.devices) == 2 * NODES * 8
    assert at_once(SeveralPicture(HUBS).steps(pictures(), "", {})) == expected
    sliced = in_slices(SeveralPicture(HUBS).steps(pictures(), "", {}), LongWork())
    assert asyncio.run(sliced) == expected


def test_one_that_is_being_made_is_shown_when_it_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each question makes a picture, and each step of one in slices is a turn of its own.
    monkeypatch.setattr(source_of_several, "_LEAST_PAUSE", 0.0)
    monkeypatch.setattr(slices, "SLICE_S", 0.0)

    async def main() -> None:
        async with agent() as one, hub_of(tmp_path / "a", {"n1": one.address}) as below:
            await below.devices("n1", 8)
            endpoint = HubEndpoint(name="pod-1", base=below.base)
            source = SeveralHubs([endpoint], clock=IdleClock(), remade_s=0.0)
            following = asyncio.create_task(source.run(lambda: None))
            await until(source, lambda view: len(view.devices) == 8)
            before = source.fleet()
            making = [asyncio.create_task(source.remake()) for _ in range(2)]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert source.fleet() is before
            await asyncio.gather(*making)
            # Both have waited for one picture, and this question makes the next.
            after = source.fleet()
            assert before is not None
            assert after is not None
            assert after.sequence == before.sequence + 2
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    asyncio.run(main())


class LateClock(IdleClock):
    """Others on the event loop have needed so much of the time."""

    late_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.late_s


def test_one_whose_slices_had_to_wait_is_not_made_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE_S", 0.0)

    async def main() -> None:
        async with agent() as one, hub_of(tmp_path / "a", {"n1": one.address}) as below:
            await below.devices("n1", 8)
            endpoint = HubEndpoint(name="pod-1", base=below.base)
            clock = LateClock()
            source = SeveralHubs([endpoint], clock=clock, remade_s=600.0)
            following = asyncio.create_task(source.run(lambda: None))
            before = await until(source, lambda _view: True)
            clock.late_s += 600.0
            making = asyncio.create_task(source.remake())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not making.done()
            clock.late_s += 600.0
            await making
            after = source.fleet()
            assert after is not None
            assert after.sequence == before.sequence + 1
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    asyncio.run(main())

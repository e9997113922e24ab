"""What the screens of one machine show of a node of a fleet: its owners, and why it has no device."""

import asyncio

import msgspec
import pytest

from accelwatch.schema.snapshot import BackendState, BackendStatus, DeviceView, Owner, Snapshot
from accelwatch.tui.local.devices import cells as device_cells
from accelwatch.tui.local.sources.replay import ReplaySource
from support.dashboards.fleets import FAULTS, FedFleet, FleetStage, fleet_view, on
from support.dashboards.local import (
    JOB,
    FedSource,
    Stage,
    board_of,
    driverless,
    empty_node,
    lost,
    node,
    owned,
    running,
)

POD = Owner(kind="kubernetes", namespace="research", pod="llama-0", container="main")


def with_backends(*found: BackendStatus) -> Snapshot:
    """A machine without a device, and what became of its backends."""
    return msgspec.structs.replace(empty_node(), backends=found)


FORGOTTEN = BackendStatus(
    name="hub",
    vendor="",
    state=BackendState.UNAVAILABLE,
    reason="stale",
    message="the hub does not know n003 any more",
)
ABSENT = BackendStatus(name="amd", vendor="amd", state=BackendState.ABSENT)
HOST = BackendStatus(name="host", vendor="host", state=BackendState.OK)


def work(*owners: Owner) -> str:
    """What is said of a device with these owners."""
    view: DeviceView = owned(node(1), *owners).devices[0]
    return device_cells.work(view)


def test_an_owner_is_shown_as_job_or_pod_and_user_or_namespace() -> None:
    other = msgspec.structs.replace(JOB, job_id="48122", user="grace")
    assert work(JOB) == "48121 ada"
    assert work(POD) == "llama-0 research"
    assert work(JOB, other) == "2 jobs ada,grace"
    nobody = msgspec.structs.replace(JOB, user="")
    assert work(nobody) == "48121 3 users"


@pytest.mark.parametrize("width", [101, 120, 134, 140, 150, 200])
def test_owners_are_shown_where_there_is_room_and_one_is_known(width: int) -> None:
    async def go() -> None:
        async with running(FedSource(node(8)), (width, 40)) as stage:
            assert "WORK " not in stage.text()
            await stage.feed(owned(node(8, d3=lost(3)), JOB))
            heading = stage.line_with("DEVICE ")
            at = heading.index("WORK")
            assert stage.line_with(" nvidia1")[at:].startswith("48121 ada")
            assert stage.line_with(" nvidia3")[at:].startswith("48121 ada")
            for title in ("STATE", "LOAD", "MEMORY", "TEMP", "POWER", "FLAGS"):
                assert title in heading

    asyncio.run(go())


def test_a_block_and_a_heat_grid_show_the_owner_too() -> None:
    async def go() -> None:
        async with running(FedSource(owned(node(1), JOB)), (120, 40)) as stage:
            assert "work 48121 ada" in stage.text()
            await stage.feed(owned(node(64), JOB))
            assert "48121 ada" in stage.line_with(" nvidia0")

    asyncio.run(go())


def test_where_there_is_no_room_the_owner_stands_above_the_graphs() -> None:
    async def go() -> None:
        async with running(FedSource(owned(node(8), POD)), (80, 30)) as stage:
            assert "llama-0 research" in stage.line_with("last 5 min")

    asyncio.run(go())


def test_what_holds_clocks_down_is_called_throttling() -> None:
    async def go() -> None:
        async with running(FedSource(node(8)), (150, 40)) as stage:
            assert "THROTTLED" in stage.text()
            assert "HELD BY" not in stage.text()

    asyncio.run(go())


def test_signals_are_offered_only_where_they_can_be_sent() -> None:
    async def here(stage: Stage) -> None:
        for key in ("1", "4"):
            await stage.press(key)
            assert "K signal" in stage.text().splitlines()[-1]

    async def there(stage: Stage, *keys: str) -> None:
        await stage.press(*keys)
        for key in ("1", "4"):
            await stage.press(key)
            assert "/ filter" in stage.text().splitlines()[-1]
            assert "signal" not in stage.text().splitlines()[-1]
        await stage.press("question_mark")
        page = ""
        for _ in range(4):
            page += stage.text()
            await stage.press("pagedown")
        assert "Tag the process" in page
        assert "Signal the tagged" not in page

    async def go() -> None:
        async with running(FedSource(node(8)), (140, 40)) as stage:
            await here(stage)
        async with running(FedSource(node(8)), (140, 40), readonly=True) as stage:
            await there(stage)
        async with running(ReplaySource(OneShot()), (140, 40), board=board_of()) as stage:
            await there(stage)

    asyncio.run(go())

    async def check(stage: FleetStage) -> None:
        await there(stage, "enter")

    on(check)


class OneShot:
    """A recording of one snapshot."""

    def times(self) -> list[float]:
        return [1_800_000_000.0]

    def at(self, index: int) -> Snapshot:
        return msgspec.structs.replace(node(8), time=self.times()[index])

    def close(self) -> None:
        """Nothing is held."""


def test_a_node_without_devices_says_what_the_hub_says() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("enter")
        stage.app.pull()
        await stage.pilot.pause()
        assert "no device of n003 is known" in stage.text()
        assert "▲ hub: the hub does not know n003 any more" in stage.text()
        assert "Esc leads back" in stage.text()
        await stage.press("3")
        assert "the hub does not know n003 any more" in stage.text()
        await stage.press("4")
        assert "PID" in stage.text()

    on(check, source=FedFleet(fleet_view(faults=FAULTS), with_backends(FORGOTTEN)), size=(80, 24))


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["enter"], "the node is down"),
        (["end", "up", "enter"], "the node answers, but reports no accelerator"),
    ],
)
def test_of_a_node_without_backends_its_state_is_shown(keys: list[str], text: str) -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press(*keys)
        stage.app.pull()
        await stage.pilot.pause()
        assert text in stage.text()

    on(check, source=FedFleet(fleet_view(faults=FAULTS), with_backends(ABSENT)))


@pytest.mark.parametrize("size", [(40, 12), (80, 24), (140, 40)])
def test_a_machine_without_devices_shows_the_reason_and_the_remedy(size: tuple[int, int]) -> None:
    async def go() -> None:
        async with running(FedSource(driverless()), size) as stage:
            text = " ".join(stage.text().split())
            assert "no accelerator was found" in text
            assert "▲ nvidia: the kernel module does not answer" in text
            if size[1] > 12:
                assert "load it with modprobe nvidia" in text
                assert "6 shows what backends searched for" in text
            await stage.feed(with_backends(ABSENT))
            text = " ".join(stage.text().split())
            assert "nothing of the kind that these backends read is here: amd" in text
            assert "accelwatch demo shows a simulated" in text
            await stage.feed(with_backends(HOST, ABSENT))
            text = " ".join(stage.text().split())
            assert "is here: amd" in text, "the host is no accelerator that could be here"

    asyncio.run(go())


def test_a_filter_of_devices_that_nothing_matches_is_shown() -> None:
    async def go() -> None:
        async with running(FedSource(node(8))) as stage:
            await stage.press("slash", *"nothing", "enter")
            assert "no device matches nothing" in stage.text()
            assert "Esc shows all" in stage.text()
            await stage.press("escape")
            assert "no device matches" not in stage.text()

    asyncio.run(go())

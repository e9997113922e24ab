"""Key 7: what has happened on this machine, in a fleet, in a recording, and where Enter leads."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.local.sources.replay import ReplaySource
from support.dashboards.fleets import FedFleet, FleetStage, event, fleet_view
from support.dashboards.fleets import on as on_fleet
from support.dashboards.local import FedSource, Stage, board_of, lost, node, running
from support.machines.composed import NOW

Check = Callable[[Stage], Awaitable[None]]


def plain_node(second: float, *, gone: bool = False) -> Snapshot:
    """Four devices without events; nvidia3 is lost or not since that second."""
    shot = node(4, d3=lost(3)) if gone else node(4)
    views = tuple(msgspec.structs.replace(one, state_since=NOW + second) for one in shot.devices)
    return msgspec.structs.replace(shot, time=NOW + second, devices=views, events=(), errors=())


def on(check: Check, size: tuple[int, int] = (120, 30)) -> None:
    async def go() -> None:
        async with running(FedSource(plain_node(-400)), size) as stage:
            await check(stage)

    asyncio.run(go())


def test_a_state_and_its_end_are_one_row_and_enter_goes_to_the_device() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("7")
        assert stage.screen_name == "events"
        assert "Nothing has happened since the start" in stage.text()
        await stage.feed(plain_node(-300, gone=True))
        assert "1 ongoing  ✕ 1 critical  0 resolved" in stage.text()
        assert " lost " in stage.line_with("nvidia3")
        assert "for 5 min 00 s" in stage.line_with("nvidia3")
        await stage.feed(plain_node(-147))
        assert "0 ongoing  1 resolved" in stage.text()
        assert ", 2 min 33 s" in stage.line_with("nvidia3")
        await stage.press("enter")
        assert stage.screen_name == "device"
        assert stage.app.board.selected_id == "nvidia:3"

    on(check)


def test_the_selection_stays_with_its_change_when_newer_ones_come() -> None:
    async def check(stage: Stage) -> None:
        await stage.feed(plain_node(-300, gone=True))
        await stage.feed(plain_node(-290))
        await stage.feed(plain_node(-200, gone=True))
        await stage.feed(plain_node(-190))
        await stage.press("7", "down")
        screen = stage.app.screen
        before = screen.selected  # type: ignore[attr-defined]
        await stage.feed(plain_node(-100, gone=True))
        assert screen.selected == before  # type: ignore[attr-defined]
        await stage.press("home")
        assert screen.selected.is_ongoing  # type: ignore[attr-defined]

    on(check)


def test_it_can_be_read_on_small_terminals() -> None:
    async def check(stage: Stage) -> None:
        await stage.feed(plain_node(-300, gone=True))
        await stage.press("7")
        assert " lost " in stage.line_with("nvidia3")

    on(check, (40, 12))


def test_enter_on_an_event_of_a_fleet_goes_to_the_device_of_its_node() -> None:
    reported = event(1, code="device_lost", device="nvidia:3", name="nvidia3")

    async def check(stage: FleetStage) -> None:
        await stage.press("7")
        assert stage.screen_name == "events"
        assert "n002 nvidia3" in stage.text()
        assert "1 ongoing" in stage.text()
        await stage.press("enter")
        assert stage.fed.opened == ["n002"]
        assert stage.screen_name == "device"
        assert stage.app.board.selected_id == "nvidia:3"
        await stage.press("7")
        assert stage.screen_name == "events"
        assert stage.fed.sources[0].ended

    on_fleet(check, source=FedFleet(fleet_view(events=(reported,))))


def test_an_event_of_a_node_that_is_gone_says_so() -> None:
    reported = event(1, code="node_down", node="n999", device="", name="")

    async def check(stage: FleetStage) -> None:
        await stage.press("7", "enter")
        assert "no node n999 in this fleet" in stage.text()
        assert stage.screen_name == "events"

    on_fleet(check, source=FedFleet(fleet_view(events=(reported,))))


class Film:
    """Snapshots a second apart."""

    def __init__(self, *shots: Snapshot) -> None:
        self._shots = shots

    def times(self) -> list[float]:
        return [shot.time for shot in self._shots]

    def at(self, index: int) -> Snapshot:
        return self._shots[index]

    def close(self) -> None:
        pass


def test_in_a_recording_enter_goes_to_the_time() -> None:
    shots = [plain_node(second, gone=10 <= second < 20) for second in range(30)]
    source = ReplaySource(Film(*shots))
    source.playing = False

    async def go() -> None:
        async with running(source, board=board_of()) as stage:
            source.seek(NOW + 15)
            stage.app.pull()
            await stage.pilot.pause()
            await stage.press("7")
            assert " lost " in stage.line_with("nvidia3")
            source.seek(NOW + 16)
            await stage.press("enter")
            assert stage.screen_name == "device"
            assert source.position == (11, 30)

    asyncio.run(go())

"""B, and Enter on an event: the moment from the black box, beside other files, in the whole."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from accelwatch.archive.blackbox.bounds import Bounds
from accelwatch.archive.blackbox.files import SUFFIX, Frozen
from accelwatch.archive.blackbox.locations import Box, boxes
from accelwatch.archive.blackbox.writer import Writer
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.events.changes import Change
from accelwatch.tui.views.blackbox.excerpt_page import ExcerptPage
from support.dashboards.fleets import FleetStage
from support.dashboards.fleets import on as on_fleet
from support.dashboards.local import FedSource, Stage, board_of, lost, node, running
from support.machines.composed import NOW
from support.processes.waiting import GUARD_S

Check = Callable[[Stage], Awaitable[None]]
SHORT = Bounds(before_s=60.0, after_s=5.0, segment_s=20.0, again_s=0.0)


def shot(second: int) -> Snapshot:
    """nvidia1 is lost from -100 on for 10 s, nvidia0 from -40 on."""
    gone = {}
    if -100 <= second < -90:
        gone = {"d1": msgspec.structs.replace(lost(1), state_since=NOW - 100)}
    if second >= -40:
        gone = {"d0": msgspec.structs.replace(lost(0), state_since=NOW - 40)}
    bare = msgspec.structs.replace(node(2, **gone), time=NOW + second, events=(), errors=())
    views = tuple(
        view if view.state == "lost" else msgspec.structs.replace(view, state_since=NOW + second)
        for view in bare.devices
    )
    return msgspec.structs.replace(bare, devices=views)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("box")
    writer = Writer(folder, SHORT)
    for second in range(-130, -20):
        writer.record(shot(second))
    writer.close()
    return folder


def on(check: Check, look: Callable[[], list[Box]] | None, seconds: tuple[int, ...]) -> None:
    async def go() -> None:
        board = board_of()
        board.boxes = look
        async with running(FedSource(shot(seconds[0])), (120, 40), board=board) as stage:
            for second in seconds[1:]:
                await stage.feed(shot(second))
            await check(stage)

    asyncio.run(go())


def test_b_on_a_device_opens_what_was_frozen_when_it_broke(folder: Path) -> None:
    async def check(stage: Stage) -> None:
        await stage.press("down", "B")
        await stage.until("What happened")
        assert stage.screen_name == "black box"
        assert "saved capture 2 of 2: nvidia1 lost" in stage.text()
        assert "→ newer · h all that is kept · Esc back" in stage.text()
        assert " black box " in stage.text().splitlines()[0]
        assert "nvidia1 lost  at " in stage.text()
        rows = [row for row in stage.text().splitlines() if " load " in row]
        assert [row.split()[0] for row in rows] == ["nvidia1", "nvidia0"]
        await stage.press("right")
        await stage.until("saved capture 1 of 2: nvidia0 lost")
        await stage.press("right")
        await stage.until("last 15 min · ← 2 saved captures")
        await stage.press("right", "left", "left", "left")
        await stage.until("saved capture 2 of 2: nvidia1 lost")
        await stage.press("escape")
        assert stage.screen_name == "local"

    on(check, lambda: boxes([folder]), (-21,))


def test_h_shows_all_that_is_kept(folder: Path) -> None:
    async def check(stage: Stage) -> None:
        await stage.press("down", "B")
        await stage.until("What happened")
        await stage.press("h")
        assert stage.screen_name == "black box"
        await stage.until("What happened")

    on(check, lambda: boxes([folder]), (-21,))


def test_enter_on_an_event_opens_the_file_that_has_it(folder: Path) -> None:
    async def check(stage: Stage) -> None:
        await stage.press("7", "down")
        assert stage.app.screen.selected.name == "nvidia1"  # type: ignore[attr-defined]
        await stage.press("enter")
        await stage.until("saved capture 2 of 2: nvidia1 lost")
        await stage.press("escape")
        assert stage.screen_name == "events"

    on(check, lambda: boxes([folder]), (-105, -95, -80, -30))


def page_of(name: str, *files: tuple[str, float]) -> ExcerptPage:
    page = ExcerptPage(f"id-of-{name}", name)
    frozen = [
        Frozen(path=Path(f"{device}-{at}"), time=NOW + at, device=device, reason="lost", bytes=1)
        for device, at in files
    ]
    page.list_boxes([Box(folder=Path("box"), frozen=tuple(frozen))])
    return page


def change_of(name: str) -> Change:
    return Change(key=name, label="lost", started_at=NOW, device_id=f"id-of-{name}", name=name)


@pytest.mark.parametrize(
    ("device", "at", "fits"),
    [
        ("nvidia3", -10.0, True),
        ("", -10.0, True),
        ("nvidia5", -10.0, False),
        ("nvidia3", -201.0, False),
        ("nvidia3", 6.0, False),
        ("", 6.0, False),
    ],
)
def test_a_change_is_in_a_file_that_its_device_or_the_machine_froze_then(
    device: str, at: float, *, fits: bool
) -> None:
    page = page_of("nvidia3", (device, at))
    assert page.choose(change_of("nvidia3")) is fits
    assert (page.requested is not None) is fits


def test_the_file_of_a_device_is_known_by_how_its_name_is_written_there() -> None:
    page = page_of("GPU 0:1", ("gpu_0_1", 0.0))
    assert page.choose(change_of("GPU 0:1"))
    assert page.choose(None)
    assert not page_of("", ("", 0.0)).choose(None)


def test_enter_on_an_event_beside_another_devices_freeze_leads_to_the_device(
    tmp_path: Path,
) -> None:
    others = tmp_path / f"20270115T075800Z-nvidia5-unresponsive{SUFFIX}"
    others.touch()
    assert boxes([tmp_path])[0].frozen[0].time == NOW - 120

    async def check(stage: Stage) -> None:
        await stage.press("7", "enter")
        async with asyncio.timeout(GUARD_S):
            while stage.screen_name != "device":
                await stage.pilot.pause(0.02)
        assert stage.app.board.selected_id == "nvidia:1"

    on(check, lambda: boxes([tmp_path]), (-105, -95))


def test_enter_on_an_event_that_froze_nothing_leads_to_the_device(tmp_path: Path) -> None:
    async def check(stage: Stage) -> None:
        await stage.press("7", "enter")
        async with asyncio.timeout(GUARD_S):
            while stage.screen_name != "device":
                await stage.pilot.pause(0.02)

    on(check, lambda: boxes([tmp_path]), (-105, -95))


def test_b_on_an_event_shows_the_last_minutes_where_nothing_is_frozen(tmp_path: Path) -> None:
    writer = Writer(tmp_path, SHORT)
    writer.record(shot(-105))

    async def check(stage: Stage) -> None:
        await stage.press("7", "B")
        await stage.until("What happened")
        assert "last 15 min" in stage.text()

    on(check, lambda: boxes([tmp_path]), (-105, -95))
    writer.close()


def test_where_nothing_is_kept_the_screen_says_so(tmp_path: Path) -> None:
    async def check(stage: Stage) -> None:
        await stage.press("B")
        await stage.until("no black box is kept here; an agent keeps one")

    on(check, lambda: boxes([tmp_path / "none"]), (-105,))


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "20270115T075820Z-nvidia0-lost.ndjson.zst").write_bytes(b"rubbish")

    async def check(stage: Stage) -> None:
        await stage.press("B")
        await stage.until("accelwatch/2")

    on(check, lambda: boxes([tmp_path]), (-105,))


def test_of_a_recording_the_command_is_named() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("B")
        assert "of a file: accelwatch blackbox show FILE" in stage.text()

    on(check, None, (-105,))


def test_of_a_fleet_each_node_has_its_own() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("enter", "B")
        assert "each node has its own black box" in stage.text()

    on_fleet(check)


def test_each_snapshot_is_kept_unless_that_is_switched_off() -> None:
    for wanted in (True, False):
        board = board_of(blackbox=wanted)
        kept: list[Snapshot] = []
        board.keep = kept.append
        for _ in board.note(shot(0)):
            pass
        assert len(kept) == wanted

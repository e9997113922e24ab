"""What each screen shows, at every size, in every theme, whatever the devices do."""

import asyncio
import re
from pathlib import Path

import msgspec
import pytest

from accelwatch.base.absence import Absence
from accelwatch.schema.snapshot import BackendState, BackendStatus, ReadFailure
from accelwatch.tui.drawing.lines import plain
from accelwatch.tui.local.devices.quantity_lines import LACKS
from accelwatch.tui.local.devices.quantity_names import quantity_name
from accelwatch.tui.theme.palettes import PALETTES
from accelwatch.tui.theme.preferences import Preferences, document, load, save
from accelwatch.tui.theme.preferences import path_of as preferences_path
from accelwatch.tui.widgets.row_list import RowList
from support.dashboards.local import (
    FedSource,
    Stage,
    board_of,
    empty_node,
    hung,
    lost,
    node,
    running,
    stale,
)

SIZES = [(40, 12), (40, 24), (60, 20), (80, 24), (120, 40), (200, 60)]
SCREENS = {"local": "1", "device": "3", "processes": "4", "doctor": "6", "help": "question_mark"}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_every_screen_works_at_every_size(size: tuple[int, int]) -> None:
    async def go() -> None:
        shot = node(8, d3=lost(3), d5=hung(5), d6=stale(6))
        async with running(FedSource(shot), size) as stage:
            for name, key in {**SCREENS, "settings": "f2"}.items():
                await stage.press(key)
                lines = stage.text().splitlines()
                assert stage.screen_name == name
                assert len(lines) == size[1]
                assert ("1 lost" if size[0] >= 80 else "✕1") in lines[0]
                assert "quit" in lines[-1]

    asyncio.run(go())


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_a_hung_device_has_one_clock_and_the_whole_of_what_to_do(size: tuple[int, int]) -> None:
    error = ReadFailure(
        backend="nvidia", device_id=hung(3).device.id, code="timeout", message="driver call stuck"
    )
    shot = msgspec.structs.replace(node(8, d3=hung(3)), errors=(error,))

    async def go() -> None:
        async with running(FedSource(shot), size=size) as stage:
            (row,) = [line for line in stage.text().splitlines() if line.startswith(" nvidia3")]
            assert "driver call stuck → kill its jobs; reset if still hung" in row
            assert "…" not in row
            assert len(re.findall(r"\d+ s\b", row)) == (size[0] > 80)

    asyncio.run(go())


@pytest.mark.parametrize("size", SIZES[:4], ids=lambda size: "x".join(map(str, size)))
@pytest.mark.parametrize("count", [1, 2, 8, 17, 300])
def test_any_number_of_devices_fits_any_size(count: int, size: tuple[int, int]) -> None:
    async def go() -> None:
        async with running(FedSource(node(count)), size) as stage:
            assert f"{count} ok" in stage.text()
            await stage.press("end")
            assert stage.app.board.selected_id == f"nvidia:{count - 1}"
            assert stage.text().count("PID") == 1

    asyncio.run(go())


@pytest.mark.parametrize("theme", PALETTES)
def test_every_theme_shows_states_in_words_and_signs(theme: str) -> None:
    async def go() -> None:
        shot = node(8, d3=lost(3), d5=hung(5), d6=stale(6))
        async with running(FedSource(shot), board=board_of(theme=theme)) as stage:
            text = stage.text()
            for word in ("✕ lost", "◌ hung", "◔ stale", "● ok"):
                assert word in text
            for key in SCREENS.values():
                await stage.press(key)

    asyncio.run(go())


def test_ascii_mode_draws_nothing_else() -> None:
    async def go() -> None:
        shot = node(8, d3=lost(3), d5=hung(5))
        async with running(FedSource(shot), board=board_of(ascii_only=True)) as stage:
            for keys in (*SCREENS.values(), "f2", "4 K", "escape s", "escape slash"):
                await stage.press(*keys.split())
                assert stage.text().isascii()

    asyncio.run(go())


def test_a_device_in_trouble_stays_where_it_was_and_the_others_go_on() -> None:
    async def go() -> None:
        async with running(FedSource(node())) as stage:
            before = [line.split()[0] for line in stage.text().splitlines()[3:11]]
            await stage.feed(node(8, d3=lost(3), d5=hung(5)))
            lines = stage.text().splitlines()[3:11]
            assert [line.strip("▌ ").split()[0] for line in lines] == [
                name.strip("▌") for name in before
            ]
            assert "10 min  the device is lost" in lines[3]
            assert "42 s  the device does not answer" in lines[5]
            assert "%" in lines[4]

    asyncio.run(go())


def test_the_header_shows_the_worst_state_first_and_the_age() -> None:
    async def go() -> None:
        shot = node(8, d3=lost(3), d5=hung(5))
        async with running(FedSource(shot)) as stage:
            head = stage.text().splitlines()[0]
            assert head.index("1 lost") < head.index("1 hung") < head.index("6 ok")
            assert "n01" in head
            assert "age 0.5 s 08:00:00" in head
            assert "nvidia 590.48.01" in stage.text().splitlines()[1]

    asyncio.run(go())


def test_before_the_first_reading_the_screen_says_so() -> None:
    async def go() -> None:
        async with running(FedSource(None)) as stage:
            assert "reading" in stage.text().splitlines()[0]
            assert "no accelerator" not in stage.text()

    asyncio.run(go())


def test_without_a_device_the_doctor_shows_why() -> None:
    absent = BackendStatus(
        name="nvidia",
        vendor="nvidia",
        state=BackendState.UNAVAILABLE,
        reason="library",
        message="libnvidia-ml.so.1 cannot be loaded",
        remedy="install the driver's libraries",
    )
    shot = msgspec.structs.replace(empty_node(), backends=(absent,))

    async def go() -> None:
        async with running(FedSource(shot)) as stage:
            assert "no accelerator" in stage.text()
            await stage.press("down", "enter", "3", "4", "6")
            assert "libnvidia-ml.so.1 cannot be loaded" in stage.text()
            assert "install the driver's libraries" in stage.text()

    asyncio.run(go())


def everything_on(stage: Stage) -> str:
    rows = stage.app.screen.query_one("#text").rows  # type: ignore[attr-defined]  # a RowList
    lines = rows.lines(stage.app.size.width)
    return "\n".join("".join(text for text, _ in line) for line in lines)


def test_the_device_screen_has_every_quantity_or_its_reason() -> None:
    async def go() -> None:
        async with running(FedSource(node())) as stage:
            await stage.press("3")
            text = everything_on(stage)
            reading = stage.app.board.devices[0].reading
            flat = " ".join(text.split())
            for series in (*reading.values, *reading.absent):
                assert quantity_name(series) in flat or quantity_name(series[:1]) in flat, series
            assert "of 700 W" in text
            assert "nvml" in text
            assert "not collected (--collect pipes): " in text
            assert "last 5 min" in stage.text()
            assert "last 60 min" in stage.text()

    asyncio.run(go())


@pytest.mark.parametrize("reason", list(Absence))
def test_every_reason_of_absence_is_spelt_out(reason: Absence) -> None:
    shot = node(1)
    one = shot.devices[0]
    values = {s: v for s, v in one.reading.values.items() if s != ("power_watts",)}
    absent = {**one.reading.absent, ("power_watts",): reason}
    reading = msgspec.structs.replace(one.reading, values=values, absent=absent)
    changed = msgspec.structs.replace(
        shot, devices=(msgspec.structs.replace(one, reading=reading),)
    )

    async def go() -> None:
        async with running(FedSource(changed), (140, 50)) as stage:
            await stage.press("3")
            line = next(row for row in everything_on(stage).splitlines() if LACKS[reason] in row)
            assert "power" in line

    asyncio.run(go())


def test_a_process_that_ends_is_shown_on_its_screen() -> None:
    async def go() -> None:
        async with running(FedSource(node())) as stage:
            await stage.press("4", "enter")
            assert stage.screen_name == "process"
            await stage.feed(empty_node())
            assert "this process has ended" in stage.text()
            await stage.press("escape")
            assert stage.screen_name == "processes"

    asyncio.run(go())


def test_many_readings_at_once_are_painted_once() -> None:
    async def go() -> None:
        source = FedSource(node())
        async with running(source) as stage:
            pulled = []
            read = source.snapshot
            source.snapshot = lambda: (pulled.append(1), read())[1]  # type: ignore[method-assign,func-returns-value]
            for _ in range(500):
                source.feed(node(2))
            while len(stage.app.board.devices) != 2:
                await stage.pilot.pause(0.01)
            assert 1 <= len(pulled) <= 2

    asyncio.run(go())


def test_preferences_come_back_from_their_own_document(tmp_path: Path) -> None:
    path = preferences_path({"XDG_CONFIG_HOME": str(tmp_path)})
    assert load(path) == (Preferences(), "")
    given = Preferences(theme="light", density="full", interval_s=5.0, tree=True)
    save(given, path)
    assert load(path) == (given, "")
    text = document(given)
    assert all(line.startswith("#") or ": " in line or not line for line in text.splitlines())
    path.write_text("theme: pink\ninterval_s: 0.001\n")
    found, complaint = load(path)
    assert (found.theme, found.interval_s) == ("safe", 0.25)
    assert "no theme 'pink'" in complaint
    path.write_text("theme: [1\n")
    assert load(path)[0] == Preferences()
    assert str(path) in load(path)[1]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    path = preferences_path({"XDG_CONFIG_HOME": str(tmp_path)})
    path.parent.mkdir(parents=True)
    victim = path.parent / "victim"
    victim.write_text("kept")
    path.symlink_to(victim)
    save(Preferences(), path)
    assert victim.read_text() == "kept"
    assert not path.is_symlink()


def test_the_clock_of_the_header_counts_between_readings() -> None:
    async def go() -> None:
        async with running(FedSource(node())) as stage:
            clock = stage.app.clock
            clock.advance(7.0)  # type: ignore[attr-defined]  # a ManualClock
            stage.app.screen.show_age()  # type: ignore[attr-defined]  # a View
            await stage.pilot.pause()
            assert "age 7.5 s" in stage.text().splitlines()[0]

    asyncio.run(go())


@pytest.mark.parametrize(("since_s", "age"), [(1.9, "0.5 s"), (2.1, "2.6 s")])
def test_a_picture_that_is_about_to_be_replaced_is_not_painted_twice(
    since_s: float, age: str
) -> None:
    async def go() -> None:
        async with running(FedSource(node())) as stage:
            assert stage.app.board.preferences.interval_s == 2.0
            stage.app.pull()
            await stage.pilot.pause()
            clock = stage.app.clock
            clock.advance(since_s)  # type: ignore[attr-defined]  # a ManualClock
            stage.app.snapshot_feed.second()
            await stage.pilot.pause()
            assert f"age {age}" in stage.text().splitlines()[0]

    asyncio.run(go())


@pytest.mark.parametrize("size", [(160, 45), (80, 24)])
@pytest.mark.parametrize("key", ["3", "question_mark"])
def test_a_page_says_how_much_follows_until_its_end(size: tuple[int, int], key: str) -> None:
    async def go() -> None:
        async with running(FedSource(node(2)), size=size) as stage:
            await stage.press(key)
            page = stage.app.screen.query_one("#text", RowList)
            for top in range(len(page.rows) - page.page):
                last = stage.text().splitlines()[page.region.bottom - 1]
                left = len(page.rows) - top - page.page + 1
                assert last.strip() == f"… {left} more lines below"
                await stage.press("down")
            assert "more lines" not in stage.text()

    asyncio.run(go())


def test_no_line_of_a_page_is_passed_over_by_whole_pages() -> None:
    async def go() -> None:
        async with running(FedSource(node(2)), size=(80, 24)) as stage:
            await stage.press("question_mark")
            page = stage.app.screen.query_one("#text", RowList)
            seen = set()
            for _ in range(len(page.rows)):
                seen |= set(stage.text().splitlines()[page.region.y : page.region.bottom])
                await stage.press("pagedown")
            wanted = {plain(page.rows.line(row, 80, 0)).rstrip() for row in range(len(page.rows))}
            assert wanted <= {line.rstrip() for line in seen}

    asyncio.run(go())

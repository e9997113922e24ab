"""Keys of a recording, and what cannot be done in one."""

import asyncio

import msgspec
import pytest

from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.drawing.glyphs import ASCII, UNICODE
from accelwatch.tui.local.sources.replay import ReplaySource, banner
from support.dashboards.local import board_of, node, running


class Shots:
    """Frames from memory."""

    def __init__(self, count: int) -> None:
        self.shots = [node(index % 3 + 1) for index in range(count)]

    def times(self) -> list[float]:
        return [1_800_000_000.0 + 10 * index for index in range(len(self.shots))]

    def at(self, index: int) -> Snapshot:
        time = self.times()[index]
        return msgspec.structs.replace(self.shots[index], time=time)

    def close(self) -> None:
        """Nothing is held."""


def test_a_recording_is_paused_stepped_sought_sped_up_and_looped() -> None:
    async def go() -> None:
        source = ReplaySource(Shots(30))
        async with running(source, board=board_of()) as stage:
            await stage.press("p")
            assert not source.playing
            await stage.press("full_stop")
            assert source.position == (2, 30)
            await stage.press("comma")
            assert source.position == (1, 30)
            await stage.press("right_square_bracket")
            assert source.position == (7, 30)
            await stage.press("left_square_bracket")
            assert source.position == (1, 30)
            await stage.press("plus")
            assert source.speed == 2.0
            await stage.press("minus", "minus")
            assert source.speed == 0.5
            await stage.press("l")
            assert source.loop
            await stage.press("at", *"50%", "enter")
            assert source.position == (15, 30)
            stage.app.pull()
            await stage.pilot.pause()
            assert "15 of 30" in stage.text()
            await stage.press("4", "K")
            assert "a recording's processes cannot be signalled" in stage.text()

    asyncio.run(go())


@pytest.mark.parametrize(("loop", "text"), [(False, "ended"), (True, "playing")])
def test_a_recording_at_its_end_says_so_unless_it_restarts(loop: bool, text: str) -> None:
    source = ReplaySource(Shots(3), loop=loop)
    source.seek(source.progress[2])
    assert source.playing
    assert text in banner(source, ASCII)
    assert ("p starts again" in banner(source, ASCII)) is not loop
    assert ("■" in banner(source, UNICODE)) is not loop


def test_a_recording_that_is_not_at_its_end_plays_or_is_stopped() -> None:
    source = ReplaySource(Shots(3))
    assert "playing" in banner(source, ASCII)
    source.pause()
    assert "stopped" in banner(source, ASCII)
    source.step(5)
    assert "ended" in banner(source, ASCII)


def test_p_at_the_end_restarts() -> None:
    async def go() -> None:
        source = ReplaySource(Shots(30))
        async with running(source, board=board_of()) as stage:
            await stage.press("at", *"100%", "enter")
            stage.app.pull()
            await stage.pilot.pause()
            assert "ended 1x, 30 of 30, p starts again" in stage.text()
            await stage.press("p")
            assert (source.position[0], source.playing, source.is_finished) == (1, True, False)

    asyncio.run(go())

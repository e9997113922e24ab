"""The environment of a process: it comes into view, and shows only values that are in view."""

import asyncio

import pytest

from support.dashboards.local import FedSource, Stage, node, on, running

NAMES = [f"SECRET_{number:02d}" for number in range(60)]


@pytest.fixture(autouse=True)
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "accelwatch.tui.screens.process.read_environment",
        lambda process, *, local: {name: f"value-of-{name}" for name in NAMES},
    )


async def settled(stage: Stage) -> str:
    """The screen once what was put off has been done."""
    await stage.pilot.pause()
    await stage.pilot.pause()
    return stage.text()


def hidden(text: str) -> set[str]:
    return {name for name in NAMES if f"{name}=****" in text}


def revealed(text: str) -> set[str]:
    return {name for name in NAMES if f"{name}=value-of-{name}" in text}


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
def test_the_names_are_in_view_at_once(size: tuple[int, int]) -> None:
    async def go() -> None:
        async with running(FedSource(node()), size) as stage:
            await stage.press("4", "e")
            text = await settled(stage)
            assert "Environment" in text
            assert "SECRET_00" in hidden(text)
            assert "e shows those on the screen" in text
            assert not revealed(text)

    asyncio.run(go())


def test_it_comes_into_view_on_the_process_screen_too() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "enter")
        assert "Environment" not in await settled(stage)
        await stage.press("e")
        assert "SECRET_00" in hidden(await settled(stage))

    on(check, size=(80, 24))


def test_only_the_values_in_view_are_shown() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "e")
        first = hidden(await settled(stage))
        assert first
        assert len(first) < len(NAMES)
        await stage.press("e")
        assert revealed(await settled(stage)) == first
        seen: set[str] = set()
        for _ in range(6):
            await stage.press("pagedown")
            text = await settled(stage)
            seen |= revealed(text)
            assert hidden(text) | revealed(text) <= set(NAMES)
        assert seen <= first
        await stage.press("e")
        assert "SECRET_59" in revealed(await settled(stage))

    on(check, size=(80, 24))


def test_what_is_out_of_view_is_brought_into_view_before_anything_is_shown() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "e")
        await settled(stage)
        await stage.press("g")
        assert "Environment" not in await settled(stage)
        await stage.press("e")
        text = await settled(stage)
        assert "Environment" in text
        assert not revealed(text)
        await stage.press("e")
        assert "SECRET_00" in revealed(await settled(stage))

    on(check, size=(80, 24))


def test_once_more_hides_them_again() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("4", "e")
        await settled(stage)
        await stage.press("e", "e")
        assert not revealed(await settled(stage))
        await stage.press("G")
        assert not revealed(await settled(stage))

    on(check, size=(80, 24))


def test_without_a_process_it_says_what_to_do() -> None:
    async def check(stage: Stage) -> None:
        await stage.press("e")
        assert stage.screen_name == "local"
        assert "no process is selected: go down past the last device" in stage.text()

    on(check)

"""Pictures of the dashboard, each named for what the eye should see.

`pytest tests/tui --update` writes them anew; look at them before they are kept.
"""

import asyncio
import re

import msgspec
import pytest

from accelwatch.schema.snapshot import Snapshot
from dashboards import FedSource, board_of, empty_node, hung, lost, node, running, with_history
from samples import FIXTURES

PICTURES = FIXTURES / "tui"


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown, how, and which keys are pressed first."""

    shot: Snapshot
    size: tuple[int, int] = (100, 30)
    theme: str = "safe"
    ascii_only: bool = False
    keys: tuple[str, ...] = ()


CHOSEN: dict[str, Picture] = {
    "eight-devices-one-lost-one-hung": Picture(
        shot=node(8, d3=lost(3), d5=hung(5)), size=(140, 40)
    ),
    "two-devices-in-full-on-light": Picture(shot=node(2), theme="light"),
    "heat-grid-of-64-with-one-selected": Picture(
        shot=node(64, d9=lost(9)), keys=("right", "right", "down")
    ),
    "no-device-and-why": Picture(shot=empty_node(), size=(80, 24), keys=("6",)),
    "forty-columns-twelve-rows": Picture(shot=node(8, d3=lost(3)), size=(40, 12)),
    "ascii-on-eighty-columns": Picture(
        shot=node(8, d3=lost(3), d5=hung(5)), size=(80, 24), ascii_only=True
    ),
    "signal-dialog-on-cancel-in-high-contrast": Picture(
        shot=node(4), size=(80, 24), theme="contrast", keys=("4", "K")
    ),
    "device-screen-with-both-spans": Picture(shot=node(8), size=(120, 50), keys=("3",)),
    "process-tree-in-sixteen-colours": Picture(
        shot=node(8), size=(100, 30), theme="ansi", keys=("4", "t")
    ),
}


def normalised(svg: str) -> str:
    """Without the number that Textual makes up, and without fonts from the network."""
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def drawn(picture: Picture) -> str:
    """The picture as SVG."""

    async def go() -> str:
        board = board_of(theme=picture.theme, ascii_only=picture.ascii_only)
        with_history(board, picture.shot)
        async with running(FedSource(picture.shot), picture.size, board=board) as stage:
            await stage.press(*picture.keys)
            await stage.pilot.pause(0.05)
            return normalised(stage.app.export_screenshot(simplify=True))

    return asyncio.run(go())


@pytest.mark.parametrize("name", CHOSEN)
def test_pictures_are_the_kept_ones(name: str, update: bool) -> None:
    svg = drawn(CHOSEN[name])
    path = PICTURES / f"{name}.svg"
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(svg)
    assert svg == path.read_text(), f"{path.name} differs; pytest tests/tui --update, and look"


def test_there_are_no_other_pictures() -> None:
    assert {path.stem for path in PICTURES.glob("*.svg")} == set(CHOSEN)

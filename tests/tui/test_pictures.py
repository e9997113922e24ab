"""Pictures of the dashboard, each named for what the eye should see.

`pytest tests/tui --update` writes them anew; look at them before they are kept.
"""

import asyncio
import re

import msgspec
import pytest

from accelwatch.fleet.documents.graphs import IncidentGraphs
from accelwatch.fleet.documents.remedies import RemediesPage
from accelwatch.fleet.picture.model import FleetView, Problem
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.state.board import Board
from support.dashboards.fleets import (
    FAULTS,
    FedFleet,
    FedRemedies,
    event,
    fleet_view,
    following,
    hour,
    troubled,
)
from support.dashboards.local import (
    JOB,
    FedSource,
    Stage,
    board_of,
    driverless,
    empty_node,
    hung,
    lost,
    node,
    owned,
    running,
    with_history,
)
from support.incidents.incident_documents import (
    everything,
    explanation,
    fleet_with_incidents,
    graphs,
    past,
)
from support.incidents.remedy_documents import (
    awaiting_approval,
    draining,
    page,
    plan,
    stopped,
    unknown,
)
from support.machines.composed import NOW
from support.machines.samples import FIXTURES

PICTURES = FIXTURES / "tui"


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown, how, and which keys are pressed first."""

    shot: Snapshot | None = None
    fleet: FleetView | None = None
    remedies: RemediesPage | None = None
    graphs: IncidentGraphs | None = None
    # Why the agent of this machine tells no incidents.
    agent: Problem | None = None
    problem: Problem | None = None
    waited_s: float = 0.0
    size: tuple[int, int] = (100, 30)
    theme: str = "safe"
    ascii_only: bool = False
    keys: tuple[str, ...] = ()


EVENTS = [
    event(0, code="xid_79", text="GPU has fallen off the bus", node="n002", name="nvidia3"),
    event(1, code="xid_94", text="contained memory error", category="memory_contained"),
    event(2, code="link_down", text="link 3 is down", category="link", node="n017"),
    event(3, code="ras_umc", text="uncorrectable memory error", category="memory_fatal"),
]
PROBLEMS = (
    "dns agents.svc: no answer from 10.96.0.10 within 5 s, asked again every 30 s",
    "the inventory cannot be kept: /var/lib/accelwatch: read-only file system",
)
SILENCE = Problem(text="hub http://hub:9878 cannot be reached: connection refused", since=NOW)

ACTING = page(awaiting_approval(), draining(), unknown())

CHOSEN: dict[str, Picture] = {
    "eight-devices-one-lost-one-hung": Picture(
        shot=node(8, d3=lost(3), d5=hung(5)), size=(140, 40)
    ),
    "hung-device-whose-graphs-end-with-a-gap": Picture(
        shot=node(8, d3=lost(3), d5=hung(5)), size=(120, 36), keys=("down",) * 5
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
    "fleet-worst-first-with-events": Picture(
        fleet=fleet_view(40, faults=FAULTS, events=EVENTS), size=(140, 50), keys=("E", "down")
    ),
    "fleet-on-a-wall-with-its-last-hour": Picture(
        fleet=fleet_view(63, faults=FAULTS, events=EVENTS), size=(200, 56), keys=("E",)
    ),
    "fleet-on-eighty-columns": Picture(fleet=fleet_view(40, faults=FAULTS), size=(80, 24)),
    "fleet-on-forty-columns": Picture(fleet=fleet_view(40, faults=FAULTS), size=(40, 14)),
    "fleet-a-thousand-lights-by-rack-one-lost": Picture(
        fleet=fleet_view(125, faults=FAULTS),
        size=(140, 50),
        keys=("t", "m", "home", *["right"] * 11),
    ),
    "fleet-lights-in-ascii": Picture(
        fleet=fleet_view(63, faults=FAULTS), size=(80, 24), ascii_only=True, keys=("m",)
    ),
    "fleet-users-in-high-contrast": Picture(
        fleet=fleet_view(40, faults=FAULTS),
        size=(100, 30),
        theme="contrast",
        keys=("t", "t", "t", "t", "enter"),
    ),
    "fleet-hub-out-of-reach-nothing-is-live": Picture(
        fleet=fleet_view(12, faults=FAULTS), size=(80, 24), problem=SILENCE, waited_s=42.0
    ),
    "fleet-whose-hub-cannot-find-targets": Picture(
        fleet=troubled(fleet_view(12, faults=FAULTS), *PROBLEMS), size=(80, 24)
    ),
    "fleet-that-is-empty-and-why": Picture(fleet=troubled(fleet_view(0), *PROBLEMS), size=(80, 24)),
    "node-whose-devices-have-owners": Picture(shot=owned(node(8, d3=lost(3)), JOB), size=(140, 40)),
    "no-device-on-the-local-screen": Picture(shot=driverless(), size=(80, 24)),
    "incidents-worst-first-with-a-group-unfolded": Picture(
        fleet=fleet_with_incidents(*everything()), size=(140, 30), keys=("5", "down", "space")
    ),
    "incidents-on-eighty-columns-on-light": Picture(
        fleet=fleet_with_incidents(*everything()), size=(80, 24), theme="light", keys=("5",)
    ),
    "incident-with-evidence-graphs-and-its-rule": Picture(
        fleet=fleet_with_incidents(*everything()),
        size=(120, 50),
        keys=("5", "down", "down", "down", "enter"),
    ),
    "incident-on-eighty-columns-on-light": Picture(
        fleet=fleet_with_incidents(*everything()),
        size=(80, 24),
        theme="light",
        keys=("5", "down", "down", "down", "enter"),
    ),
    "incident-beside-the-band-of-its-peers": Picture(
        fleet=fleet_with_incidents(*everything()),
        graphs=graphs(),
        size=(120, 50),
        keys=("5", "down", "down", "down", "enter"),
    ),
    "incident-beside-its-peers-on-eighty-columns-in-ascii": Picture(
        fleet=fleet_with_incidents(*everything()),
        graphs=graphs(),
        size=(80, 24),
        ascii_only=True,
        keys=("5", "down", "down", "down", "enter"),
    ),
    "incidents-where-there-are-no-rules": Picture(
        fleet=fleet_with_incidents(evaluated=False, rules=0), size=(80, 24), keys=("5",)
    ),
    "incidents-with-what-is-done-next": Picture(
        fleet=fleet_with_incidents(*everything()), size=(80, 24), remedies=ACTING, keys=("5",)
    ),
    "incidents-where-everything-is-stopped": Picture(
        fleet=fleet_with_incidents(*everything()),
        size=(120, 24),
        remedies=stopped(awaiting_approval(), draining(), unknown()),
        keys=("5",),
    ),
    "incident-with-its-plan-and-why-not": Picture(
        fleet=fleet_with_incidents(*everything()),
        size=(100, 40),
        remedies=ACTING,
        keys=("5", "enter"),
    ),
    "approval-dialog-on-cancel-with-all-that-would-be-done": Picture(
        fleet=fleet_with_incidents(*everything()),
        size=(80, 24),
        remedies=ACTING,
        keys=("5", "enter", "P"),
    ),
    "stop-that-has-to-be-typed-on-light": Picture(
        fleet=fleet_with_incidents(*everything()),
        size=(80, 24),
        theme="light",
        remedies=ACTING,
        keys=("5", "Z", *"STO", "enter"),
    ),
    "incidents-of-one-machine-without-an-agent": Picture(
        shot=node(8, d3=lost(3)),
        size=(80, 24),
        agent=Problem(text="no agent 127.0.0.1:9877 answers", since=NOW),
        keys=("5",),
    ),
    "fleet-node-that-is-stale": Picture(
        fleet=fleet_view(12, faults=FAULTS), size=(100, 30), keys=(*["down"] * 5, "enter")
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
        if picture.shot is None:
            return await drawn_fleet(picture, board)
        with_history(board, picture.shot)
        agent = FedFleet(None)
        agent.trouble = picture.agent
        shown = None if picture.agent is None else lambda: agent
        source = FedSource(picture.shot)
        async with running(source, picture.size, board=board, incidents=shown) as stage:
            return await pressed(picture, stage)

    return asyncio.run(go())


async def drawn_fleet(picture: Picture, board: Board) -> str:
    """The picture of a fleet as SVG."""
    source = FedFleet(picture.fleet)
    if picture.size >= (160, 45):
        source.fleet_history_answer = hour()
    if picture.remedies is not None:
        source.remedies = FedRemedies(picture.remedies, plan())
    if picture.fleet is not None and picture.fleet.incidents:
        source.device_history_answer, source.explanation = past(), explanation()
        source.graphs_of = picture.graphs
    async with following(source, picture.size, board=board) as stage:
        source.trouble = picture.problem
        if picture.waited_s:
            await stage.wait(picture.waited_s)
        return await pressed(picture, stage)


async def pressed(picture: Picture, stage: Stage) -> str:
    """The screen after the keys."""
    await stage.press(*picture.keys)
    stage.app.pull()
    # On a busy machine a repaint may come after the first pause.
    screen, before = "", None
    while screen != before:
        await stage.pilot.pause(0.05)
        before, screen = screen, normalised(stage.app.export_screenshot(simplify=True))
    return screen


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

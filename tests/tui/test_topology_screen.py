"""The Topology screen: `L`."""

import asyncio
from pathlib import Path

import msgspec

from accelwatch.node.topology.matrix import topology
from accelwatch.schema.reading import Link
from accelwatch.schema.snapshot import Snapshot
from accelwatch.tui.views import topology_lines
from support.dashboards.fleets import FleetStage, on
from support.dashboards.local import FedSource, board_of, node, running, texts


def linked(count: int = 2) -> Snapshot:
    """Devices of which the first has links to the second."""
    shot = node(count)
    first, second, *rest = shot.devices
    links = tuple(
        Link(fabric="nvlink", link=str(n), remote=second.device.uuid, up=True) for n in range(4)
    )
    reading = msgspec.structs.replace(first.reading, links=links)
    first = msgspec.structs.replace(first, reading=reading)
    return msgspec.structs.replace(shot, devices=(first, second, *rest))


def test_the_matrix_of_this_machine_is_shown_and_left(tmp_path: Path) -> None:
    async def go() -> None:
        board = board_of()
        board.root = tmp_path
        async with running(FedSource(linked()), board=board) as stage:
            await stage.press("L")
            assert stage.screen_name == "topology"
            assert stage.line_with(" nvidia0  X").split()[:3] == ["nvidia0", "X", "NV4"]
            assert "NV4: the vendor's own links" in stage.text()
            await stage.press("escape")
            assert stage.screen_name == "local"

    asyncio.run(go())


def test_of_another_machine_and_of_a_recording_it_says_where_to_look() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("L")
        assert "it is read on the machine itself" in stage.text()

    on(check)


def test_links_that_nobody_reads_are_pointed_out(tmp_path: Path) -> None:
    shot = node(2)
    first = shot.devices[0]
    values = {**first.reading.values, ("interconnect_links", "nvlink", "up"): 4}
    reading = msgspec.structs.replace(first.reading, values=values)
    first = msgspec.structs.replace(first, reading=reading)
    shot = msgspec.structs.replace(shot, devices=(first, shot.devices[1]))

    text = texts(topology_lines.lines(topology(shot, tmp_path), 120))
    assert "read them with --collect links" in text
    assert "--collect links" not in texts(topology_lines.lines(topology(linked(), tmp_path), 120))


def test_links_that_are_down_are_not_missed(tmp_path: Path) -> None:
    shot = node(1)
    first = shot.devices[0]
    values = {
        **{
            key: value
            for key, value in first.reading.values.items()
            if key[0] != "interconnect_links"
        },
        ("interconnect_links", "nvlink", "up"): 0,
        ("interconnect_links", "nvlink", "down"): 4,
    }
    reading = msgspec.structs.replace(first.reading, values=values)
    shot = msgspec.structs.replace(shot, devices=(msgspec.structs.replace(first, reading=reading),))

    assert not topology(shot, tmp_path).links_unread


def test_a_machine_with_nothing_says_so(tmp_path: Path) -> None:
    shot = msgspec.structs.replace(node(1), devices=())

    assert "no device and no network adapter" in texts(
        topology_lines.lines(topology(shot, tmp_path), 80)
    )

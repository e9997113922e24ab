"""Tables of a command that prints once: they fit the terminal, and agree with what they sum up."""

from pathlib import Path

import msgspec
import pytest

from accelwatch.archive.blackbox.files import Frozen
from accelwatch.archive.blackbox.locations import Box
from accelwatch.cli.fitted import fitted
from accelwatch.cli.fleet.tables.groups import group_table
from accelwatch.cli.history.blackbox_report import rows
from accelwatch.cli.node.process_table import processes_table
from accelwatch.cli.node.table import render
from accelwatch.cli.table_lines import Style
from accelwatch.fleet.documents.fleet import GroupRow
from accelwatch.fleet.hub_client.once import FleetDocuments
from accelwatch.schema.snapshot import Snapshot
from support.dashboards.fleets import fleet_document
from support.dashboards.local import hung, lost, node
from support.machines.composed import NOW

UNWELL = node(8, d3=lost(3), d5=hung(5))
WIDTHS = (40, 60, 80, 100, 120, 200)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shot", [node(8), UNWELL], ids=["well", "unwell"])
def test_the_table_of_a_machine_fits_the_terminal(shot: Snapshot, width: int) -> None:
    lines = render(shot, (), Style(width=width)).splitlines()[1:]
    assert max(map(len, lines)) <= width
    for view in shot.devices:
        (row, *_) = [line for line in lines if line.startswith(f"{view.device.name} ")]
        assert row.split()[0] == view.device.name


@pytest.mark.parametrize("width", [80, 100, None])
def test_what_is_wrong_and_what_to_do_is_never_cut(width: int | None) -> None:
    text = " ".join(render(UNWELL, (), Style(width=width)).split())
    assert "drain the node and reboot it" in text
    assert "kill its jobs; reset if still hung" in text
    assert "hung" in text
    assert "unresponsive" not in text


@pytest.mark.parametrize(
    ("sample_time", "interval_s", "expected"),
    [(NOW - 7200, 2.0, "lost 2 h"), (None, 2.0, "lost"), (NOW - 7200, None, "lost")],
    ids=["read before", "never read", "a single reading"],
)
def test_how_long_it_is_lost_is_shown_where_somebody_saw_it_start(
    sample_time: float | None, interval_s: float | None, expected: str
) -> None:
    view = msgspec.structs.replace(lost(3), state_since=NOW - 7200, sample_time=sample_time)
    shot = msgspec.structs.replace(node(8, d3=view), interval_s=interval_s)
    (row,) = [line for line in render(shot, (), Style()).splitlines() if line.startswith("nvidia3")]
    assert f"  {expected}  " in row


def test_on_a_pipe_a_row_is_one_line() -> None:
    lines = render(UNWELL, (), Style()).splitlines()
    assert next(line for line in lines if line.startswith("nvidia3")).endswith("reboot it")
    assert not [line for line in lines[1:11] if line.startswith(" ")]


def test_columns_give_way_in_their_order_and_the_cut_text_first() -> None:
    header, row = ["NAME", "MODEL", "A", "B"], ["n1", "a long name of a model", "1" * 8, "2" * 8]

    def at(width: int) -> list[str]:
        return fitted(
            header, [row], Style(width=width), [""], shortened="MODEL", dropped=("B", "A")
        )

    assert at(60)[1] == f"n1    a long name of a model  {'1' * 8}  {'2' * 8}"
    assert at(36)[1] == f"n1    a long na…  {'1' * 8}  {'2' * 8}"
    assert at(30)[0].split() == ["NAME", "MODEL", "A"]
    assert at(20)[0].split() == ["NAME", "MODEL"]


def test_a_remark_that_does_not_fit_takes_lines_of_its_own() -> None:
    lines = fitted(["N"], [["n1"]], Style(width=20), [""], remarks=["the driver has hung for long"])
    assert lines == ["N", "n1", "  the driver has", "  hung for long"]
    assert fitted(["N"], [["n1"]], Style(width=20), [""], remarks=["hung"])[1:] == ["n1  hung"]


def test_a_process_is_one_row_with_its_devices_and_their_memory() -> None:
    views = list(node(8).devices)
    process = (views[0].reading.processes or ())[0]
    shared = [
        msgspec.structs.replace(
            view,
            reading=msgspec.structs.replace(
                view.reading,
                processes=(
                    msgspec.structs.replace(
                        process,
                        device_id=view.device.id,
                        gpu_memory_bytes=1 << 30,
                        job=None,
                        pod=None,
                    ),
                ),
            ),
        )
        for view in views[:3]
    ]
    shot = msgspec.structs.replace(node(8), devices=tuple(shared))
    lines = processes_table(shot, Style())
    assert len(lines) == 2
    assert "WHERE" not in lines[0]
    assert lines[1].split()[0] == "0-2"
    assert "3.0 GiB" in lines[1]


def _group(
    name: str, nodes: dict[str, int], devices: dict[str, int], health: dict[str, int], worst: str
) -> GroupRow:
    return GroupRow(
        group=name,
        nodes_total=sum(nodes.values()),
        nodes=nodes,
        devices_total=sum(devices.values()),
        devices=devices,
        health=health,
        worst=worst,
        power_watts=None,
        memory_used_bytes=None,
        memory_size_bytes=None,
        utilization_ratio=None,
    )


GROUPS = (
    _group("r01", {"up": 8}, {"ok": 64}, {"ok": 64}, "ok"),
    _group("r02", {"up": 8}, {"ok": 64}, {"ok": 63, "failed": 1}, "failed"),
    _group("r03", {"up": 7, "down": 1}, {"ok": 56, "unreachable": 8}, {"ok": 56}, "unreachable"),
    _group("r04", {"up": 8}, {"ok": 63, "lost": 1}, {"ok": 63, "failed": 1}, "lost"),
    _group("r05", {"up": 8}, {"ok": 63, "unresponsive": 1}, {"ok": 63}, "unresponsive"),
)


def test_groups_agree_with_their_members_and_stand_as_these_do() -> None:
    answer = FleetDocuments(
        fleet=fleet_document(),
        fleet_json=msgspec.Raw(b"{}"),
        nodes=(),
        nodes_json=(),
        groups=GROUPS,
    )
    lines = group_table(answer, "rack", Style(width=80))
    shown = [(row.split()[0], row.split()[2], row.split()[6]) for row in lines[1:]]
    assert shown == [
        ("r03", "56/64", "down"),
        ("r04", "63/64", "lost"),
        ("r05", "63/64", "hung"),
        ("r02", "63/64", "failed"),
        ("r01", "64/64", "ok"),
    ]
    assert lines[1].endswith("1 node (1 down)")


def test_people_read_one_word_for_a_device_that_hangs(tmp_path: Path) -> None:
    frozen = Frozen(
        path=tmp_path / "a.awb", time=1e9, device="nvidia5", reason="unresponsive", bytes=1000
    )
    listed = "".join(rows([Box(folder=tmp_path, frozen=(frozen,))]))
    table = render(UNWELL, (), Style())
    groups = group_table(
        FleetDocuments(
            fleet=fleet_document(),
            fleet_json=msgspec.Raw(b"{}"),
            nodes=(),
            nodes_json=(),
            groups=GROUPS,
        ),
        "rack",
        Style(),
    )
    for text in (listed, table, "\n".join(groups)):
        assert "hung" in text
        assert "unresponsive" not in text


@pytest.mark.parametrize(
    ("chosen", "heading"),
    [
        (("power_watts",), "name     power_watts"),
        (("power_watts", "name"), "power_watts  name"),
        (("index", "power_watts"), "index  power_watts"),
        (("pci_bus_id",), "pci_bus_id"),
    ],
)
def test_chosen_fields_say_which_device_a_row_is_about(
    chosen: tuple[str, ...], heading: str
) -> None:
    first, row, *_ = render(node(2), chosen, Style()).splitlines()
    assert first == heading
    if chosen == ("power_watts",):
        assert row.split()[0] == "nvidia0"

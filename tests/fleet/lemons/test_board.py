"""Which nodes are marked: those in which the hardware is now, wherever it has failed."""

import asyncio

import msgspec
import pytest

from accelwatch.base.slices import LongWork
from accelwatch.fleet.lemons.documents import Blamed
from accelwatch.fleet.lemons.faults import Fault
from accelwatch.fleet.lemons.scoring import lemons_of, recent
from accelwatch.schema.snapshot import DeviceView
from support.fleet.two_nodes import TwoNodes
from support.incidents.hardware_faults import NOW, fault
from support.machines import composed as machines

SLOT = machines.device(0).pci_bus_id


def board_view(serial: str, index: int = 0) -> DeviceView:
    return machines.view(index, device=machines.device(index, serial=serial))


@pytest.fixture
def site() -> TwoNodes:
    """Serial A is in node a, serial B in node b."""
    site = TwoNodes()
    site.report("a", board_view("A"))
    site.report("b", board_view("B"))
    return site


def texts(site: TwoNodes, *faults: Fault) -> dict[str, str]:
    kept = recent(faults, NOW)
    asyncio.run(site.fleet.lemons.refresh(kept, lemons_of(kept, NOW), LongWork()))
    notes = {node: site.fleet.lemons.of(node) for node in ("a", "b")}
    return {node: note.text for node, note in notes.items() if note is not None}


def of_a(number: int, days: float, **fields: str) -> Fault:
    return fault(number, days, **{"node": "a", "slot": SLOT or "", "serial": "A", **fields})


def test_a_device_that_repeats_marks_its_node_by_its_name(site: TwoNodes) -> None:
    assert texts(site) == {}
    assert texts(site, of_a(1, 5.0)) == {}
    assert texts(site, of_a(1, 5.0), of_a(2, 1.0)) == {"a": "2x nvidia0"}
    note = site.fleet.lemons.of("a")
    assert note is not None
    assert (note.blamed, note.faults) == (Blamed.DEVICE_OR_SLOT, 2)
    assert note.sentence == "nvidia0: 2 confirmed faults in 28 days, the last on 2026-11-21"
    # What was counted before and is over marks nobody any more.
    assert texts(site) == {}


def test_a_node_that_repeats_is_marked_as_node(site: TwoNodes) -> None:
    assert texts(site, of_a(1, 5.0, name=""), of_a(2, 1.0, name="")) == {"a": "2x node"}


def test_a_board_that_failed_in_several_nodes_marks_the_one_it_is_in(site: TwoNodes) -> None:
    moved = {"slot": "0000:5e:00.0", "serial": "B", "name": "nvidia5"}
    faults = (of_a(1, 9.0, **moved), of_a(2, 5.0, **moved), fault(3, 1.0, node="c", serial="B"))
    assert texts(site, *faults) == {"b": "3x nvidia0"}


def test_a_board_that_has_not_failed_since_it_moved_marks_both(site: TwoNodes) -> None:
    assert texts(site, of_a(1, 9.0, serial="B"), of_a(2, 5.0, serial="B")) == {
        "a": "2x nvidia0",
        "b": "2x nvidia0",
    }


def test_a_board_without_a_slot_that_has_left_marks_nobody_until_it_is_seen_again(
    site: TwoNodes,
) -> None:
    faults = (of_a(1, 9.0, slot="", serial="C"), of_a(2, 5.0, slot="", serial="C"))
    assert texts(site, *faults) == {}
    site.report("b", board_view("C"))
    assert texts(site, *faults) == {"b": "2x nvidia0"}


def test_a_slot_stays_in_its_node_whatever_is_in_it(site: TwoNodes) -> None:
    empty = {"slot": "0000:99:00.0", "name": "nvidia5"}
    faults = (of_a(1, 9.0, serial="C", **empty), of_a(2, 5.0, serial="D", **empty))
    assert texts(site, *faults) == {"a": "2x nvidia5"}


def test_a_device_without_serial_and_slot_marks_its_node(site: TwoNodes) -> None:
    faults = (of_a(1, 9.0, slot="", serial=""), of_a(2, 5.0, slot="", serial=""))
    assert texts(site, *faults) == {"a": "2x node"}


def test_the_worst_of_a_node_is_shown(site: TwoNodes) -> None:
    site.report("a", board_view("A"), board_view("C", 1))
    other = {"slot": machines.device(1).pci_bus_id or "", "serial": "C", "name": "nvidia1"}
    old = [of_a(number, 25.0) for number in (1, 2)]
    new = [of_a(number, 1.0, **other) for number in (3, 4)]
    # The node has all four; two devices failed in it, each again and again.
    assert texts(site, *old, *new) == {"a": "4x node"}


def test_partitions_are_no_hardware_of_their_own(site: TwoNodes) -> None:
    partition = machines.device(1, serial="P", parent_id=machines.device(0).id)
    site.report("a", board_view("A"), machines.view(1, device=partition))
    assert texts(site, fault(1, node="c", serial="P"), fault(2, node="c", serial="P")) == {}


def record(site: TwoNodes, *faults: Fault) -> str:
    texts(site, *faults)
    return site.fleet.lemons.record_of("a")


def test_the_record_of_a_node_says_how_many_the_last_and_whose(site: TwoNodes) -> None:
    assert record(site) == ""
    assert record(site, of_a(1, 1.0)) == ""
    start = "confirmed faults in 28 days, the last on 2026-11-21"
    assert record(site, of_a(1, 9.0), of_a(2, 1.0)) == f"2 {start}; all on serial A"
    own = of_a(3, 5.0, name="")
    assert record(site, of_a(1, 9.0), own, of_a(2, 1.0)) == f"3 {start}; 2 of them on serial A"
    assert record(site, own, of_a(4, 1.0, name="")) == f"2 {start}"
    nameless = (of_a(1, 9.0, serial=""), of_a(2, 1.0, serial=""))
    assert record(site, *nameless) == f"2 {start}; all on nvidia3"


def test_the_record_has_what_a_board_brought_along(site: TwoNodes) -> None:
    site.report("a", board_view("M"))
    away = {"node": "c", "slot": "0000:5e:00.0", "serial": "M"}
    faults = (fault(1, 9.0, **away), fault(2, 1.0, **away))
    assert "2 confirmed faults" in record(site, *faults)
    assert "all on serial M" in record(site, *faults)


def test_a_host_that_reports_no_serial_has_its_node_only(site: TwoNodes) -> None:
    bare = machines.device(0, serial=None, pci_bus_id=None)
    site.report("a", msgspec.structs.replace(machines.view(0), device=bare))
    assert texts(site, of_a(1, 5.0), of_a(2, 1.0)) == {"a": "2x nvidia3"}

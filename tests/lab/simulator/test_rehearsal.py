"""What `accelwatch demo` plays: enough to see within half a minute, and nothing that cannot be."""

from pathlib import Path

import pytest
from msgspec import structs

from accelwatch.fleet.state.inventory.file import InventoryFile
from accelwatch_lab.scenario.effects import events_of
from accelwatch_lab.scenario.faults import NODE_KINDS, FaultKind
from accelwatch_lab.simulator.demo.rehearsal import ALL_THERE_S, demo_events, hung_nodes, rehearsal
from accelwatch_lab.simulator.demo.stage import write_inventory
from accelwatch_lab.simulator.fleet import Fleet
from accelwatch_lab.simulator.nodes import FleetSize, build
from support.machines import composed as machines

_SOON_S = 15.0


@pytest.mark.parametrize("count", [1, 3, 24])
def test_a_device_is_lost_soon_and_stays_lost(count: int) -> None:
    faults = rehearsal(build(FleetSize(nodes=count, npus=True))).faults
    (lost,) = (fault for fault in faults if fault.spec.kind is FaultKind.LOST)
    assert lost.at_s < _SOON_S
    assert lost.lasts_s is None


def test_only_devices_of_nvidia_have_an_xid() -> None:
    nodes = build(FleetSize(nodes=24, npus=True))
    vendors = {node.name: node.vendor for node in nodes}
    events = [one for one in rehearsal(nodes).faults if one.spec.kind is FaultKind.EVENT]
    assert {vendors[name] for fault in events for name in fault.nodes} == {"nvidia"}
    others = rehearsal(build(FleetSize(nodes=24, vendor="amd"))).faults
    assert not [one for one in others if one.spec.kind is FaultKind.EVENT]
    assert [one for one in others if one.spec.kind is FaultKind.LOST]


def test_what_has_started_before_is_there_at_once() -> None:
    faults = rehearsal(build(FleetSize(nodes=24)), ALL_THERE_S).faults
    assert max(fault.at_s for fault in faults) < 0


def test_whole_nodes_of_a_small_fleet_do_not_fail() -> None:
    small, large = (rehearsal(build(FleetSize(nodes=count))).faults for count in (7, 8))
    whole = {FaultKind.NODE_DOWN, FaultKind.NODE_HUNG}
    assert not whole & {fault.spec.kind for fault in small}
    assert whole <= {fault.spec.kind for fault in large}


@pytest.mark.parametrize("count", [3, 7, 8, 24])
def test_the_nodes_that_hang_are_named(count: int) -> None:
    nodes = build(FleetSize(nodes=count))
    fleet = Fleet(nodes, rehearsal(nodes, ALL_THERE_S), seed=1, start=1000.0, interval_s=1.0)
    now = fleet.instant_at(0.0)
    hung = {one.name for one in nodes if fleet.condition(one, now).refusal is FaultKind.NODE_HUNG}
    assert hung_nodes([one.name for one in nodes]) == hung


@pytest.mark.parametrize("count", [3, 24])
def test_what_is_announced_is_what_is_played(count: int) -> None:
    nodes = build(FleetSize(nodes=count, devices=8, vendor="mixed"))
    played = {fault.at_s for fault in rehearsal(nodes).faults}
    events = demo_events(count)
    assert events
    assert {event.at_s for event in events} <= played
    assert [event.at_s for event in events] == sorted(event.at_s for event in events)
    kinds = {fault.at_s: fault.spec.kind for fault in rehearsal(nodes).faults}
    assert all((kinds[event.at_s] in NODE_KINDS) == event.of_nodes for event in events)


def test_a_hub_of_before_knows_every_node_and_since_when_it_is_silent(tmp_path: Path) -> None:
    nodes = build(FleetSize(nodes=24, devices=8, vendor="mixed"))
    scenario = rehearsal(nodes, ALL_THERE_S)
    fleet = Fleet(nodes, scenario, seed=1, start=1000.0, interval_s=1.0)
    write_inventory(fleet, tmp_path)
    file = InventoryFile(tmp_path)
    known = file.load()
    file.close()
    assert {name: len(one.devices) for name, one in known.items()} == {
        node.name: 8 for node in nodes
    }
    silent = {name: one.last_seen for name, one in known.items() if one.last_seen != 1000.0}
    assert silent == {"n005": 1000.0 + 28 - ALL_THERE_S, "n020": 1000.0 + 52 - ALL_THERE_S}


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("xid_79", None, "GPU has fallen off the bus"),
        ("xid_79", "my own", "my own"),
        ("xid_9999", None, "xid_9999 was reported"),
        ("ras_umc", None, "ras_umc was reported"),
    ],
)
def test_an_event_without_words_says_what_its_code_means(
    code: str, text: str | None, expected: str
) -> None:
    nodes = build(FleetSize(nodes=24, vendor="nvidia"))
    fault = next(one for one in rehearsal(nodes).faults if one.spec.kind is FaultKind.EVENT)
    spec = structs.replace(fault.spec, code=code, text=text or "")
    (event,) = events_of(structs.replace(fault, spec=spec), 1, 1, machines.device(0), "nvml")
    assert event.text == expected

"""What `accelwatch demo` plays: enough to see within half a minute, and nothing that cannot be."""

import pytest

from accelwatch.scenario.faults import FaultKind
from accelwatch_simulator.nodes import FleetSize, build
from accelwatch_simulator.rehearsal import ALL_THERE_S, rehearsal

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


def test_what_has_begun_before_is_there_at_once() -> None:
    faults = rehearsal(build(FleetSize(nodes=24)), ALL_THERE_S).faults
    assert max(fault.at_s for fault in faults) < 0


def test_whole_nodes_of_a_small_fleet_do_not_fail() -> None:
    small, large = (rehearsal(build(FleetSize(nodes=count))).faults for count in (7, 8))
    whole = {FaultKind.NODE_DOWN, FaultKind.NODE_HUNG}
    assert not whole & {fault.spec.kind for fault in small}
    assert whole <= {fault.spec.kind for fault in large}

"""A hub that names new nodes for ever does not make the picture grow for ever."""

import msgspec

from accelwatch.fleet.hub_client.picture import Picture
from accelwatch.fleet.wire import FleetTick, NodeNow
from support.dashboards.fleets import fleet_document, slot_of


def test_labels_of_nodes_that_have_gone_are_forgotten() -> None:
    picture = Picture()
    device = slot_of(0, "n1", 0, "r1")
    tick = FleetTick(
        sequence=1,
        time=1.0,
        fleet=fleet_document(),
        nodes=(NodeNow("n1", "up", 0.1, 0), NodeNow("n4999", "up", 0.1, 0)),
        devices=(),
    )
    for number in range(5000):
        picture.assign_slot(msgspec.structs.replace(device, node=f"n{number}"))
    labels = picture.view(tick, 1.0, 1.0, "").node_labels
    assert set(labels) == {"n1", "n4999"}
    few = Picture()
    few.assign_slot(msgspec.structs.replace(device, node="gone"))
    few.assign_slot(device)
    assert set(few.view(tick, 1.0, 1.0, "").node_labels) == {"gone", "n1"}

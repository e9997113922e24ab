"""A picture of several hubs says of each how old its figures are, and in full what is wrong."""

import msgspec

from accelwatch.fleet.hub_states import HubState
from accelwatch.fleet.picture.model import FleetView
from support.dashboards.fleets import FedFleet, FleetStage, fleet_view, on, troubled

UP = HubState(name="pod-1", state="up", age_s=0.0, nodes_total=12, devices_total=96)
DOWN = HubState(
    name="pod-2",
    state="down",
    age_s=31.0,
    late_s=30.0,
    fault="not responding",
    nodes_total=4,
    devices_total=32,
)


def of_hubs(view: FleetView, *hubs: HubState) -> FleetView:
    return msgspec.structs.replace(view, hubs=hubs)


def test_the_header_has_each_hub_with_its_age() -> None:
    async def check(stage: FleetStage) -> None:
        line = stage.text().splitlines()[1]
        assert line.startswith(" pod-1 0.")
        assert " s  pod-2 31 s " in line
        await stage.tick(fleet_view())
        assert "pod-1" not in stage.text()

    on(check, source=FedFleet(of_hubs(fleet_view(), UP, DOWN)), size=(120, 24))


def test_the_problems_in_full_have_a_line_for_each_hub() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("exclamation_mark")
        text = stage.text()
        assert "1 problem" in text
        assert " s  12 nodes  96 devices" in text
        assert "hub pod-1: up  0." in text
        assert "hub pod-2: down  31 s  30 s late  4 nodes  32 devices  not responding" in text

    fleet = troubled(fleet_view(), "hub pod-2: not responding")
    on(check, source=FedFleet(of_hubs(fleet, UP, DOWN)), size=(120, 24))


def test_hubs_without_problems_have_their_lines_too() -> None:
    never = HubState(name="pod-3", state="down", age_s=None, fault="cannot connect")

    async def check(stage: FleetStage) -> None:
        await stage.press("exclamation_mark")
        assert "0 problems" in stage.text()
        assert "hub pod-1: up" in stage.text()
        assert "hub pod-3: down  never  0 nodes  0 devices  cannot connect" in stage.text()

    on(check, source=FedFleet(of_hubs(fleet_view(), UP, never)), size=(120, 24))


def test_the_group_key_starts_with_the_hub() -> None:
    async def check(stage: FleetStage) -> None:
        await stage.press("t")
        assert "grouped by hub" in stage.text()
        await stage.press("t")
        assert "grouped by rack" in stage.text()

    view = of_hubs(fleet_view(), UP, DOWN)
    labels = {node.node: {"rack": "r1", "hub": "pod-1"} for node in view.nodes}
    on(check, source=FedFleet(msgspec.structs.replace(view, node_labels=labels)), size=(120, 24))

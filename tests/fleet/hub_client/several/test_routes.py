"""Which of several hubs a node is at, by what they said last."""

import msgspec
import pytest

from accelwatch.base.errors import UnmetError
from accelwatch.fleet.hub_client.several.picture import SeveralPicture
from accelwatch.fleet.hub_client.several.requests.routes import Routes
from accelwatch.fleet.picture.model import FleetView
from accelwatch.fleet.wire import NodeNow
from support.dashboards.fleets import fleet_view


def with_nodes(*nodes: str) -> FleetView:
    now = tuple(NodeNow(node, "up", 0.1, 0) for node in nodes)
    return msgspec.structs.replace(fleet_view(1), nodes=now)


def test_a_node_is_at_the_hub_that_named_it_last() -> None:
    views: list[FleetView | None] = [with_nodes("n1"), None]
    routes = Routes(SeveralPicture(["a", "b"]), lambda: views)
    assert routes.of_node("n1") == [(0, "n1")]
    assert routes.of_node("n2") == []
    views[1] = with_nodes("n1", "n2")
    assert routes.of_node("n1") == [(0, "n1"), (1, "n1")]
    assert routes.machine("n2") == [(1, "n2")]
    with pytest.raises(UnmetError, match="write n1@a or n1@b"):
        routes.machine("n1")
    views[0] = with_nodes("n3")
    assert routes.machine("n1") == [(1, "n1")]
    views[1] = None
    assert routes.of_node("n1") == []
